"""Passages in a batch that answer a question though they are another's: false negatives, found and counted."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

import numpy as np

from ..data.dataset import normalise
from ..data.pairs import Pairs
from ..system.types import Booleans, Floats, Integers


class FalseNegatives:
    """The filter of a batch's passages that are no negatives of its questions. Sentri, section 3.2.

    `kinds`: "passage", one of the question's own positives, in whatever language, or a sentence of it; "answer", the
    positive of a question with the same answer string, by `dataset.normalise`; "parallel", the positive of the same
    question in another language. `margin`, above 0, adds what is nearer to the question than its positive by more;
    `by_scorer` is such a margin for the scores of another encoder.
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
        """bool `(b, b + m)`: true where the column is no negative of the row; a row's own column is not counted.

        `questions`, `passages` int `(b,)`, rows of the pairs, and `negatives` int `(m,)`, rows of passages, -1 for
        filling, which is nobody's negative. `scores` float `(b, b + m)`, cosines, for the margin, and those of the
        `scorer` for its own. Adds to `counts`.
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

    def taken(self) -> dict[str, dict[str, int]]:
        """`{kind: {language: how many}}` since it was last asked."""
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
    """bool `(b, b)` -> `(b, columns)`, false in what is beyond."""
    square = np.asarray(square, dtype=bool)
    return np.pad(square, ((0, 0), (0, columns - len(square))))
