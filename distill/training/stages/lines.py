"""Texts with labels that stage 2 learns besides the questions, and noisy variants of texts as people type them."""

from __future__ import annotations

import random
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ...data.parallel import Parallel, compute_shares, group_pairs
from ...encoders.encoder import Encoder, KerasEncoder, normalise_rows
from ...errors import EncoderError
from ...settings.sections import StudentSettings
from ...students.project import find_axes, on_axes
from ...system.types import Booleans, Floats, Integers, Progress
from ...vocabulary.typed.kinds import add_noise, has_kind

# Labels that are nearer than this in cosine are one: the same text in two batches has not the same last bits.
NEAR = 1e-5


@dataclass(frozen=True)
class Lines:
    """Texts `(n,)` with the vectors that the student learns for them.

    The vectors are those of an encoder that the student replaces, or the teacher's of the texts' translations.

    Attributes:
        vectors: The labels `(m, space)`.
        rows: The row of each text's label, int `(n,)`; by default its own.
        groups: The group of each text, int `(n,)`; texts are then drawn by group.
        pivots: The texts `(m,)` that the labels are vectors of.
        languages: The language of each text, if known.
    """

    texts: list[str]
    vectors: Floats
    rows: Integers | None = None
    groups: Integers | None = None
    chances: NDArray[np.float64] | None = None
    pivots: Sequence[str] = ()
    languages: Sequence[str] = ()

    @property
    def label_rows(self) -> Integers:
        """The row of each text's label, int `(n,)`."""
        return np.arange(len(self.texts)) if self.rows is None else self.rows


def label_corpus(corpus: Mapping[str, Sequence[str]], encoder: Encoder, progress: Progress | None = None) -> Lines:
    texts = [text for language in corpus for text in corpus[language]]
    languages = [language for language in corpus for _ in corpus[language]]
    return Lines(texts, encoder.encode(texts, "question", progress), pivots=texts, languages=languages)


def label_translations(
    sources: Sequence[Parallel], teacher: Encoder, temperature: float, progress: Progress | None = None
) -> Lines:
    """Label parallel text with the teacher's vectors of its pivots, each of which is encoded once."""
    pivots = [pivot for source in sources for pivot in source.pivots]
    place = {pivot: row for row, pivot in enumerate(dict.fromkeys(pivots))}
    vectors = teacher.encode(list(place), "question", progress)
    groups, _ = group_pairs(sources)
    texts = [text for source in sources for text in source.texts]
    rows = np.array([place[pivot] for pivot in pivots])
    languages = [language for source in sources for language in source.languages]
    return Lines(texts, vectors, rows, groups, compute_shares(sources, temperature), list(place), languages)


def mix_lines(*parts: Lines) -> Lines:
    """Join several lines of one dimension, each of which is drawn equally often."""
    first = np.cumsum([0, *(len(part.vectors) for part in parts)])
    groups = [np.zeros(len(part.texts), dtype=np.int64) if part.groups is None else part.groups for part in parts]
    chances = [np.ones(1) if part.chances is None else part.chances for part in parts]
    below = np.cumsum([0, *map(len, chances)])
    return Lines(
        [text for part in parts for text in part.texts],
        np.concatenate([part.vectors for part in parts]),
        np.concatenate([part.label_rows + start for part, start in zip(parts, first, strict=False)]),
        np.concatenate([group + start for group, start in zip(groups, below, strict=False)]),
        np.concatenate(chances) / len(parts),
        [pivot for part in parts for pivot in part.pivots],
        [language for part in parts for language in part.languages or [""] * len(part.texts)],
    )


def same_label(labels: Floats) -> Booleans:
    """Compare labels `(n, d)` with each other.

    Returns bool `(n, n)`, true for lines with the same label, which are not each other's negatives.
    """
    rows = normalise_rows(labels)
    return rows @ rows.T >= 1.0 - NEAR


def line_targets(lines: Lines, start: KerasEncoder) -> Floats:
    """Put the labels of lines on the student's axes.

    Returns the labels `(m, d)`. Raises `EncoderError` if the labels are in another space.
    """
    size, space = lines.vectors.shape[1], start.model.label_dimension
    if size not in (space, start.dimension):
        raise EncoderError(f"the labels have {size} dimensions, expected {space}; take them from the teacher's space")
    return on_axes(lines.vectors, find_axes(start.model)) if size == space else lines.vectors


@dataclass(frozen=True)
class TypingNoise:
    """Writes a `share` of texts as people type them, in those of the `kinds` of noise that their language has.

    The texts are drawn by `seed`.
    """

    share: float
    kinds: tuple[str, ...]
    seed: int = 0

    @classmethod
    def of(cls, settings: StudentSettings, seed: int) -> TypingNoise:
        """Make the noise that the settings ask for. `settings` are the settings of stage 2."""
        return cls(settings.typed_share, tuple(settings.typed_kinds), seed)

    def variants(self, texts: Sequence[str], languages: Sequence[str]) -> list[str]:
        """Write each text with noise; the same seed gives the same variant.

        Returns the variants, none if the share is 0.
        """
        if not self.share:
            return []
        languages = languages or [""] * len(texts)
        return [self._variant(text, language) for text, language in zip(texts, languages, strict=True)]

    def _variant(self, text, language):
        kinds = [kind for kind in self.kinds if has_kind(language, kind)] if language else []
        if not kinds:
            return text
        return add_noise(text, language, random.Random(f"{self.seed}\n{text}").choice(kinds), self.seed)

    def draw(self, steps: int, size: int, epoch: int) -> Booleans:
        """Draw the texts that are noisy in an epoch. Returns bool `(steps, size)`, true for a noisy text."""
        return np.random.default_rng((self.seed, 10, epoch)).random((steps, size)) < self.share
