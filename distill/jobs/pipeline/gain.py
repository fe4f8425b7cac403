"""Refuse a fixed teacher that is worse than the base, as it teaches nothing; measure how close the student comes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict

import numpy as np

from ...encoders.catalog.loading import load_keras_encoder
from ...encoders.encoder import Encoder, KerasEncoder
from ...errors import TrainingError
from ...evaluation.closeness import measure_closeness, pair_texts
from ...evaluation.resampling import sign_flip_p
from ...retrieval.metrics import reciprocal_ranks
from ...system.progress import say, task
from ...system.types import Json
from ...training.checkpoints import CHECKPOINT
from ...training.log import SCORES
from .first_stage import question_languages
from .run import Run

LEVEL = 0.05
CHOOSE = "look whether that is the encoder you mean, in a language that it knows, and whether teacher.centre helps"


def require_gain(run: Run) -> None:
    """Require that a fixed teacher is no worse than the base on dev.

    The comparison uses P@1, then MRR@10, of the teacher's unit, as a mean over the languages that it asks in. A teacher
    that the run trained is not compared: its base was a candidate, and dev kept the better one. With
    `teacher.allow_weak`, a weak teacher gives a warning only.

    Raises `TrainingError` for a weak teacher.
    """
    settings = run.inputs.teacher
    if not settings.model or settings.model == settings.base and not settings.centre:
        return
    base, teacher = (dev_scores(run, name) for name in ("base", "teacher"))
    if teacher >= base:
        return
    # Halves of lines are hard to find, and few find them: only a clear loss says that the teacher is no encoder.
    if run.inputs.without_questions and not is_clearly_worse(run):
        say(
            f"the teacher, {settings.model}, is about as good as the base on dev: {_format_scores(teacher)}, "
            f"{_format_scores(base)}"
        )
        return
    spoken, leave = ", ".join(_teacher_languages(run)), f"--resume {run.folder} --allow-weak-teacher"
    figures = f"{_format_scores(teacher)} against {_format_scores(base)} ({settings.unit}, {spoken})"
    if settings.allow_weak:
        say(f"WEAK TEACHER: {figures}, the base's, on dev; the run goes on with it, as --allow-weak-teacher asks")
        return
    raise TrainingError(
        f"the teacher, {settings.model}, is worse than the base on dev: {figures}; {CHOOSE}, or go on with it: "
        f"distill run {leave}"
    )


def is_clearly_worse(run: Run) -> bool:
    """Return whether the teacher's MRR@10 on dev is significantly below that of its base, by sign flips."""
    evaluations, unit, languages = run.evaluations["dev"], run.inputs.teacher.unit, _teacher_languages(run)
    teacher, base = (
        reciprocal_ranks(np.concatenate([evaluations[name].ranks[unit][one] for one in languages]), 10)
        for name in ("teacher", "base")
    )
    ids = [question.id for one in languages for question in run.dataset.select(one, "dev")]
    return teacher.mean() < base.mean() and sign_flip_p(teacher - base, ids) < LEVEL


def dev_scores(run: Run, name: str) -> tuple[float, ...]:
    """Return P@1 and MRR@10 on dev of an encoder that was measured, "base" or "teacher"."""
    evaluation, unit = run.evaluations["dev"][name], run.inputs.teacher.unit
    return tuple(evaluation.mean(unit, _teacher_languages(run), metric) for metric in SCORES)


def record_closeness(run: Run, foreign: bool, base: KerasEncoder, teacher: Encoder, student: KerasEncoder) -> None:
    """Record how close base and student are to a fixed teacher on held-out texts, by language.

    Args:
        foreign: Whether the base is in another space than the teacher. The start of the student, which is then the base
            with a map into that space, is measured too.
    """
    inputs, split, start = run.inputs, run.inputs.splits[-1], run.folder / CHECKPOINT / "start"
    options = inputs.teacher.language, inputs.without_questions, inputs.seed
    pairs = pair_texts(run.dataset, split, run.languages, *options)
    if not inputs.teacher.model or not pairs:
        return
    encoders: dict[str, tuple[Encoder, bool]] = {"base": (base, not foreign)}
    if foreign and start.is_dir():
        encoders["start"] = load_keras_encoder(start), True
    with run.timed("closeness"):
        figures = compare_with_teacher(teacher, {**encoders, "student": (student, True)}, pairs)
    run.record("closeness", {"split": split, "encoders": figures})


def compare_with_teacher(
    teacher: Encoder, encoders: Mapping[str, tuple[Encoder, bool]], pairs: Mapping[str, Sequence[tuple[str, str]]]
) -> dict[str, dict[str, Json]]:
    """Measure how close encoders are to a teacher, by language.

    Args:
        encoders: `{name: (encoder, whether its vectors are in the teacher's space)}`.
        pairs: `{language: (text, text whose vector by the teacher is its label)}`, as `closeness.pair_texts` gives it.

    Returns:
        `{name: {language: figures of closeness}}`.
    """
    figures: dict[str, dict[str, Json]] = {name: {} for name in encoders}
    many = sum(map(len, pairs.values()))
    with task("closeness to the teacher", many * (1 + len(encoders))) as advance:
        for language, of in pairs.items():
            texts, labels = (list(column) for column in zip(*of, strict=True))
            by_teacher = teacher.encode(labels, "question", advance)
            for name, (encoder, same) in encoders.items():
                vectors = encoder.encode(texts, "question", advance)
                same_space = same and vectors.shape == by_teacher.shape
                figures[name][language] = asdict(measure_closeness(vectors, by_teacher, same_space))
    return figures


def _teacher_languages(run):
    """Return the languages of stage 1's questions."""
    return question_languages(run.inputs.pairing.batches, run.inputs.teacher.language, run.languages)


def _format_scores(scores):
    """Format P@1 and MRR@10."""
    return ", ".join(f"{name.upper()} {score:.3f}" for name, score in zip(SCORES, scores, strict=True))
