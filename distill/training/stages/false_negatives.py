"""Find and count false negatives: passages in a batch that answer a question although they belong to another."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

import numpy as np

from ...data.dataset import normalise
from ...data.pairs import Pairs
from ...system.types import Booleans, Floats, Integers


class FalseNegatives:
    """Filters passages of a batch that are no negatives of its questions. Sentri, section 3.2.

    Args:
        kinds: The kinds to filter. "passage" is another positive of the question, in any language, or a sentence of
            one;
        "answer" is the positive of a question with the same answer string, by `dataset.normalise`; "parallel" is the
            positive of the same question in another language.
        margin: If above 0, a passage whose score exceeds the positive's by more than this is filtered too.
        by_scorer: Such a margin for the scores of another encoder.
    """

    def __init__(self, pairs: Pairs, kinds: Sequence[str], margin: float = 0.0, by_scorer: float = 0.0):
        self.pairs, self.kinds, self.margin, self.by_scorer = pairs, kinds, margin, by_scorer
        self.counts: dict[str, Counter[str]] = {}
        ids = {question.id for question in pairs.questions}
        self.number = {id: number for number, id in enumerate(sorted(ids))}
        self.answers = [frozenset(map(normalise, question.answers)) for question in pairs.questions]
        self.positives = [frozenset(pairs.wholes[rows].tolist()) for rows in pairs.positives]

    def mask(
        self,
        questions: Integers,
        passages: Integers,
        negatives: Integers,
        scores: Floats | None = None,
        scorer: Floats | None = None,
    ) -> Booleans:
        """Find the columns that are no negatives of a row, and add them to `counts`.

        Args:
            questions: The rows of the pairs' questions, int `(b,)`.
            passages: The rows of their passages, int `(b,)`.
            negatives: The rows of mined passages, int `(m,)`; -1 is filling, which is never a negative.
            scores: The cosines `(b, b + m)` for the margin.
            scorer: The scores of the other encoder `(b, b + m)` for its margin.

        Returns:
            bool `(b, b + m)`, true for a column that is no negative of the row. A row's own column is not counted.
        """
        columns = np.concatenate([passages, negatives])
        filling, diagonal = columns < 0, np.eye(len(questions), len(columns), dtype=bool)
        closed = np.broadcast_to(filling, diagonal.shape) | diagonal
        for kind in self.kinds:
            closed = self._add(kind, closed, getattr(self, f"_{kind}")(questions, columns), questions)
        for kind, margin, of in (("margin", self.margin, scores), ("scorer", self.by_scorer, scorer)):
            if margin and of is not None:
                closed = self._add(kind, closed, of > np.diagonal(of)[:, None] + margin, questions)
        return closed & ~diagonal

    def take_counts(self) -> dict[str, dict[str, int]]:
        """Return how many were filtered since the last call, by kind and language."""
        counts, self.counts = {kind: dict(sorted(count.items())) for kind, count in self.counts.items()}, {}
        return counts

    def _add(self, kind, closed, more, questions):
        new = more & ~closed
        count = self.counts.setdefault(kind, Counter())
        for language, many in zip(self.pairs.asked_in[questions], new.sum(axis=1), strict=True):
            count[str(language)] += int(many)
        return closed | more

    def _passage(self, questions, columns):
        content = self.pairs.wholes[columns]
        return np.array([[of in self.positives[row] for of in content] for row in questions])

    def _answer(self, questions, columns):
        same = [[bool(self.answers[row] & self.answers[other]) for other in questions] for row in questions]
        return _wide(same, len(columns))

    def _parallel(self, questions, columns):
        ids = np.array([self.number[self.pairs.questions[row].id] for row in questions])
        return _wide(ids[:, None] == ids[None], len(columns))


def _wide(square, columns):
    """Widen a bool array `(b, b)` to `(b, columns)` with false."""
    square = np.asarray(square, dtype=bool)
    return np.pad(square, ((0, 0), (0, columns - len(square))))
