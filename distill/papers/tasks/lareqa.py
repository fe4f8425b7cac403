"""The task lareqa: answers of many languages in one pool, and language bias (Roy et al., 2020)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

import numpy as np

from ...data.pool import Pool
from ...data.pool_readers import load_pool
from ...encoders.encoder import Encoder
from ...encoders.removal_fitting import DEFAULT_REMOVAL, RANKS, RemovalOptions, Samples, require_samples
from ...evaluation.tasks.task import Scores, Task, TaskOptions
from ...evaluation.translation import TranslationCounts, TranslationSource, translate_pool
from ...report.bias_tables import Section, make_lareqa_section
from ...system.hashes import hash_files
from ...system.types import Json, Progress
from ..bias.analyses import (
    BiasFigures,
    PoolVectors,
    analyse,
    as_metrics_section,
    draw_samples,
    encode_with_samples,
    pool_size,
    removed_precisions,
)
from ..bias.tables import print_lareqa

# The part of outcomes whose candidates are those of the question's language.
OWN_POOL = "own pool"


@dataclass(frozen=True)
class LareqaTask(Task[PoolVectors, BiasFigures]):
    """Sentences of many languages in one pool, whose own fit language information removal where `samples` are None."""

    pool: Pool
    split: str
    source: str = ""
    samples: Samples | None = None
    pivot: str = "en"
    seed: int = 0
    removed: RemovalOptions = DEFAULT_REMOVAL
    name = "lareqa"
    judged_by = "map"
    takes = ("corpus", "split", "lir_ranks", "lir_rescaled", "translations", "translators", "report")
    needs = ("sklearn",)

    @classmethod
    def load(cls, source: str, options: TaskOptions) -> LareqaTask:
        """Load a pool. Raises `InputError` if the data cannot be used, or a language of the pool has no sample."""
        data, seed = options.data, options.seed
        pool = load_pool(source, data.languages, options.split, data.document_language, data.split_by, seed)
        if options.samples:
            require_samples(options.samples, pool.languages)
        samples = draw_samples(options.samples, pool, seed)
        removed = options.removed if options.removed.ranks else replace(options.removed, ranks=RANKS)
        return cls(pool, options.split, source, samples, data.document_language, seed, removed)

    @property
    def size(self) -> int:
        return pool_size(self.pool, self.samples)

    @property
    def tests(self) -> int:
        return len(self.pool.languages)

    def measure(self, encoder: Encoder, progress: Progress | None = None) -> PoolVectors:
        """Encode the pool; it is ranked when its scores or figures are computed.

        Raises `EncoderError` if vectors hold NaN or infinity.
        """
        return encode_with_samples(encoder, self.pool, self.samples, progress)

    def scores(self, result: PoolVectors, metric: str) -> Scores:
        """Return the score of each question, by question language: `{task: {language: (ids, scores)}}`."""
        return {self.name: self._split(result.ranking.scores(metric))}

    def _split(self, values):
        ids = np.array(self.pool.ids)
        rows = {language: self.pool.asked_in == number for number, language in enumerate(self.pool.languages)}
        return {language: (ids[of].tolist(), values[of]) for language, of in rows.items()}

    def outcomes(self, result: PoolVectors) -> dict[str, Scores]:
        """Return average precision: over the pool, in that of the question's language, and with directions removed."""
        parts = {OWN_POOL: result.ranking.monolingual_precisions(), **removed_precisions(result, self.removed)}
        return {"map": {**self.scores(result, "map"), **{part: self._split(of) for part, of in parts.items()}}}

    def figures(self, result: PoolVectors, encoder: str) -> BiasFigures:
        """Return all analyses of LAReQA and of language information removal."""
        return analyse(result, self.pivot, encoder, self.seed, self.removed)

    def as_dict(self, encoders: Mapping[str, BiasFigures]) -> dict[str, Json]:
        rows = {name: figures.as_dict() for name, figures in encoders.items()}
        counts: dict[str, Json] = {"sentences": dict(self.samples.counts)} if self.samples else {}
        return {**as_metrics_section(self.pool, self.split, rows), **counts, "files": hash_files(self.source)}

    def print(self, encoders: Mapping[str, BiasFigures]) -> None:
        """Print mAP by language, bias, language information removal and the use of languages."""
        print_lareqa(self.pool, self.split, encoders)

    def section(self, part: Mapping[str, Json]) -> Section:
        """Return the section of the page, which a run's page has too."""
        return make_lareqa_section(part)

    def with_translations(self, translation: TranslationSource, pivot: str) -> tuple[LareqaTask, TranslationCounts]:
        """Return the task with translated questions, and counts of what was translated.

        Raises `InputError` if no question is in another language and `DataError` if no question has a translation.
        """
        pool, done = translate_pool(self.pool, translation, pivot)
        return replace(self, pool=pool), done


TASK = LareqaTask
