"""An export takes the bytes or the precision of an encoder's bundle, and asks the questions of its run."""

import json
import shutil

import numpy as np
import pytest
from fixtures.commands import process
from fixtures.folders import card_in, change_card, copy_shipped, names

import distill
from distill.encoders.encoder import KerasEncoder
from distill.errors import DataError, EncoderError, GateError, InputError
from distill.export.form import Form
from distill.export.weights.precision import Precision
from distill.jobs.export_model import ExportOptions, export_model
from distill.settings.sections import ExportSettings
from distill.students.embeddings import add_segments
from distill.system.extras import TRAINING
from distill.system.sections import read_sections

LENIENT = ExportSettings(max_drop=100.0)


@pytest.fixture
def run(tiny_folder, sample_folder, artefacts, tmp_path):
    """The folder of a run whose bundle has another precision than the default."""
    folder = tmp_path / "my-run"
    shutil.copytree(tiny_folder, folder / "student")
    shutil.copytree(artefacts(Form(precision=Precision("int8", "int4"))), folder / "bundle")
    data = f"[data]\ndataset = {json.dumps(str(sample_folder))}\nlanguages = ['de', 'ru']\n"
    (folder / "config.toml").write_text(f"{data}[teacher]\nlanguage = 'de'\n", encoding="utf-8")
    return folder


def same_files(left, right):
    kept = set(names(left)) - {"card.json", "README.md"}
    assert set(names(right)) - {"card.json", "README.md"} == kept
    return all((left / name).read_bytes() == (right / name).read_bytes() for name in kept)


@pytest.mark.parametrize("part", ["", "student", "bundle"])
def test_a_run_its_student_and_its_bundle_are_exported_as_the_bundle_is(run, tmp_path, part):
    judged = export_model(str(run / part), tmp_path / "out")
    assert same_files(run / "bundle", tmp_path / "out") and judged.figures is None
    card = card_in(tmp_path / "out")
    assert (card["name"], card["source"]) == ("out", "my-run")
    assert {**card, "name": "", "source": ""} == {**card_in(run / "bundle"), "name": "", "source": ""}
    assert judged.card.bytes == card["bytes"] and judged.card.form.precision == Precision("int8", "int4")


def test_a_program_in_c_has_the_weights_of_the_runs_bundle_and_is_measured_on_the_runs_questions(run, tmp_path):
    judged = export_model(str(run), tmp_path / "c", ExportOptions("c"), LENIENT)
    assert judged.card.form.precision == Precision("int8", "int4")
    assert (judged.figures.dataset, list(judged.figures.p1)) == ("sample", ["de", "ru"])
    # It is compared with the student, so that what the bundle lost counts.
    text = ["Wo endet die Donau?"]
    c, bundle, student = (
        distill.load_encoder(str(path)).encode(text) for path in (tmp_path / "c", run / "bundle", run)
    )
    np.testing.assert_allclose(c, bundle, atol=1e-5)
    assert np.sum(bundle * student) < 0.9999 and judged.figures.cosine_mean < 0.9999


def test_what_is_stated_stands_above_the_bundle_and_the_other_half_is_the_bundles(run, tmp_path):
    judged = export_model(str(run), tmp_path / "out", ExportOptions(precision="float32"), LENIENT)
    assert judged.card.form.precision == Precision("float32", "int4") and judged.figures is not None
    judged = export_model(str(run), tmp_path / "cut", ExportOptions(max_length=48), LENIENT)
    assert judged.card.form.precision == Precision("int8", "int4") and judged.card.form.max_length == 48
    with pytest.raises(InputError, match="--precision"):
        export_model(str(run / "bundle"), tmp_path / "c", ExportOptions("c", table="uint8"))


def test_limits_that_are_asked_for_are_measured_though_nothing_changes(run, tmp_path):
    with pytest.raises(GateError):
        export_model(str(run), tmp_path / "out", settings=ExportSettings(min_cosine=0.999999))
    assert not (tmp_path / "out").exists()


def test_another_data_set_measures_what_its_text_did_not_make(run, sample_folder, tmp_path):
    shutil.copytree(sample_folder, tmp_path / "other")
    judged = export_model(str(run), tmp_path / "out", ExportOptions(dev_dataset=str(tmp_path / "other")), LENIENT)
    assert (judged.figures.dataset, list(judged.figures.p1)) == ("other", ["de", "ru"])
    assert same_files(run / "bundle", tmp_path / "out")
    questions = tmp_path / "other" / "questions.jsonl"
    rows = questions.read_text(encoding="utf-8").splitlines(keepends=True)
    questions.write_text("".join(row for row in rows if json.loads(row)["language"] == "en"), encoding="utf-8")
    with pytest.raises(DataError):
        export_model(str(run), tmp_path / "c", ExportOptions(dev_dataset=str(tmp_path / "other")), LENIENT)


