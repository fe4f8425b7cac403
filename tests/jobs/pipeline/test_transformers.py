"""Transformers from end to end: as teacher and student of a run that is killed, and beside other families."""

import shutil

import numpy as np
import pytest

from distill.encoders.catalog.loading import load_encoder
from distill.encoders.encoder import KerasEncoder
from distill.system.input_files import read_jsonl
from distill.training.trainer import Trainer

OPTIONS = (
    "--bm25-epochs 1 --online-epochs 0 --epochs 2 --checkpoint-seconds 0 --allow-weak-teacher --no-lareqa --table int4"
)


def copied_in(epoch, folder, copy):
    """A training step that copies the run's folder within an epoch of the student: what a kill would have left."""
    whole, steps = Trainer.take_step, []

    def step(self, *batch):
        if self.precision.table == "int4":
            steps.append(batch)
            if len(steps) == epoch:
                shutil.copytree(folder, copy)
        return whole(self, *batch)

    return step


def stop(*_, **__):
    raise KeyboardInterrupt


def test_a_run_that_is_killed_in_stage_2_goes_on_to_the_same_student(
    distill, plain, transformers, sentence_data, tmp_path, monkeypatch
):
    # What follows is the same for all families.
    monkeypatch.setattr("distill.export.artefact.export_artefact", stop)
    flags = ["--dataset", sentence_data, "--languages", "de", "--base", f"hf:{transformers / 'xlm-roberta'}"]
    whole, folder = tmp_path / "whole" / "run", tmp_path / "run"
    with monkeypatch.context() as patch:
        patch.setattr(Trainer, "take_step", copied_in(2, whole, folder))
        command = ["run", "--config", plain, *flags, *OPTIONS.split(), "--runs", tmp_path / "whole", "--name", "run"]
        assert distill(*command) == 130
    assert (folder / "teacher").is_dir() and not (folder / "student").exists()
    assert distill("run", "--resume", folder) == 130
    students = [KerasEncoder.load(one / "student").model for one in (whole, folder)]
    assert {student.family for student in students} == {"transformer"}
    for weight, other in zip(*(student.get_weights() for student in students), strict=True):
        np.testing.assert_array_equal(weight, other)
    measured = [[row for _, row in read_jsonl(one / "log.jsonl") if "p@1" in row] for one in (whole, folder)]
    scores = [[(row["event"], row["epoch"], row["p@1"]) for row in rows] for rows in measured]
    assert scores[0] == scores[1] and [event for event, *_ in scores[0]].count("student") == 3


@pytest.mark.parametrize(
    ("teacher", "start"),
    [("slim", "roberta"), ("xlm-roberta", "bert")],
    ids=["of an n-gram teacher", "BERT of XLM-R"],
)
def test_students_of_other_families_learn_in_a_teachers_space(
    distill, plain, transformers, slim_folder, sentence_data, tmp_path, teacher, start
):
    named = {"slim": slim_folder, **{name: f"st:{transformers / name}" for name in ("bert", "roberta")}}
    # A plain folder of its library, without modules.
    named["xlm-roberta"] = f"hf:{transformers / 'xlm-roberta'}"
    flags = ["--dataset", sentence_data, "--languages", "de", "--epochs", 1, "--set", "student.quantised_epochs=1"]
    flags += ["--set", "training.precision=mixed", "--set", "export.precision=int4"]
    assert (
        distill("transfer", "--teacher", named[teacher], "--start", named[start], *flags, "--output", tmp_path / "s")
        == 0
    )
    student = load_encoder(tmp_path / "s")
    # Both have 16 numbers, of other spaces.
    assert student.model.foreign and student.model.family == "transformer"
    weights = np.concatenate([weight.ravel() for weight in student.model.get_weights()])
    assert np.isfinite(weights).all()
