"""The commands `distill lir fit`, `apply` and `fold`."""

import shutil

import numpy as np
import pytest

from distill.cli import main
from distill.encoders.encoder import KerasEncoder
from distill.evaluation.bias.removal import LanguageRemoval

TEXTS = {"de": ["Wo mündet die Donau?", "Der Nil", "Die Elbe"], "th": ["แม่น้ำ", "ไนล์", "น้ำ", "แม่น้ำไนล์"]}


@pytest.fixture
def distill(capsys):
    """Run a command in this process: its exit code and what it said."""

    def call(*arguments):
        with pytest.raises(SystemExit) as left:
            main([str(argument) for argument in arguments])
        return left.value.code, capsys.readouterr().err

    return call


@pytest.fixture
def refused(distill):
    def call(*arguments):
        code, said = distill(*arguments)
        assert code == 2 and said.startswith("error: ") and said.count("\n") == 1, said
        return said

    return call


@pytest.fixture
def corpus(tmp_path):
    """The files, one named after its language and one not, as they are given."""
    (tmp_path / "de.txt").write_text("\n".join(TEXTS["de"]), encoding="utf-8")
    (tmp_path / "news.tha.txt").write_text("\n".join(TEXTS["th"]), encoding="utf-8")
    return ["--corpus", tmp_path / "de.txt", "--corpus", f"th={tmp_path / 'news.tha.txt'}"]


@pytest.fixture(scope="module")
def student(tiny_folder):
    return KerasEncoder.load(tiny_folder)


@pytest.fixture
def copy(tiny_folder, tmp_path):
    return shutil.copytree(tiny_folder, tmp_path / "encoder")


@pytest.fixture
def removal(tmp_path):
    """Of 16 dimensions, in a file."""
    random = np.random.default_rng(0)
    found = LanguageRemoval.fit({name: random.normal(size=(9, 16)) for name in ("de", "th")}, rank=2)
    found.save(tmp_path / "removal.npz")
    return found


# fit


def test_fit_writes_the_singular_vectors_of_each_languages_texts(distill, copy, corpus, student):
    code, said = distill("lir", "fit", copy, *corpus, "--rank", 2)
    assert code == 0, said
    assert f"{copy / 'lir.npz'}: 2 directions of 16 numbers a language, from texts: de 3, th 4" in said.replace(
        "\n", ""
    )
    found = LanguageRemoval.load(copy / "lir.npz")
    assert (found.languages, found.rank, found.encoder) == (("de", "th"), 2, "tiny")
    for language, texts in TEXTS.items():
        _, _, right = np.linalg.svd(student.encode(texts))
        np.testing.assert_allclose(np.abs(np.sum(found.components[language] * right[:2], axis=1)), 1, atol=1e-3)
    # Such a folder is still an encoder.
    assert np.array_equal(KerasEncoder.load(copy).encode(["a"]), student.encode(["a"]))


def test_the_file_of_a_run_lies_with_its_student(distill, copy, corpus, tmp_path):
    (tmp_path / "run").mkdir()
    (tmp_path / "run" / "config.toml").write_text("seed = 0\n")
    copy.rename(tmp_path / "run" / "student")
    assert distill("lir", "fit", tmp_path / "run", *corpus, "--rank", 1)[0] == 0
    assert LanguageRemoval.load(tmp_path / "run" / "student" / "lir.npz").rank == 1


def test_a_sample_of_the_texts_is_drawn_by_the_seed(distill, copy, tmp_path, student):
    lines = [f"river {number} " * (1 + number % 5) for number in range(50)]
    (tmp_path / "en.txt").write_text("\n".join(lines), encoding="utf-8")
    found = []
    for seed in (1, 1, 2):
        flags = ["--corpus", tmp_path / "en.txt", "--sentences", 10, "--seed", seed, "--output", tmp_path / "lir.npz"]
        assert distill("lir", "fit", copy, *flags)[0] == 0
        found.append(LanguageRemoval.load(tmp_path / "lir.npz"))
    assert [one.sentences for one in found] == 3 * [{"en": 10}]
    assert np.array_equal(found[0].components["en"], found[1].components["en"])
    assert not np.allclose(found[0].components["en"], found[2].components["en"], atol=1e-4)


@pytest.mark.parametrize("model", ["muse", "bundle"])
def test_an_encoder_without_a_folder_of_ours_needs_an_output(refused, corpus, tiny_bundle, model):
    model = tiny_bundle if model == "bundle" else model
    assert f"{model}: no folder of a saved encoder that lir.npz could lie in; give --output" in refused(
        "lir", "fit", model, *corpus
    )


def test_too_few_texts_are_named_before_anything_is_encoded(refused, corpus, tmp_path):
    said = refused("lir", "fit", "no-such-encoder", *corpus, "--output", tmp_path / "lir.npz")
    assert "de: 3 texts, expected at least 4, the rank" in said


def test_fit_needs_text(refused, copy):
    assert "--corpus" in refused("lir", "fit", copy)


# apply


def test_apply_removes_a_languages_directions(distill, removal, tmp_path):
    vectors = np.random.default_rng(1).normal(size=(5, 16)).astype(np.float32)
    vectors /= np.linalg.norm(vectors, axis=1, keepdims=True)
    np.save(tmp_path / "in.npy", vectors)
    flags = ["--removal", tmp_path / "removal.npz", "--language", "th", "--output", tmp_path / "out.npy"]
    for rank, flag in ((1, []), (2, ["--rank", 2])):
        assert distill("lir", "apply", tmp_path / "in.npy", *flags, *flag)[0] == 0
        directions = removal.components["th"][:rank]
        expected = vectors - (vectors @ directions.T) @ directions
        expected /= np.linalg.norm(expected, axis=1, keepdims=True)
        np.testing.assert_allclose(np.load(tmp_path / "out.npy"), expected, atol=1e-6)


