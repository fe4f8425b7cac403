"""The gain of stage 1: a teacher that is no better than its base teaches nothing."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from ..errors import TrainingError
from ..system.progress import say
from .first_stage import asked_in
from .run import Run

METRICS = ("p@1", "mrr@10")


def require_gain(run: Run) -> None:
    """Say it where the teacher of a run does not beat its base on dev, and raise `TrainingError`.

    Compared is what steered it: P@1, then MRR@10, of its unit, the mean over the languages it was trained in. With
    `teacher.allow_weak` it is said alone. A fixed teacher, one that no epoch was asked of, and a base that makes no
    mistake have nothing to beat.
    """
    settings = run.settings.teacher
    if settings.model or not settings.bm25_epochs + settings.online_epochs:
        return
    base, teacher = (dev_scores(run, name) for name in ("base", "teacher"))
    if teacher > base or min(base) == 1.0:
        return
    told = f"the teacher does not beat its base on dev: {_told(teacher)} against {_told(base)} ({settings.unit})"
    if not settings.allow_weak:
        raise TrainingError(
            f"{told}; train it otherwise (--teacher-learning-rate, --online-epochs, --negatives, more questions), or "
            f"go on with it: distill run --resume {run.folder} --allow-weak-teacher"
        )
    say(f"WEAK TEACHER: {told}; the run goes on with it, as --allow-weak-teacher asks")


def say_if_weak(rows: Sequence[Mapping[str, float]]) -> None:
    """Say it where of a training's `rows`, the log's, none is better than the first, the start's."""
    scores = [tuple(row[name] for name in METRICS) for row in rows]
    if len(scores) > 1 and max(scores) == scores[0] and min(scores[0]) < 1.0:
        say(f"WEAK TEACHER: it does not beat its base on dev, {_told(scores[0])}: no epoch was better than the start")


def dev_scores(run: Run, name: str) -> tuple[float, ...]:
    """(P@1, MRR@10) of an encoder that was measured; on another data set's dev as training logged them."""
    if run.inputs.dev is not None:
        rows = [row for row in run.log.rows if row["event"] == "teacher" or row["event"].startswith("self-training ")]
        scores = [tuple(row[metric] for metric in METRICS) for row in rows if "epoch" in row]
        return scores[0] if name == "base" else max(scores)
    teacher, evaluation = run.settings.teacher, run.evaluations["dev"][name]
    languages = asked_in(run.settings.pairs.batches, teacher.language, run.languages)
    return tuple(evaluation.mean(teacher.unit, languages, metric) for metric in METRICS)


def _told(scores):
    return ", ".join(f"{name.upper()} {score:.3f}" for name, score in zip(METRICS, scores, strict=True))
