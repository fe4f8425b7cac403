"""Words of an index in the space of an encoder, so that a question's word that no passage has finds those like it.

A question in another language than the passages' has few of their words, but an encoder of many languages knows which
words mean the same. Sections, beside those of docs/formats.md:

| name | |
|---|---|
| "words.mean" | float32 (d): what is taken off the vector of a word |
| "words.axes" | float32 (d, a): the axes that are left of it |
| "words.vectors" | uint8: a numbers of 4 bits a word, in the order of "bm25.terms" |
| "words.scales" | float32 (t) |
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import cast

import numpy as np
from numpy.typing import NDArray

from ...encoders.encoder import Encoder, unit_rows
from ...encoders.health import require_finite
from ...retrieval.codes import packed, quantised, unpacked, width
from ...retrieval.products import multiply_blocks
from ...system.progress import task
from ...system.types import Floats

BITS, AXES = 4, 128
SECTIONS = {"words.mean": np.float32, "words.axes": np.float32, "words.vectors": np.uint8, "words.scales": np.float32}
# Words that choose the axes, and that are encoded at once.
SAMPLED, AT_ONCE = 20_000, 4096
# Words of the index that stand for one of a question, and the cosine that they have at least. With the power that
# `lexical` takes of it these were chosen on XQuAD dev and `mlqa-dev-a`; docs/index-search.md.
MOST, LEAST = 5, 0.5
# Words that are looked at closely, after a look at all along the first axes.
CLOSELY, FIRST_AXES = 64, 48
# Words of questions that are held with what was found for them.
HELD = 4096


@dataclass(frozen=True)
class WordSpace:
    """The `mean` `(d,)` that is taken off vectors of words, and the `axes` `(d, a)` that are left of them."""

    mean: Floats
    axes: Floats

    @classmethod
    def fit(cls, vectors: Floats) -> WordSpace:
        """Return the space in which the vectors `(n, d)` of words differ most: their principal components."""
        mean = vectors.mean(axis=0) if len(vectors) else np.zeros(vectors.shape[1], np.float32)
        spread = (vectors - mean).astype(np.float64)
        _, axes = np.linalg.eigh(spread.T @ spread)
        return cls(mean, np.ascontiguousarray(axes[:, ::-1][:, :AXES], dtype=np.float32))

    def project(self, vectors: Floats) -> Floats:
        """Return vectors `(n, d)` as unit rows, float32 `(n, a)`."""
        return unit_rows(cast(Floats, (vectors - self.mean) @ self.axes))


def encode_words(
    words: Sequence[str], encoder: Encoder, known: Mapping[str, NDArray[np.generic]] | None = None, seed: int = 0
) -> dict[str, NDArray[np.generic]]:
    """Return the sections of the words of an index.

    Args:
        words: all, in the order of "bm25.terms".
        encoder: of the languages in which it is asked.
        known: sections of an earlier index, encoded by the same: its space stays, and its words are not encoded again.
        seed: of the words that choose the axes.

    Raises:
        EncoderError: where the encoder gives vectors that are no numbers.
    """
    space = space_of(known) if known else WordSpace.fit(_encode(_drawn(words, seed), encoder))
    codes, scales = np.zeros((len(words), width(space.axes.shape[1], BITS)), np.uint8), np.zeros(len(words), np.float32)
    rows = _known_rows(known)
    new = [place for place, word in enumerate(words) if word not in rows]
    if known:
        there = [place for place, word in enumerate(words) if word in rows]
        of_known = [rows[words[place]] for place in there]
        codes[there], scales[there] = known["words.vectors"][of_known], known["words.scales"][of_known]
    with task("vectors of words", len(new)) as advance:
        for at in range(0, len(new), AT_ONCE):
            part = new[at : at + AT_ONCE]
            codes[part], scales[part] = packed(space.project(_encode([words[place] for place in part], encoder)), BITS)
            advance(len(part))
    return {"words.mean": space.mean, "words.axes": space.axes, "words.vectors": codes, "words.scales": scales}


def _encode(words, encoder):
    if not words:
        return np.zeros((0, encoder.dimension), np.float32)
    return require_finite(encoder.encode(words, "question"), encoder)


def _drawn(words, seed):
    if len(words) <= SAMPLED:
        return list(words)
    return [words[place] for place in np.random.default_rng(seed).choice(len(words), SAMPLED, replace=False).tolist()]


def space_of(sections: Mapping[str, NDArray[np.generic]]) -> WordSpace:
    """Return the space of the words of an index."""
    return WordSpace(cast(Floats, sections["words.mean"]), cast(Floats, sections["words.axes"]))


def _known_rows(known):
    if not known:
        return {}
    return {word: row for row, word in enumerate(words_of(known))}


def words_of(sections: Mapping[str, NDArray[np.generic]]) -> list[str]:
    """Return the words of an index in their order."""
    content, starts = sections["bm25.terms"].tobytes(), sections["bm25.term_starts"].tolist()
    return [content[start:end].decode() for start, end in zip(starts, starts[1:], strict=False)]


class RelatedWords:
    """Finds the words of an index that are like another one, by the index's `sections` and its encoder of words."""

    def __init__(self, sections: Mapping[str, NDArray[np.generic]], encoder: Encoder) -> None:
        self.encoder, self.space = encoder, space_of(sections)
        self._codes = cast("NDArray[np.uint8]", sections["words.vectors"])
        self._scales = np.asarray(sections["words.scales"], dtype=np.float32)
        axes = min(FIRST_AXES, self.space.axes.shape[1])
        self._first = unpacked(self._codes[:, : width(axes, BITS)], BITS, axes)
        self._held = lru_cache(HELD)(self._find)

    def find(self, word: str) -> list[tuple[int, float]]:
        """Return the numbers of at most `MOST` words, nearest first, with their cosines; none of a word with a digit.

        Another number, or another code, does not mean the same.
        """
        return [] if any(letter.isdigit() for letter in word) else self._held(word)

    def _find(self, word):
        [vector] = self.space.project(_encode([word], self.encoder))
        rows = self._near(vector)
        vectors = unpacked(self._codes[rows], BITS, len(vector)) * self._scales[rows, None]
        cosines = (unit_rows(vectors) * vector.astype(np.float64)).sum(axis=1)
        order = np.lexsort((rows, -cosines))[:MOST]
        return [(int(rows[at]), min(float(cosines[at]), 1.0)) for at in order if cosines[at] >= LEAST]

    def _near(self, vector):
        """The rows with the greatest products along the first axes, ascending: of whole numbers, so they are exact."""
        codes, _ = quantised(vector[None, : self._first.shape[1]])
        products = multiply_blocks(codes[0].astype(np.float32), self._first) * self._scales
        if len(products) <= CLOSELY:
            return np.arange(len(products))
        least = np.partition(products, -CLOSELY)[-CLOSELY]
        return np.flatnonzero(products >= least)