def test_an_encoder_that_reads_contexts_is_not_exported(tiny, tmp_path):
    KerasEncoder(add_segments(tiny.model), tiny.tokenizer).save(tmp_path / "both")
    with pytest.raises(InputError, match="pairs.context"):
        export_model(str(tmp_path / "both"), tmp_path / "out", settings=LENIENT)


def test_a_format_without_prompts_is_refused_before_any_weight_is_read(tmp_path, capsys):
    with pytest.raises(EncoderError, match="string .* onnx, "):
        export_model("multi12-six", tmp_path / "out", ExportOptions(format="string"))
    assert capsys.readouterr().err == ""


def test_a_copy_of_a_shipped_bundle_is_not_measured_again(tmp_path):
    copy = copy_shipped("multi12-static", tmp_path / "copy")
    assert export_model(str(copy), tmp_path / "out", ExportOptions(format="c")).figures is None


def test_a_file_for_programs_has_the_name_by_which_its_encoder_is_found(run, tmp_path):
    for model, name in (("multi12-static", "multi12-static"), (str(run / "bundle"), "my-run")):
        folder = tmp_path / f"c-{name}"
        export_model(model, folder, ExportOptions(format="c"), LENIENT)
        assert read_sections(folder / "encoder.bin")["name"].tobytes().decode() == name


def test_an_encoder_of_another_space_whitens_none(run, tmp_path):
    with pytest.raises(InputError, match="--whiten-by"):
        export_model(str(run), tmp_path / "out", ExportOptions(whitening=0.1, whiten_by="multi12-static"), LENIENT)


@pytest.mark.parametrize(("part", "config"), [("", "[data]\ndataset = 'nowhere'"), ("bundle", "nowhere = 'a page'")])
def test_without_a_runs_data_the_samples_questions_are_asked(run, small_sample, tmp_path, capsys, part, config):
    (run / "config.toml").write_text(config, encoding="utf-8")
    judged = export_model(str(run / part), tmp_path / "c", ExportOptions("c"), LENIENT)
    assert judged.figures.dataset == "sample" and len(judged.figures.p1) > 2
    assert "nowhere" in capsys.readouterr().err
    page = (tmp_path / "c" / "README.md").read_text(encoding="utf-8")
    assert f"- cosine to {'its source' if part else 'the student'}: " in page


def test_a_bundle_of_signatures_keeps_them(artefacts, tmp_path):
    signed = artefacts(Form(signatures=(16, 48)))
    judged = export_model(str(signed), tmp_path / "out")
    assert judged.card.form.signatures == (16, 48) and same_files(signed, tmp_path / "out")


def test_dense_layers_of_4_bits_become_8_in_a_format_without_them(run, tmp_path):
    change_card(run / "bundle", precision={"dense": "int4", "table": "int4"})
    judged = export_model(str(run), tmp_path / "out", ExportOptions("string"), LENIENT)
    assert judged.card.form.precision == Precision("int8", "int4")


SHIPPED = "released", "released-small", "released-transformer"
COMMANDS = [*([name] for name in SHIPPED), ["released-small", "--document-model", "released"]]


def test_no_bundle_of_a_shipped_encoder_needs_the_training_stack(tmp_path):
    commands = [["export", *command, "--output", f"{number}"] for number, command in enumerate(COMMANDS)]
    code = (
        f"import sys\nsys.modules |= dict.fromkeys({TRAINING})\nfrom distill.cli import main\n"
        f"for command in {commands}:\n    try: main(command)\n    except SystemExit as left: print(left.code)"
    )
    left = process("-c", code, cwd=tmp_path)
    assert left.out.split() == ["0"] * len(commands), left.err
    for number, name in enumerate(SHIPPED):
        assert same_files(copy_shipped(name, tmp_path / name), tmp_path / str(number))
    pair = card_in(tmp_path / "3")
    assert pair["documents"] == "multi12-ngram" and len(pair["pieces"]["languages"]) == 12
    assert (tmp_path / "3" / "languages.npz").is_file()
