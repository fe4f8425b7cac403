"""Stage 1 of a run: triplets in one language, or pairs in many with `--loss softmax`."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from ...data.dataset import Dataset
from ...data.pairs import Pairs, make_gold_pairs, make_sentence_pairs
from ...data.parallel import Parallel
from ...errors import ConfigError
from ...settings.sections import DataSettings, PairSettings, TeacherSettings
from .inputs import Inputs

if TYPE_CHECKING:
    from ...training.stages.answering_passages import AnsweringPassages
    from ...training.stages.teacher_job import TeacherJob

# Batches that need passages in the teacher's language alone.
IN_ONE = ("en-en", "x-en")


def teacher_job(inputs: Inputs) -> TeacherJob:
    """Return the job that trains the teacher of these inputs."""
    from ...training.stages.pair_stage import PairOptions
    from ...training.stages.teacher_job import TeacherJob

    teacher, pairing, temperature = inputs.teacher, inputs.pairing, inputs.student.parallel_temperature
    return TeacherJob(
        # Pairs have their own questions, and name the passages that the data set's answer.
        dataset=inputs.teacher_questions if inputs.pairs is None else inputs.dataset,
        options=PairOptions(teacher, pairing, temperature, inputs.seed),
        languages=question_languages(pairing.batches, teacher.language, inputs.languages),
        triplets=inputs.triplets,
        sources=inputs.sources,
        pairs=inputs.pairs,
    )


def question_languages(batches: str, language: str, languages: Sequence[str]) -> tuple[str, ...]:
    """Return the languages of stage 1's questions.

    Args:
        batches: The kind of batches. With "en-en", only the teacher's language asks.
    """
    return (language,) if batches == "en-en" else tuple(languages)


def collect_pairs(
    data: DataSettings,
    teacher: TeacherSettings,
    options: PairSettings,
    seed: int,
    dataset: Dataset,
    languages: Sequence[str],
) -> Pairs | None:
    """Collect the pairs that stage 1 learns from with `--loss softmax`.

    Batches that answer in one language leave out the passages in others.

    Returns:
        The pairs, or None with any other loss.

    Raises:
        ConfigError: If batches take passages in languages in which the data has none.
        DataError: If the contexts, or the pool of sentences, cannot be read.
    """
    from ...data.contexts import read_contexts
    from ...data.pool_readers import load_pool

    if teacher.loss != "softmax":
        return None
    kind, pivot = options.batches, teacher.language
    answered_in = (pivot,) if kind in IN_ONE else tuple(languages)
    asking = question_languages(kind, pivot, languages)
    if options.unit == "sentence":
        pool = load_pool(data.dataset, answered_in, "train", data.document_language, data.split_by, seed)
        return make_sentence_pairs(dataset, pool, asking)
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
    """Require parallel text in languages other than the teacher's if batches have a share of it.

    Args:
        share: The share of parallel text in a batch, from 0 to 1.

    Raises:
        ConfigError: If all of the text is in the teacher's language.
    """
    if share and all(language == pivot for one in sources for language in one.languages):
        raise ConfigError(f"pairs.parallel_share: the parallel text has lines in {pivot} alone, which ask for nothing")


def collect_answering_passages(
    stages: int, source: str, dataset: Dataset, languages: Sequence[str], pairs: Pairs | None
) -> AnsweringPassages | None:
    """Find the passages that answer questions, for self-training.

    Args:
        pairs: The pairs of stage 1.

    Returns:
        The passages, or None without self-training or pairs.

    Raises:
        DataError: If no passage holds an answer.
    """
    if pairs is None or not stages:
        return None
    from ...training.stages.answering_passages import find_answering_passages

    return find_answering_passages(dataset, source, languages, pairs)
