"""Stage 1 of a run: triplets in one language, or pairs in many with `--loss softmax`."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict
from typing import TYPE_CHECKING

import numpy as np

from ...data.dataset import Dataset
from ...data.pairs import Pairs, make_gold_pairs, make_sentence_pairs
from ...data.parallel import Parallel
from ...encoders.catalog.loading import load_keras_encoder
from ...encoders.encoder import Encoder, KerasEncoder
from ...errors import ConfigError, TrainingError
from ...evaluation.closeness import measure_closeness, pair_texts
from ...evaluation.resampling import sign_flip_p
from ...retrieval.metrics import reciprocal_ranks
from ...settings.choices import EVERY
from ...settings.sections import DataSettings, PairSettings, TeacherSettings
from ...system.progress import say, task
from ...system.types import Json
from ...training.checkpoints import CHECKPOINT
from ...training.log import SCORES
from .inputs import Inputs
from .run import Run

if TYPE_CHECKING:
    from ...training.stages.answering_passages import AnsweringPassages
    from ...training.stages.student_job import TeacherJob


# Batches that need passages in the teacher's language alone.
IN_ONE = ("en-en", "x-en")


def teacher_job(inputs: Inputs) -> TeacherJob:
    from ...training.stages.pair_stage import PairOptions
    from ...training.stages.student_job import TeacherJob

    teacher, pairing, temperature = inputs.teacher, inputs.pairing, inputs.student.parallel_temperature
    return TeacherJob(
        # Pairs have their own questions, and name the passages that the data set's answer.
        dataset=inputs.teacher_questions if inputs.pairs is None else inputs.titled or inputs.dataset,
        options=PairOptions(teacher, pairing, temperature, inputs.seed),
        languages=question_languages(pairing.batches, teacher.language, inputs.languages),
        triplets=inputs.triplets,
        sources=inputs.sources,
        pairs=inputs.pairs,
    )


def question_languages(batches: str, language: str, languages: Sequence[str]) -> tuple[str, ...]:
    """Return the languages of stage 1's questions: with batches "en-en", only the teacher's language asks."""
    return (language,) if batches == "en-en" else tuple(languages)


def collect_pairs(
    data: DataSettings,
    teacher: TeacherSettings,
    options: PairSettings,
    dataset: Dataset,
    languages: Sequence[str],
) -> Pairs | None:
    """Collect the pairs that stage 1 learns from with `--loss softmax`, or None with any other loss.

    Batches that answer in one language leave out the passages in others. Raises `ConfigError` if batches take passages
    in languages in which the data has none.
    """
    from ...data.contexts import read_contexts
    from ...data.pool_readers import load_pool

    if teacher.loss != "softmax":
        return None
    kind, pivot = options.batches, teacher.language
    answered_in = (pivot,) if kind in IN_ONE else tuple(languages)
    asking = question_languages(kind, pivot, languages)
    if options.unit == "sentence":
        pool = load_pool(data.dataset, answered_in, EVERY).select(dataset.splits["train"])
        return make_sentence_pairs(dataset, pool, asking, options.context)
    contexts = read_contexts(dataset, data.dataset, answered_in)
    _require_passages_in(kind, pivot, dataset, languages, tuple(dict.fromkeys([*contexts, *dataset.passage_languages])))
    return make_gold_pairs(dataset, contexts, asking)


def _require_passages_in(kind, pivot, dataset, languages, spoken):
    """Raise `ConfigError` if batches need passages in languages that the data does not have."""
    there = ", ".join(spoken)
    if kind not in IN_ONE and len(spoken) == 1:
        raise ConfigError(
            f"pairs.batches: {kind} takes passages in several languages, of {', '.join(languages)} {dataset.name} has "
            f"them in {there}; take {' or '.join(IN_ONE)}, or a folder of {{lang}}.json with passages each"
        )
    if kind in IN_ONE and pivot not in spoken:
        raise ConfigError(
            f"pairs.batches: {kind} takes passages in {pivot}, the teacher's language; {dataset.name} has {there}"
        )


def require_lines(share: float, pivot: str, sources: Sequence[Parallel]) -> None:
    """Require parallel text in languages other than the teacher's if batches have a share of it."""
    if share and all(language == pivot for one in sources for language in one.languages):
        raise ConfigError(f"pairs.parallel_share: the parallel text has lines in {pivot} alone, which ask for nothing")


def collect_answering_passages(
    stages: int, source: str, dataset: Dataset, languages: Sequence[str], pairs: Pairs | None
) -> AnsweringPassages | None:
    """Find the passages that answer questions, for self-training from pairs; None without."""
    if pairs is None or not stages:
        return None
    from ...training.stages.answering_passages import find_answering_passages

    return find_answering_passages(dataset, source, languages, pairs)


LEVEL = 0.05
CHOOSE = "look whether that is the encoder you mean, in a language that it knows, and whether teacher.centre helps"


def require_gain(run: Run) -> None:
    """Require that a fixed teacher is no worse than the base on dev.

    The comparison uses P@1, then MRR@10, of the teacher's unit, as a mean over the languages that it asks in. A teacher
    that the run trained is not compared: its base was a candidate, and dev kept the better one. With
    `teacher.allow_weak`, a weak teacher gives a warning only.
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

    The start of a student in a foreign space, the base with a map into the teacher's, is measured too.
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
    """Measure how close encoders, each in the teacher's space or not, are to it: `{name: {language: figures}}`.

    The pairs are those of `closeness.pair_texts`.
    """
    figures: dict[str, dict[str, Json]] = {name: {} for name in encoders}
    count = sum(map(len, pairs.values()))
    with task("closeness to the teacher", count * (1 + len(encoders))) as advance:
        for language, of in pairs.items():
            texts, labels = (list(column) for column in zip(*of, strict=True))
            by_teacher = teacher.encode(labels, "question", advance)
            for name, (encoder, same) in encoders.items():
                vectors = encoder.encode(texts, "question", advance)
                same_space = same and vectors.shape == by_teacher.shape
                figures[name][language] = asdict(measure_closeness(vectors, by_teacher, same_space))
    return figures


def _teacher_languages(run):
    return question_languages(run.inputs.pairing.batches, run.inputs.teacher.language, run.languages)


def _format_scores(scores):
    return ", ".join(f"{name.upper()} {score:.3f}" for name, score in zip(SCORES, scores, strict=True))
