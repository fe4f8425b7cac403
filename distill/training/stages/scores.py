"""Scores of another encoder as labels: its vectors of the texts that a stage learns from, each computed once."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from ...settings.sections import ScorerSettings
from ...system.types import Booleans, Floats, Integers
from ..session import Scorer


@dataclass(frozen=True)
class ScorerVectors:
    """A scorer's vectors `(n, d)` of questions and of passages. Scores are their products.

    `lines` `(m, d)` are the vectors of stage 2's lines of text, of which there may be none.
    """

    settings: ScorerSettings
    questions: Floats
    passages: Floats
    lines: Floats

    @classmethod
    def of(
        cls, scorer: Scorer, questions: Sequence[str], passages: Sequence[str], lines: Sequence[str] = ()
    ) -> ScorerVectors:
        """Encode the texts by the scorer."""
        vectors = scorer.vectors(questions, "question"), scorer.vectors(passages, "document")
        return cls(scorer.settings, *vectors, scorer.vectors(lines, "question") if len(lines) else vectors[0][:0])

    def scores(self, questions: Integers, passages: Integers) -> Floats:
        """Return the scores of questions and passages.

        Args:
            questions: The rows of the questions, int `(q,)`.
            passages: The rows of the passages, `(p,)` for all pairs, or `(q, n)`. A row below 0 is filling, whose
                scores are
                arbitrary.

        Returns:
            The scores `(q, p)` or `(q, n)`.
        """
        if passages.ndim == 1:
            return self.questions[questions] @ self.passages[passages].T
        return np.einsum("qd,qnd->qn", self.questions[questions], self.passages[passages])

    def of_lines(self, rows: Integers) -> Floats:
        """Return the scores `(m, m)` of the lines of a step with each other, given their rows."""
        return self.lines[rows] @ self.lines[rows].T

    def false_negatives(self, questions: Integers, positives: Integers, negatives: Integers) -> Booleans:
        """Find negatives whose score is above the positive's by more than the filter's margin.

        Qu et al. (2021), RocketQA, section 3.3, with a bi-encoder as the judge.

        Args:
            questions: The rows of the questions, int `(q,)`.
            positives: The rows of the positives, int `(q,)`.
            negatives: The rows of the negatives, int `(q, n)`.

        Returns:
            bool `(q, n)`, all false without a margin.
        """
        margin = self.settings.filter_margin
        if not margin:
            return np.zeros(negatives.shape, dtype=bool)
        near = self.scores(questions, positives[:, None])
        return (negatives >= 0) & (self.scores(questions, negatives) > near + margin)