@pytest.mark.parametrize(
    "array, flags, said",
    [
        (np.eye(16), ["--language", "fr"], "no components of the language fr; there are de, th"),
        (np.eye(16), ["--language", "de", "--rank", 3], "rank: expected 0 to 2"),
        (np.eye(5), ["--language", "de"], "in.npy: 5 dimensions, the components have 16"),
        (np.ones(16), ["--language", "de"], "in.npy: expected floating point numbers (n, d), got float64 (16,)"),
        (np.eye(16, dtype=int), ["--language", "de"], "in.npy: expected floating point numbers (n, d), got int"),
        (np.full((2, 16), np.nan), ["--language", "de"], "in.npy: 2 of 2 rows hold NaN"),
        (np.array([[{}]], dtype=object), ["--language", "de"], "in.npy: no .npy file of numbers"),
    ],
)
def test_what_cannot_be_removed_is_one_line(refused, removal, tmp_path, array, flags, said):
    np.save(tmp_path / "in.npy", array, allow_pickle=True)
    flags = [*flags, "--removal", tmp_path / "removal.npz", "--output", tmp_path / "out.npy"]
    assert said in refused("lir", "apply", tmp_path / "in.npy", *flags)
    assert not (tmp_path / "out.npy").exists()


# fold


def test_a_folded_encoder_removes_all_languages_directions(distill, copy, removal, student, tmp_path):
    removal.save(copy / "lir.npz")
    code, said = distill("lir", "fold", copy, "--output", tmp_path / "folded")
    assert code == 0 and "without 2 of 16 directions, of de, th" in said.replace("\n", " "), said
    found, texts = KerasEncoder.load(tmp_path / "folded"), [*TEXTS["de"], *TEXTS["th"]]
    vectors, basis = (
        student.encode(texts),
        np.linalg.qr(np.concatenate([one[:1] for one in removal.components.values()]).T)[0],
    )
    expected = vectors - (vectors @ basis) @ basis.T
    expected /= np.linalg.norm(expected, axis=1, keepdims=True)
    np.testing.assert_allclose(found.encode(texts), expected, atol=1e-5)
    assert found.name == "tiny"


@pytest.mark.parametrize("kind", ["ngram", "static"])
def test_a_folded_encoder_is_exported_as_any_other(wide, tokenizer, sample, tmp_path, randomised, kind):
    from distill.export.artefact import export_artefact
    from distill.settings.sections import ExportSettings
    from distill.students.project import folded
    from distill.students.static import StaticEncoder

    model = wide.model
    if kind == "static":
        model = randomised(StaticEncoder(vocabulary=len(tokenizer), width=40, hidden=36, dimension=40))
    random = np.random.default_rng(0)
    removal = LanguageRemoval.fit({name: random.normal(size=(9, 40)) for name in ("de", "th")}, rank=2)
    student = KerasEncoder(folded(model, removal.shared(2)), tokenizer)
    # The gate itself: tokens, cosines of at least .995, P@1.
    card = export_artefact(student, tmp_path / "out", sample, ("de", "en"), ExportSettings(max_drop=100))
    assert card["dev"]["cosine_min"] > 0.995
    from distill.export.encode import Encoder

    got = Encoder(tmp_path / "out").encode(TEXTS["de"])
    directions = np.concatenate([removal.components["de"], removal.components["th"]])
    # One int8 product of the whole matrix leaves .005 of them.
    assert np.abs(got @ directions.T).max() < 0.003


def test_a_name_needs_a_removal(refused, tmp_path):
    said = refused("lir", "fold", "muse", "--output", tmp_path / "out")
    assert "muse: no folder of a saved encoder that lir.npz could lie in; give --removal" in said


def test_an_encoder_without_a_file_beside_it_is_told_so(refused, copy, tmp_path):
    said = refused("lir", "fold", copy, "--output", tmp_path / "out")
    assert "lir.npz: cannot be read: No such file or directory; write one with distill lir fit" in said


def test_a_bundle_cannot_be_folded(refused, tiny_bundle, removal, tmp_path):
    said = refused("lir", "fold", tiny_bundle, "--removal", tmp_path / "removal.npz", "--output", tmp_path / "out")
    assert "an exported encoder can be measured" in said


def test_components_of_another_space_are_refused(refused, copy, tmp_path):
    LanguageRemoval.fit({"de": np.eye(5)}, rank=1).save(tmp_path / "other.npz")
    said = refused("lir", "fold", copy, "--removal", tmp_path / "other.npz", "--output", tmp_path / "out")
    assert "16 dimensions, the components have 5" in said


# export


def test_export_refuses_components_that_its_format_cannot_use(refused, copy, removal, tmp_path):
    flags = ["--removal", tmp_path / "removal.npz", "--format", "string", "--output", tmp_path / "out"]
    assert "the format string has none; take bundle or onnx, or fold it in" in refused("export", copy, *flags)


def test_export_puts_the_asked_rank_into_the_bundle(distill, copy, removal, tmp_path):
    flags = ["--removal", tmp_path / "removal.npz", "--removal-rank", 2, "--output", tmp_path / "out"]
    assert distill("export", copy, *flags, "--languages", "en", "--max-drop", 100)[0] == 0
    assert np.array_equal(np.load(tmp_path / "out" / "lir.npy"), removal.stacked())
