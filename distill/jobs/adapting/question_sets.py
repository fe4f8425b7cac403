"""Data sets with questions as pooled features, which are scored without encoding after each change of the head."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from ...data.contexts import PARALLEL
from ...data.dataset import Dataset
from ...data.loading import read_dataset
from ...data.parallel import Parallel, read_parallel
from ...data.readers import SAMPLE, SHIPPED
from ...retrieval.metrics import mrr_at, precision_at
from ...retrieval.units import ranks_of
from ...system.progress import task
from ...system.types import Integers
from .pooled_features import FeaturePooler, PooledFeatures, PooledPassages
from .training import Head

UNIT = "document-sum"


@dataclass(frozen=True)
class QuestionSet:
    """A data set's passages and its questions of some splits by language, with the rows `gold` of their passages."""

    dataset: Dataset
    passages: PooledPassages
    questions: dict[str, PooledFeatures]
    gold: dict[str, Integers]

    @classmethod
    def of(
        cls, summing: FeaturePooler, dataset: Dataset, splits: Sequence[str], known: PooledPassages | None = None
    ) -> QuestionSet:
        """Encode a data set's questions and passages. `summing` is the encoder up to its sums."""
        chosen = {
            language: [question for split in splits for question in dataset.select(language, split)]
            for language in dataset.languages
        }
        with task(f"encode {dataset.name}", len(dataset.sentences.texts)) as advance:
            passages = known or PooledPassages.of(summing, dataset, advance)
        sums = {language: summing.sums([question.text for question in of]) for language, of in chosen.items()}
        gold = {language: np.array([question.passage for question in of]) for language, of in chosen.items()}
        return cls(dataset, passages, sums, gold)

    def ranks(self, head: Head) -> dict[str, Integers]:
        """Return the rank of each question's document, int `(q,)`, by language."""
        vectors = {"passage": head.vectors(self.passages.passages), "sentence": head.vectors(self.passages.sentences)}
        whole_of = {"passage": self.dataset.document_of, "sentence": self.passages.passage_of}
        first_of = self.dataset.first_of
        return {
            language: ranks_of(UNIT, head.vectors(questions), vectors, self.gold[language], whole_of, first_of)
            for language, questions in self.questions.items()
        }

    def score(self, head: Head) -> tuple[float, float]:
        """Return (MRR@10, P@1), means over the languages."""
        ranks = list(self.ranks(head).values())
        return float(np.mean([mrr_at(one, 10) for one in ranks])), float(
            np.mean([precision_at(one, 1) for one in ranks])
        )


@dataclass(frozen=True)
class OtherText:
    """Text that ships with the package: the sample's questions, and its lines with their translations."""

    questions: QuestionSet
    lines: PooledFeatures
    pivots: PooledFeatures
    source: Parallel

    @classmethod
    def of(cls, summing: FeaturePooler) -> OtherText:
        sample = read_dataset(SHIPPED)
        [source] = read_parallel([SAMPLE / PARALLEL], sample.document_language)
        questions = QuestionSet.of(summing, sample, tuple(sample.splits))
        return cls(questions, summing.sums(source.texts), summing.sums(sorted(set(source.pivots))), source)

    def scores(self, head: Head) -> dict[str, float]:
        """Return P@1 in per cent of the questions, and of lines for their translations, as means over languages."""
        nearest = (head.vectors(self.lines) @ head.vectors(self.pivots).T).argmax(axis=1)
        pivots = np.array(sorted(set(self.source.pivots)))
        hits, languages = pivots[nearest] == np.array(self.source.pivots), np.array(self.source.languages)
        others = sorted({*self.source.languages} - {self.questions.dataset.document_language})
        return {
            "questions": 100 * self.questions.score(head)[1],
            "translations": 100 * float(np.mean([hits[languages == language].mean() for language in others])),
        }
