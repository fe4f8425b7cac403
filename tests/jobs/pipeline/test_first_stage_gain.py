"""A fixed teacher that is worse than the base."""

from contextlib import nullcontext
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from distill.data.dataset import Dataset, Passage, Question
from distill.data.parallel import Parallel
from distill.encoders.encoder import normalise_rows
from distill.errors import TrainingError
from distill.evaluation.evaluate import Evaluation
from distill.jobs.pipeline.first_stage import record_closeness, require_gain
from distill.jobs.pipeline.inputs import Inputs
from distill.jobs.pipeline.run import Run
from distill.settings.sections import TeacherSettings


def run(base, teacher, dev=None, **changed):
    """A run whose encoders have these ranks of English MaxP on dev; of all else the teacher is the worse."""
    prepared = Run(Inputs(None, ("en", "de"), teacher=TeacherSettings(**changed), dev=dev), Path("runs/x"))
    for name, english, other in (("base", base, 1), ("teacher", teacher, 9)):
        ranks = {"maxp": {"en": np.array(english), "de": np.array([other])}, "document": {"en": np.array([other])}}
        prepared.evaluations.setdefault("dev", {})[name] = Evaluation(name, "dev", ranks)
    return prepared


# P@1 0.5, MRR@10 0.75
BASE = [1, 2]


WORSE = {"lower": {}, "another dev": {"dev": "other"}, "the base but for its means": {"base": "e5", "centre": True}}


@pytest.mark.parametrize("case", WORSE)
def test_a_fixed_teacher_that_is_worse_stops_the_run(case, capsys):
    for base, teacher in ((BASE, [2, 2]), ([1, 1], [1, 2])):
        with pytest.raises(TrainingError, match="e5.*--resume runs/x "):
            require_gain(run_with(base, teacher, **WORSE[case]))
        require_gain(run_with(base, teacher, **WORSE[case], allow_weak=True))
        assert "WEAK TEACHER" in capsys.readouterr().err


def run_with(ranks, teacher, base="muse", **changed):
    prepared = run(ranks, teacher, model="e5", **changed)
    prepared.inputs.teacher.base = base
    return prepared


@pytest.mark.parametrize(("worse", "stops"), [(20, True), (2, False)])
def test_on_lines_alone_a_fixed_teacher_has_to_be_clearly_worse(worse, stops):
    """Of 20 halves all, or two, come second and not first: p of the sign flips is 2^-19, and .5."""
    ids = tuple(str(number) for number in range(20))
    passages = tuple(Passage(id, id, int(id)) for id in ids)
    questions = {"en": {id: Question(id, "en", id, int(id)) for id in ids}}
    data = Dataset("lines", "en", ids, passages, questions, {"train": (), "dev": ids})
    lines = [Parallel("a", 1.0, ("eins",), ("de",), ("one",))]
    prepared = run_with([1] * 20, [2] * worse + [1] * (20 - worse))
    prepared.inputs = replace(prepared.inputs, dataset=data, sources=lines)
    with pytest.raises(TrainingError) if stops else nullcontext():
        require_gain(prepared)


NOTHING = [run(BASE, BASE, bm25_epochs=0, online_epochs=0), run(BASE, [2, 2])]
NOTHING += [run_with(BASE, BASE), run_with([1, 1], [1, 1]), run_with(BASE, [1, 1]), run_with(BASE, [2, 2], base="e5")]


@pytest.mark.parametrize("prepared", [run([1, 3], [1, 1]), run([1, 3], [2, 1]), *NOTHING])
def test_a_better_one_goes_on_or_where_there_is_nothing_to_beat(prepared, capsys):
    require_gain(prepared)
    assert capsys.readouterr().err == ""


class Fixed:
    """An encoder with these vectors: `turn` is a matrix that vectors of a text's letters are multiplied by."""

    def __init__(self, turn):
        self.turn, self.dimension, self.name = turn, turn.shape[1], "fixed"

    def encode(self, texts, role="question", progress=None):
        counts = np.array([[text.count(letter) for letter in "abcdefgh"] for text in texts], dtype=np.float64) + 0.1
        return normalise_rows(counts @ self.turn)


def test_base_and_student_are_compared_with_a_fixed_teacher_on_held_out_questions(sample, tmp_path):
    inputs = Inputs(sample, ("en", "de"), teacher=TeacherSettings(model="st:mine"))
    turned = np.linalg.qr(np.random.default_rng(0).normal(size=(8, 8)))[0]
    measured = Run(inputs, tmp_path)
    record_closeness(measured, True, Fixed(turned), Fixed(np.eye(8)), Fixed(np.eye(8)))
    closeness = measured.figures["closeness"]
    assert closeness["split"] == "test" and list(closeness["encoders"]) == ["base", "student"]
    for name, cosine in (("base", None), ("student", 1.0)):
        row = closeness["encoders"][name]["en"]
        assert row["spearman"] == pytest.approx(1) and row["neighbours"] == pytest.approx(1, abs=0.01)
        assert row["cosine_mean"] == (cosine and pytest.approx(cosine))
    # The teacher reads the English version of a German question, the student the German one.
    letters = [
        Fixed(np.eye(8)).encode([question.text for question in sample.select(language, "test")])
        for language in ("en", "de")
    ]
    assert closeness["encoders"]["student"]["de"]["cosine_mean"] == pytest.approx(
        np.sum(letters[0] * letters[1], 1).mean()
    )
    trained = Run(replace(inputs, teacher=TeacherSettings()), tmp_path)
    record_closeness(trained, False, *[Fixed(np.eye(8))] * 3)
    assert "closeness" not in trained.figures
