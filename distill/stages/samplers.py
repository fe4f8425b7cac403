"""The pairs that come together in a batch: in what languages questions are asked and passages answer."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial

import numpy as np
from numpy.typing import NDArray

from ..data.pairs import Pairs
from ..errors import ConfigError
from ..system.draws import cycled, drawn, occurrence
from ..system.types import Integers


class Sampler:
    """Batches of (question, passage that answers it), rows of `Pairs`, of the languages that `kind` allows.

    `pivot` is the teacher's language, "en" in the names:

    - `en-en`: questions and passages in the pivot;
    - `x-en`: questions in any language, passages in the pivot;
    - `x-x`: passages in the question's language, batches of all languages;
    - `x-x-mono`: the same pairs, but each batch in one language;
    - `x-y`: questions in any language, passages in any, drawn independently.

    Roy et al. (2020), section 4 and Figure 3; `x-en` is how Sentri asks English passages. A question comes again only
    when all have come; each time its passage is drawn anew among those allowed. Questions from `lines.first` on are
    parallel text, of which a batch has the share that `lines` says. Those of other collections, `pairs.more`, are asked
    among the others, with `x-x-mono` in batches of their own. Raises `ConfigError` where no pair is.
    """

    def __init__(self, pairs: Pairs, kind: str, pivot: str, size: int, seed: int, lines: Lines | None = None):
        self.seed, self.lines = seed, lines
        self.translated = round(size * lines.share) if lines else 0
        size -= self.translated
        many, self.more = lines.first if lines else len(pairs.questions), pairs.more
        self.allowed = [allowed(pairs, row, kind, pivot) for row in range(many)]
        first = self.more.first if self.more else many
        self.rows = np.flatnonzero([len(passages) > 0 for passages in self.allowed[:first]])
        if not len(self.rows):
            spoken = ", ".join(dict.fromkeys(pairs.languages.tolist()))
            raise ConfigError(f"pairs.batches: {kind} finds no pair; the data has passages in {spoken}")
        self.size = min(size, len(self.rows))
        self.total = self.size + self.translated
        self.groups = np.unique(pairs.asked_in[self.rows], return_inverse=True)[1] if kind == "x-x-mono" else None

    def batches(self, many: int, epoch: int) -> list[tuple[Integers, Integers]]:
        """`[(questions (b,), passages (b,))]` of an epoch, from 1, of `many` pairs, whole batches alone; 0 for all.

        Lines of parallel text come beside these.
        """
        rng = np.random.default_rng((self.seed, 3, epoch))
        chosen = self._chosen(many or len(self.rows), epoch)
        batches = [(rows, np.array([rng.choice(self.allowed[row]) for row in rows])) for rows in chosen]
        if not self.lines or not self.translated:
            return batches
        more = self.lines.drawn(len(batches), self.translated, epoch, self.seed)
        return [
            (np.concatenate([questions, lines]), np.concatenate([passages, translations]))
            for (questions, passages), (lines, translations) in zip(batches, more, strict=True)
        ]

    def _chosen(self, many, epoch):
        """Rows of the questions of each batch, `many` of the data set's and those of other collections."""
        steps, more = max(1, many // self.size), self._more(epoch)
        if self.groups is not None:
            return self._shuffled([*self._alone(steps, epoch), *_cut(more, self.size)], epoch)
        if not self.more:
            return self._mixed(steps, epoch)
        rows = self.rows[cycled(len(self.rows), many, (epoch - 1) * many, self.seed)]
        order = np.random.default_rng((self.seed, 6, epoch)).permutation(len(rows) + len(more))
        return _cut(np.concatenate([rows, more])[order], self.size)

    def _more(self, epoch):
        """Rows of the epoch's questions of other collections, in a seeded order."""
        if not self.more:
            return np.zeros(0, dtype=np.int64)
        return np.random.default_rng((self.seed, 8, epoch)).permutation(self.more.first + self.more.rows_of(epoch))

    def _shuffled(self, batches, epoch):
        """The batches in a seeded order; as they are where there are no other collections."""
        if not self.more:
            return batches
        order = np.random.default_rng((self.seed, 9, epoch)).permutation(len(batches))
        return [batches[place] for place in order]

    def _mixed(self, steps, epoch):
        first = (epoch - 1) * steps * self.size
        return self.rows[cycled(len(self.rows), steps * self.size, first, self.seed)].reshape(steps, self.size)

    def _alone(self, steps, epoch):
        """A batch's language comes as often as it has batches; within a language as in `_mixed`."""
        members = [np.flatnonzero(self.groups == group) for group in range(self.groups.max() + 1)]  # type: ignore[union-attr]
        turns = np.repeat(np.arange(len(members)), [-(-len(rows) // self.size) for rows in members])
        of = partial(cycled, len(turns), seed=self.seed)
        picked = turns[of(epoch * steps, 0)]
        batches = []
        for group, number in list(zip(picked, occurrence(picked), strict=True))[(epoch - 1) * steps :]:
            size = min(self.size, len(members[group]))
            places = cycled(len(members[group]), size, number * size, (self.seed, int(group)))
            batches.append(self.rows[members[group][places]])
        return batches


def _cut(rows, size):
    """Whole batches of rows; what is left over is left out."""
    return list(rows[: len(rows) // size * size].reshape(-1, size))


@dataclass(frozen=True)
class Lines:
    """Parallel text among the questions of `Pairs`: those from `first` on, `passages` `(n,)` their translations.

    In `groups`, int `(n,)`, that are drawn by `chances`; `share` of a batch.
    """

    first: int
    passages: Integers
    groups: Integers
    chances: NDArray[np.float64]
    share: float

    def drawn(self, steps: int, size: int, epoch: int, seed: int) -> list[tuple[Integers, Integers]]:
        """`[(questions (size,), passages (size,))]` of each step."""
        rows = drawn(self.groups, self.chances, steps * size, (epoch - 1) * steps * size, seed)
        return [(self.first + part, self.passages[part]) for part in rows.reshape(steps, size)]


def allowed(pairs: Pairs, row: int, kind: str, pivot: str) -> Integers:
    """Rows of the passages that question `row` may be paired with, `(k,)`."""
    language, passages = pairs.asked_in[row], pairs.positives[row]
    answered = pairs.languages[passages]
    if kind == "en-en" and language != pivot:
        return passages[:0]
    if kind in ("en-en", "x-en"):
        return passages[answered == pivot]
    return passages if kind == "x-y" else passages[answered == language]
