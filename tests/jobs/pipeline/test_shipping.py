"""How likely an answer is, fitted on dev into a bundle's card."""

from dataclasses import replace

import pytest
from fixtures.folders import card_in, change_card, copy_shipped

from distill.data.loading import load_dataset
from distill.errors import GateError
from distill.evaluation.calibration import WEIGHTS
from distill.evaluation.tasks.answerable import AnswerableTask
from distill.export.formats.format import load_artefact
from distill.export.weights.precision import Precision
from distill.jobs.pipeline.inputs import Inputs
from distill.jobs.pipeline.run import Run
from distill.jobs.pipeline.shipping import calibrate, export_bundle, list_shipping_steps
from distill.jobs.pipeline.steps import Engine
from distill.settings.sections import ExportSettings

LANGUAGES = ("en", "de")


@pytest.fixture
def bundle(tmp_path):
    """A bundle whose card says nothing of answers."""
    folder = copy_shipped("multi12-static", tmp_path / "bundle")
    change_card(folder, answerable=None)
    return folder


def test_the_card_of_a_runs_bundle_says_how_likely_an_answer_is_and_the_metrics_how_well_that_holds(bundle, tmp_path):
    data = load_dataset("sample", "en")
    run, card = Run(Inputs(data, LANGUAGES), tmp_path), card_in(bundle)
    # In the order in which a run has them.
    steps = [step for step in list_shipping_steps(run, calibrate) if step.name in ("calibrate", "weigh")]
    Engine(0).go(steps, {"bundle": load_artefact(bundle)})
    assert run.figures["bundle_bytes"] == sum(path.stat().st_size for path in bundle.iterdir())
    entry = card_in(bundle).pop("answerable")
    fitted = {"passage_weight": card_in(bundle)["passage_weight"], "answerable": entry}
    assert (
        {**card, **fitted} == card_in(bundle)
        and fitted["passage_weight"] in WEIGHTS
        and set(entry["scores"]) == {"vector", "sentence", "sum"}
    )
    assert (entry["split"], entry["questions"]) == ("dev", {"en": 56, "de": 56})
    task, encoder = AnswerableTask(data, LANGUAGES, "test"), load_artefact(bundle)
    expected = task.as_dict({"bundle": task.figures(task.measure(encoder), "bundle")})
    assert run.figures["answerable"] == expected
    assert expected["encoders"]["bundle"]["all"]["cases"] == 208


def test_of_too_few_dev_questions_the_card_says_nothing(bundle, tmp_path, capsys):
    data = load_dataset("sample", "en")
    few = replace(data, splits={**data.splits, "dev": data.splits["dev"][:3]})
    run, card = Run(Inputs(few, LANGUAGES), tmp_path), card_in(bundle)
    calibrate(run, bundle, load_artefact(bundle))
    assert card_in(bundle) == card and "answerable" not in run.figures
    # Six questions in cuts to four sizes and whole, with their documents and without.
    assert " 60 " in capsys.readouterr().err


def test_a_bundle_that_the_gate_refuses_is_made_in_the_next_finer_precision(tiny_encoder, tmp_path, capsys):
    inputs = Inputs(load_dataset("sample", "en"), ("de",), precision=Precision("int8", "pq8"))
    gate = ExportSettings(table="pq8", min_cosine=0.97, max_drop=100)
    export_bundle(Run(inputs, tmp_path / "run", export=gate), tiny_encoder)
    card, said = card_in(tmp_path / "run" / "bundle"), capsys.readouterr().err
    assert card["precision"] == {"dense": "int8", "table": "int4"} and card["dev"]["cosine_min"] >= 0.97
    assert "pq8" in said and "int4" in said
    last = Run(
        replace(inputs, precision=Precision("int8", "uint8")), tmp_path / "none", export=replace(gate, min_cosine=1)
    )
    with pytest.raises(GateError):
        export_bundle(last, tiny_encoder)
    assert not (tmp_path / "none" / "bundle").exists()
