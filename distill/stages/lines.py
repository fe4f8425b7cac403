"""Texts with labels that stage 2 learns beside the questions, and texts as people type them."""

from __future__ import annotations

import random
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ..data.parallel import Parallel, groups_of, shares
from ..encoders.encoder import Encoder, KerasEncoder, unit_rows
from ..errors import EncoderError
from ..settings.sections import StudentSettings
from ..students.project import axes_of, on_axes
from ..system.types import Booleans, Floats, Integers, Progress
from ..typed.kinds import has_kind, typed

# Labels that are nearer than this in cosine are one: the same text in two batches has not the same last bits.
NEAR = 1e-5


@dataclass(frozen=True)
class Lines:
    """Texts `(n,)` with the vectors that the student shall give them.

    Those of an encoder that it replaces, or the teacher's of their translations: `vectors` `(m, space)`, of which each
    text has that of its `row`, by default its own. With `groups`, int `(n,)`, texts are drawn by the groups' `chances`.
    `pivots` `(m,)` are the texts that the vectors are of; `languages` `(n,)` those of the texts, where they are known.
    """

    texts: list[str]
    vectors: Floats
    rows: Integers | None = None
    groups: Integers | None = None
    chances: NDArray[np.float64] | None = None
    pivots: Sequence[str] = ()
    languages: Sequence[str] = ()


def labelled(corpus: Mapping[str, Sequence[str]], encoder: Encoder, progress: Progress | None = None) -> Lines:
    """`Lines` of a corpus `{language: [text]}`, with an encoder's vectors."""
    texts = [text for language in corpus for text in corpus[language]]
    languages = [language for language in corpus for _ in corpus[language]]
    return Lines(texts, encoder.encode(texts, "question", progress), pivots=texts, languages=languages)


def translations(
    sources: Sequence[Parallel], teacher: Encoder, temperature: float, progress: Progress | None = None
) -> Lines:
    """`Lines` of parallel text, `[parallel.Parallel]`, with the teacher's vectors of their pivots, each once."""
    pivots = [pivot for source in sources for pivot in source.pivots]
    place = {pivot: row for row, pivot in enumerate(dict.fromkeys(pivots))}
    vectors = teacher.encode(list(place), "question", progress)
    groups, _ = groups_of(sources)
    texts = [text for source in sources for text in source.texts]
    rows = np.array([place[pivot] for pivot in pivots])
    languages = [language for source in sources for language in source.languages]
    return Lines(texts, vectors, rows, groups, shares(sources, temperature), list(place), languages)


def mixed(*parts: Lines) -> Lines:
    """`Lines` of several, all of one dimension, of which each is drawn as often as the others."""
    first = np.cumsum([0, *(len(part.vectors) for part in parts)])
    rows = [np.arange(len(part.texts)) if part.rows is None else part.rows for part in parts]
    groups = [np.zeros(len(part.texts), dtype=np.int64) if part.groups is None else part.groups for part in parts]
    chances = [np.ones(1) if part.chances is None else part.chances for part in parts]
    below = np.cumsum([0, *map(len, chances)])
    return Lines(
        [text for part in parts for text in part.texts],
        np.concatenate([part.vectors for part in parts]),
        np.concatenate([row + start for row, start in zip(rows, first, strict=False)]),
        np.concatenate([group + start for group, start in zip(groups, below, strict=False)]),
        np.concatenate(chances) / len(parts),
        [pivot for part in parts for pivot in part.pivots],
        [language for part in parts for language in part.languages or [""] * len(part.texts)],
    )


def same_label(labels: Floats) -> Booleans:
    """bool `(n, n)`: true where two lines have the same label, of vectors `(n, d)`: neither is the other's negative."""
    rows = unit_rows(labels)
    return rows @ rows.T >= 1.0 - NEAR


def line_targets(lines: Lines, start: KerasEncoder) -> Floats:
    """The vectors of `Lines` on the student's axes, where they are not on these already. Raises `EncoderError`."""
    size, space = lines.vectors.shape[1], start.model.label_dimension
    if size not in (space, start.dimension):
        raise EncoderError(f"the labels have {size} dimensions, expected {space}; take them from the teacher's space")
    return on_axes(lines.vectors, axes_of(start.model)) if size == space else lines.vectors


@dataclass(frozen=True)
class Typist:
    """A `share` of texts is typed as in the `kinds` of `choices.TYPED` that their language has; drawn by `seed`."""

    share: float
    kinds: tuple[str, ...]
    seed: int = 0

    @classmethod
    def of(cls, settings: StudentSettings, seed: int) -> Typist:
        """The typist that the settings ask for."""
        return cls(settings.typed_share, tuple(settings.typed_kinds), seed)

    def variants(self, texts: Sequence[str], languages: Sequence[str]) -> list[str]:
        """Each text as typed, one for the seed; one of no known language or kind as it is. None where no share is."""
        if not self.share:
            return []
        languages = languages or [""] * len(texts)
        return [self._variant(text, language) for text, language in zip(texts, languages, strict=True)]

    def _variant(self, text, language):
        kinds = [kind for kind in self.kinds if has_kind(language, kind)] if language else []
        if not kinds:
            return text
        return typed(text, language, random.Random(f"{self.seed}\n{text}").choice(kinds), self.seed)

    def drawn(self, steps: int, size: int, epoch: int) -> Booleans:
        """bool `(steps, size)`: true where the text of a step is typed."""
        return np.random.default_rng((self.seed, 10, epoch)).random((steps, size)) < self.share
