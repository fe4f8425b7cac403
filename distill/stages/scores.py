"""Scores of another encoder as labels: its vectors of what a stage learns from, each made once."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from ..settings.sections import ScorerSettings
from ..system.types import Booleans, Floats, Integers
from ..training.session import Scorer


@dataclass(frozen=True)
class Scored:
    """A scorer's vectors `(n, d)` of texts that are asked and of texts that answer, of which scores are products.

    `lines` `(m, d)` are those of stage 2's lines of text, of which there may be none.
    """

    settings: ScorerSettings
    questions: Floats
    passages: Floats
    lines: Floats

    @classmethod
    def of(cls, scorer: Scorer, questions: Sequence[str], passages: Sequence[str], lines: Sequence[str] = ()) -> Scored:
        """Ask the scorer for the texts."""
        vectors = scorer.vectors(questions, "question"), scorer.vectors(passages, "document")
        return cls(scorer.settings, *vectors, scorer.vectors(lines, "question") if len(lines) else vectors[0][:0])

    def scores(self, questions: Integers, passages: Integers) -> Floats:
        """The scores of rows of questions and of passages: of all pairs `(q, p)`, or with `passages` `(q, n)` of these.

        A row below 0 is filling; its scores say nothing.
        """
        if passages.ndim == 1:
            return self.questions[questions] @ self.passages[passages].T
        return np.einsum("qd,qnd->qn", self.questions[questions], self.passages[passages])

    def of_lines(self, rows: Integers) -> Floats:
        """The scores of each of these lines, rows of `lines`, beside the others of a step, `(m, m)`."""
        return self.lines[rows] @ self.lines[rows].T

    def false_negatives(self, questions: Integers, positives: Integers, negatives: Integers) -> Booleans:
        """bool `(q, n)`: true where a negative's score is above the positive's by more than the filter's margin.

        `positives` `(q,)` and `negatives` `(q, n)` are rows of passages. All false without a margin. Qu et al. (2021),
        RocketQA, section 3.3, with a bi-encoder for the one that judges.
        """
        margin = self.settings.filter_margin
        if not margin:
            return np.zeros(negatives.shape, dtype=bool)
        near = self.scores(questions, positives[:, None])
        return (negatives >= 0) & (self.scores(questions, negatives) > near + margin)
