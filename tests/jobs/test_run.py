"""`distill.run`: the function and the command do the same, and a training step is near to it."""

import traceback
from pathlib import Path

import pytest

import distill
from distill.encoders.catalog.kinds import METRICS, RUN_FILE
from distill.errors import InputError
from distill.settings.sections import Settings
from distill.settings.store import change_settings, format_config
from distill.training.training_model import TrainedModel

PACKAGE = Path(distill.__file__).resolve().parent
# From `distill.run` to the trainer's step, each of which is a function of ours in a traceback.
MOST_CALLS = 8


class Broken(Exception):
    """What ends a training step."""


@pytest.fixture
def small(sentence_data, slim_folder):
    """Settings of a run that takes seconds until it trains."""

    def build(**epochs):
        named = {"data.dataset": str(sentence_data), "data.languages": ("de",), "teacher.base": str(slim_folder)}
        measured = {"evaluation.lareqa": False, "evaluation.peers": ()}
        return change_settings(
            Settings(), {**named, **measured, **{f"teacher.{name}": n for name, n in epochs.items()}}
        )

    return build


def own_calls(error):
    """The functions of ours that a traceback has from `distill.run` on, without `run` itself."""
    frames = [
        frame for frame in traceback.extract_tb(error.__traceback__) if Path(frame.filename).is_relative_to(PACKAGE)
    ]
    names = [frame.name for frame in frames]
    return names[names.index("run") + 1 :]


@pytest.mark.parametrize(
    ("epochs", "stage"), [({}, "make_teacher"), ({"bm25_epochs": 0, "online_epochs": 0}, "make_student")]
)
def test_a_training_step_is_at_most_eight_calls_from_run(small, tmp_path, monkeypatch, epochs, stage):
    def break_off(*_):
        raise Broken

    monkeypatch.setattr(TrainedModel, "take_step", break_off)
    with pytest.raises(Broken) as caught:
        distill.run(small(**epochs), tmp_path / "run")
    # `take_step` is this test's own here.
    calls = [*own_calls(caught.value), "take_step"]
    assert stage in calls and calls[-2] == "epoch"
    assert len(calls) <= MOST_CALLS, calls


def test_a_corpus_that_is_missing_is_refused_by_function_and_command_in_the_same_words(small, tmp_path, capsys):
    settings = change_settings(small(), {"budget.max_size": "5MB", "budget.corpus": (str(tmp_path / "de.txt"),)})
    with pytest.raises(InputError, match=r"de\.txt") as refused:
        distill.run(settings, tmp_path / "run")
    from distill.cli import main

    command = ["run", "--max-size", "5MB", "--corpus", str(tmp_path / "de.txt"), "--output", str(tmp_path / "run")]
    with pytest.raises(SystemExit) as left:
        main([*command, "--dataset", settings.data.dataset, "--base", settings.teacher.base])
    assert left.value.code == 2 and f"error: {refused.value}" in capsys.readouterr().err.splitlines()
    assert list(tmp_path.iterdir()) == []


def test_a_run_that_was_stopped_in_its_search_goes_on_by_the_loss_that_is_asked_for_now(small, tmp_path, monkeypatch):
    settings, searched = change_settings(small(), {"budget.max_size": "1MB"}), []
    (tmp_path / RUN_FILE).write_text(format_config(settings), encoding="utf-8")
    (tmp_path / METRICS).write_text("{}", encoding="utf-8")
    monkeypatch.setattr("distill.jobs.run.compress", lambda folder, of: searched.append(of.export.max_drop))
    distill.run(change_settings(settings, {"export.max_drop": 7.0}), tmp_path, resume=True)
    assert searched == [7.0] != [settings.export.max_drop]
