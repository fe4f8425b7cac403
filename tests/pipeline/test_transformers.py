"""Transformers from end to end: as teacher and student of a run that is stopped, and beside other families."""

import numpy as np
import pytest

from distill.catalog.loading import load_encoder
from distill.encoders.encoder import KerasEncoder
from distill.system.reading import read_json, read_jsonl
from distill.training.trainer import Trainer

EPOCHS = "--bm25-epochs 1 --online-epochs 1 --epochs 2 --checkpoint-seconds 0 --allow-weak-teacher --no-lareqa"
EXPORT = "--max-drop 100 --table int4 --set export.min_cosine=0.5"


def stopped_in(epoch):
    """A training step that stops the run within an epoch of the student, as Ctrl-C does."""
    whole, steps = Trainer.train_on_batch, []

    def step(self, *batch):
        if self.precision.table == "int4":
            steps.append(batch)
        if len(steps) == epoch:
            raise KeyboardInterrupt
        return whole(self, *batch)

    return step


def without_time(metrics):
    return {**metrics, "timings": sorted(metrics["timings"])}


def test_a_run_that_is_stopped_in_stage_2_goes_on_and_has_the_same_figures(
    distill, plain, transformers, sentence_data, tmp_path
):
    flags = ["--dataset", sentence_data, "--languages", "de", "--base", f"hf:{transformers / 'xlm-roberta'}"]
    command = ["run", "--config", plain, *flags, *EPOCHS.split(), *EXPORT.split(), "--name", "run"]
    assert distill(*command, "--runs", tmp_path / "whole") == 0
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Trainer, "train_on_batch", stopped_in(2))
        assert distill(*command, "--runs", tmp_path) == 130
    folder = tmp_path / "run"
    assert (folder / "teacher").is_dir() and not (folder / "student").exists()
    assert distill("run", "--resume", folder) == 0
    whole = tmp_path / "whole" / "run"
    assert without_time(read_json(folder / "metrics.json")) == without_time(read_json(whole / "metrics.json"))
    teacher, student = (KerasEncoder.load(folder / name).model for name in ("teacher", "student"))
    assert {teacher.family, student.family} == {"transformer"}
    assert [row["event"] for _, row in read_jsonl(folder / "log.jsonl")].count("resumed") == 1


@pytest.mark.parametrize(
    ("teacher", "start"), [("slim", "roberta"), ("bert", "slim")], ids=["of an n-gram teacher", "of a transformer"]
)
def test_students_of_other_families_learn_in_a_teachers_space(
    distill, plain, transformers, slim_folder, sentence_data, tmp_path, teacher, start
):
    named = {"slim": slim_folder, **{name: f"st:{transformers / name}" for name in ("bert", "roberta")}}
    flags = ["--dataset", sentence_data, "--languages", "de", "--epochs", 1, "--set", "student.quantised_epochs=1"]
    flags += ["--set", "training.precision=mixed", "--set", "export.precision=int4"]
    assert (
        distill("transfer", "--teacher", named[teacher], "--start", named[start], *flags, "--output", tmp_path / "s")
        == 0
    )
    student = load_encoder(tmp_path / "s")
    # Both have 16 numbers, of other spaces.
    assert student.model.foreign and student.model.family == ("ngram" if start == "slim" else "transformer")
    weights = np.concatenate([weight.ravel() for weight in student.model.get_weights()])
    assert np.isfinite(weights).all()
