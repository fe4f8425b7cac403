"""Stage 1 of a run: triplets in one language, or pairs in many with `--loss softmax`."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from ..data.dataset import Dataset
from ..data.pairs import Pairs, gold_pairs, sentence_pairs
from ..data.parallel import Parallel
from ..errors import ConfigError
from ..settings.sections import DataSettings, PairSettings, TeacherSettings
from .inputs import Inputs

if TYPE_CHECKING:
    from ..stages.answering_passages import Answered
    from ..stages.teacher_job import TeacherJob

# Batches that need passages in the teacher's language alone.
IN_ONE = ("en-en", "x-en")


def teacher_job(inputs: Inputs) -> TeacherJob:
    """The job of these inputs: all that the teacher learns."""
    from ..stages.pair_stage import PairOptions
    from ..stages.teacher_job import TeacherJob

    teacher, pairing, temperature = inputs.teacher, inputs.pairing, inputs.student.parallel_temperature
    # Triplets ask in all languages of the run, or pick those of the teacher's out of the data set.
    in_all = inputs.pairs is None and teacher.questions == "all"
    return TeacherJob(
        dataset=inputs.taught if in_all else inputs.dataset,
        options=PairOptions(teacher, pairing, temperature, inputs.seed),
        languages=asked_in(pairing.batches, teacher.language, inputs.languages),
        triplets=inputs.triplets,
        sources=inputs.sources,
        pairs=inputs.pairs,
    )


def asked_in(batches: str, language: str, languages: Sequence[str]) -> tuple[str, ...]:
    """The languages of stage 1's questions: the teacher's `language` alone with `en-en`, else all."""
    return (language,) if batches == "en-en" else tuple(languages)


def pairs_of(
    data: DataSettings,
    teacher: TeacherSettings,
    options: PairSettings,
    seed: int,
    dataset: Dataset,
    languages: Sequence[str],
) -> Pairs | None:
    """The `Pairs` of the data set that stage 1 learns from with `--loss softmax`, else None.

    Of batches that answer in one language they have no passages in others. Raises what `read_contexts` and, for
    sentences, `load_pool` do, and
    `ConfigError` for batches of passages in languages that the data has none in.
    """
    from ..data.contexts import read_contexts
    from ..data.pool_readers import load_pool

    if teacher.loss != "softmax":
        return None
    kind, pivot = options.batches, teacher.language
    answered_in = (pivot,) if kind in IN_ONE else tuple(languages)
    asking = asked_in(kind, pivot, languages)
    if options.unit == "sentence":
        pool = load_pool(data.dataset, answered_in, "train", data.document_language, data.split_by, seed)
        return sentence_pairs(dataset, pool, asking)
    contexts = read_contexts(dataset, data.dataset, answered_in)
    _require_spoken(kind, pivot, dataset, languages, tuple(dict.fromkeys([*contexts, *dataset.passage_languages])))
    return gold_pairs(dataset, contexts, asking)


def _require_spoken(kind, pivot, dataset, languages, spoken):
    """Raise `ConfigError` for batches of passages in languages other than those that are `spoken`."""
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
    """Raise `ConfigError` where batches have a share of parallel text, and all of it is in the teacher's language."""
    if share and all(language == pivot for one in sources for language in one.languages):
        raise ConfigError(f"pairs.parallel_share: the parallel text has lines in {pivot} alone, which ask for nothing")


def answered_of(
    stages: int, source: str, dataset: Dataset, languages: Sequence[str], pairs: Pairs | None
) -> Answered | None:
    """With self-training, in so many `stages`, the passages of the pairs that answer questions, else None.

    `source` names the data set. Raises `DataError`.
    """
    if pairs is None or not stages:
        return None
    from ..stages.answering_passages import answered_in

    return answered_in(dataset, source, languages, pairs)
