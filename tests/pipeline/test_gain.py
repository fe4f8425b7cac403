"""A teacher that is no better than its base."""

from pathlib import Path

import numpy as np
import pytest

from distill.errors import TrainingError
from distill.evaluation.evaluate import Evaluation
from distill.pipeline.gain import require_gain, say_if_weak
from distill.pipeline.inputs import Inputs
from distill.pipeline.run import Run
from distill.settings.sections import Settings


def run(base, teacher, **changed):
    """A run whose encoders have these ranks of English MaxP on dev; of all else the teacher is the worse."""
    settings = Settings()
    for name, value in changed.items():
        setattr(settings.teacher, name, value)
    prepared = Run(Inputs(settings, None, ("en", "de")), Path("runs/x"))
    for name, english, other in (("base", base, 1), ("teacher", teacher, 9)):
        ranks = {"maxp": {"en": np.array(english), "de": np.array([other])}, "document": {"en": np.array([other])}}
        prepared.evaluations.setdefault("dev", {})[name] = Evaluation(name, "dev", ranks)
    return prepared


# P@1 0.5, MRR@10 0.75
BASE = [1, 2]


@pytest.mark.parametrize("teacher", [[1, 2], [1, 3], [2, 2]], ids=["equal", "lower mrr", "lower p"])
def test_a_teacher_that_is_no_better_stops_the_run(teacher):
    with pytest.raises(TrainingError, match="--resume runs/x "):
        require_gain(run(BASE, teacher))


def test_with_leave_it_is_said_aloud(capsys):
    require_gain(run(BASE, BASE, allow_weak=True))
    assert "WEAK TEACHER" in capsys.readouterr().err


NOTHING = [run(BASE, [2, 2], model="e5"), run(BASE, BASE, bm25_epochs=0, online_epochs=0), run([1, 1], [1, 1])]


@pytest.mark.parametrize("prepared", [run([1, 3], [1, 1]), run([1, 3], [2, 1]), *NOTHING])
def test_a_better_one_goes_on_or_where_there_is_nothing_to_beat(prepared, capsys):
    require_gain(prepared)
    assert capsys.readouterr().err == ""


@pytest.mark.parametrize(
    ("scores", "weak"),
    [
        ([(0.5, 0.6), (0.4, 0.9), (0.5, 0.6)], True),
        ([(0.5, 0.6), (0.5, 0.7)], False),
        ([(0.5, 0.6), (0.6, 0.1)], False),
        ([(0.5, 0.6)], False),
        ([(1.0, 1.0), (1.0, 1.0)], False),
        ([], False),
    ],
)
def test_a_training_that_never_beat_its_start_is_told(scores, weak, capsys):
    say_if_weak([{"event": "teacher", "p@1": p, "mrr@10": mrr} for p, mrr in scores])
    assert ("WEAK TEACHER" in capsys.readouterr().err) == weak
