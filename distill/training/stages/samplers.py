"""Draw the pairs of a batch: the languages in which questions are asked and passages answer."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial

import numpy as np
from numpy.typing import NDArray

from ...data.pairs import Pairs
from ...encoders.batching import count_before, draw_cycled, draw_rows
from ...errors import ConfigError
from ...system.types import Integers


class Sampler:
    """Draws batches of pairs (question, passage that answers it) of the languages that `kind` allows.

    The kinds, with "en" for the teacher's language, are those of Roy et al. (2020), section 4 and Figure 3, and `x-en`,
    in which Sentri asks English passages:

    - `en-en`: questions and passages in the teacher's language;
    - `x-en`: questions in any language, passages in the teacher's;
    - `x-x`: passages in the question's language, batches of all languages;
    - `x-x-mono`: the same pairs, but each batch in one language;
    - `x-y`: questions in any language, passages in any, drawn independently.

    A question comes again only after all others; each time its passage is drawn anew among those allowed. `pairs` are
    the pairs. Questions of other collections, `pairs.more`, are mixed in; with `x-x-mono` they have batches of their
    own. Raises `ConfigError` if no pair is of that kind.
    """

    def __init__(self, pairs: Pairs, kind: str, pivot: str, size: int, seed: int, lines: ParallelLines | None = None):
        self.seed, self.lines = seed, lines
        self.translated = round(size * lines.share) if lines else 0
        size -= self.translated
        count, self.more = lines.first if lines else len(pairs.questions), pairs.more
        self.allowed = [allowed_passages(pairs, row, kind, pivot) for row in range(count)]
        first = self.more.first if self.more else count
        self.rows = np.flatnonzero([len(passages) > 0 for passages in self.allowed[:first]])
        if not len(self.rows):
            spoken = ", ".join(dict.fromkeys(pairs.languages.tolist()))
            raise ConfigError(f"pairs.batches: {kind} finds no pair; the data has passages in {spoken}")
        self.size = min(size, len(self.rows))
        self.total = self.size + self.translated
        self.groups = np.unique(pairs.asked_in[self.rows], return_inverse=True)[1] if kind == "x-x-mono" else None

    def batches(self, count: int, epoch: int) -> list[tuple[Integers, Integers]]:
        """Draw the batches of an epoch; only whole ones are returned. Lines of parallel text come in addition.

        `count` is the number of pairs, 0 for all. `epoch` is the epoch, from 1. Returns the rows of questions `(b,)`
        and of passages `(b,)` of each batch.
        """
        rng = np.random.default_rng((self.seed, 3, epoch))
        chosen = self._choose_questions(count or len(self.rows), epoch)
        batches = [(rows, np.array([rng.choice(self.allowed[row]) for row in rows])) for rows in chosen]
        if not self.lines or not self.translated:
            return batches
        more = self.lines.draw(len(batches), self.translated, epoch, self.seed)
        return [
            (np.concatenate([questions, lines]), np.concatenate([passages, translations]))
            for (questions, passages), (lines, translations) in zip(batches, more, strict=True)
        ]

    def _choose_questions(self, count, epoch):
        """Draw the rows of each batch's questions: `count` of the data set's, and those of other collections."""
        steps, more = max(1, count // self.size), self._more(epoch)
        if self.groups is not None:
            return self._shuffle([*self._alone(steps, epoch), *_cut_batches(more, self.size)], epoch)
        if not self.more:
            return self._mix(steps, epoch)
        rows = self.rows[draw_cycled(len(self.rows), count, (epoch - 1) * count, self.seed)]
        order = np.random.default_rng((self.seed, 6, epoch)).permutation(len(rows) + len(more))
        return _cut_batches(np.concatenate([rows, more])[order], self.size)

    def _more(self, epoch):
        """Return the epoch's questions of other collections in a seeded order."""
        if not self.more:
            return np.zeros(0, dtype=np.int64)
        return np.random.default_rng((self.seed, 8, epoch)).permutation(self.more.first + self.more.rows_of(epoch))

    def _shuffle(self, batches, epoch):
        """Shuffle the batches if there are other collections."""
        if not self.more:
            return batches
        order = np.random.default_rng((self.seed, 9, epoch)).permutation(len(batches))
        return [batches[place] for place in order]

    def _mix(self, steps, epoch):
        first = (epoch - 1) * steps * self.size
        return self.rows[draw_cycled(len(self.rows), steps * self.size, first, self.seed)].reshape(steps, self.size)

    def _alone(self, steps, epoch):
        """Draw batches of one language each, each language as often as it fills batches."""
        members = [np.flatnonzero(self.groups == group) for group in range(self.groups.max() + 1)]  # type: ignore[union-attr]
        turns = np.repeat(np.arange(len(members)), [-(-len(rows) // self.size) for rows in members])
        of = partial(draw_cycled, len(turns), seed=self.seed)
        picked = turns[of(epoch * steps, 0)]
        batches = []
        for group, number in list(zip(picked, count_before(picked), strict=True))[(epoch - 1) * steps :]:
            size = min(self.size, len(members[group]))
            places = draw_cycled(len(members[group]), size, number * size, (self.seed, int(group)))
            batches.append(self.rows[members[group][places]])
        return batches


def _cut_batches(rows, size):
    """Cut rows into whole batches, and drop the rest; fewer rows than a batch are one."""
    size = max(1, min(size, len(rows)))
    return list(rows[: len(rows) // size * size].reshape(-1, size))


@dataclass(frozen=True)
class ParallelLines:
    """Parallel text among the questions of `Pairs`.

    Attributes:
        passages: The rows of the translations, int `(n,)`.
        groups: The group of each question, int `(n,)`.
    """

    first: int
    passages: Integers
    groups: Integers
    chances: NDArray[np.float64]
    share: float

    def draw(self, steps: int, size: int, epoch: int, seed: int) -> list[tuple[Integers, Integers]]:
        """Draw the lines of each step.

        Returns the rows of questions `(size,)` and of passages `(size,)` of each step.
        """
        rows = draw_rows(self.groups, self.chances, steps * size, (epoch - 1) * steps * size, seed)
        return [(self.first + part, self.passages[part]) for part in rows.reshape(steps, size)]


def allowed_passages(pairs: Pairs, row: int, kind: str, pivot: str) -> Integers:
    """Return the rows of the passages that a question may be paired with, int `(k,)`."""
    language, passages = pairs.asked_in[row], pairs.positives[row]
    answered = pairs.languages[passages]
    if kind == "en-en" and language != pivot:
        return passages[:0]
    if kind in ("en-en", "x-en"):
        return passages[answered == pivot]
    return passages if kind == "x-y" else passages[answered == language]
