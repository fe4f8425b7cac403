"""Find words of an index that mean the same as a question's word, in the space of an encoder.

A question in another language than the passages' shares few of their words, but a multilingual encoder knows which
words mean the same. Sections, besides those of docs/formats.md:

| name | |
|---|---|
| "words.mean" | float32 (d): the mean that is subtracted from a word's vector |
| "words.axes" | float32 (d, a): the axes that are kept of it |
| "words.vectors" | uint8: a numbers of 4 bits per word, in the order of "bm25.terms" |
| "words.scales" | float32 (t): 0 for a word that the encoder does not know |
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache
from typing import cast

import numpy as np
from numpy.typing import NDArray

from ...encoders.encoder import Encoder, normalise_rows
from ...encoders.health import require_finite
from ...errors import EncoderError
from ...retrieval.codes import multiply_blocks, packed_width, quantise, quantise_packed, unpack
from ...system.progress import task
from ...system.types import Booleans, Floats, Progress

BITS, AXES = 4, 128
SECTIONS = {"words.mean": np.float32, "words.axes": np.float32, "words.vectors": np.uint8, "words.scales": np.float32}
# Words that choose the axes, and that are encoded at once.
SAMPLED, AT_ONCE = 20_000, 4096
# Words of the index that stand for one of a question, and the cosine that they have at least. With the power that
# `lexical` takes of it these were chosen on XQuAD dev and `mlqa-dev-a`; docs/index-search.md.
MOST, LEAST = 5, 0.5
# Words that are looked at closely, after a look at all along the first axes.
CLOSELY, FIRST_AXES = 64, 48
# Words of an index, at most, whose numbers along these are held as float32: none of a question has to convert them.
QUICK = 2**17
# Words of questions that are held with what they are like.
HELD = 4096
# Letters that hardly any encoder has a piece for: what has the vector of one is not known.
UNKNOWN = ("\ue000", "\u2d30", "\U00012000")
SAME = 0.9999


@dataclass(frozen=True)
class WordSpace:
    """The space of words: the `mean` `(d,)` that is subtracted from vectors, and the `axes` `(d, a)` that are kept."""

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
        """Return vectors `(n, d)` as unit vectors of the space, float32 `(n, a)`."""
        return normalise_rows(cast(Floats, (vectors - self.mean) @ self.axes))


def encode_words(words: Sequence[str], encoder: Encoder, seed: int = 0) -> dict[str, NDArray[np.generic]]:
    """Return the sections of all words of an index, in the order of "bm25.terms"."""
    # What chose the axes is not encoded again where that is all.
    few, unknown = len(words) <= SAMPLED, _encode(UNKNOWN, encoder)
    with task("vectors of words", len(words) + (0 if few else SAMPLED)) as advance:
        vectors = _encode(words if few else _draw(words, seed), encoder, advance)
        space = WordSpace.fit(vectors)
        batches = [words[at : at + AT_ONCE] for at in range(0, len(words), AT_ONCE)]
        every = [vectors] if few else (_encode(batch, encoder, advance) for batch in batches)
        parts = [_code_vectors(part, space, unknown) for part in every]
    codes, scales = (np.concatenate(arrays) for arrays in zip(*parts, strict=True))
    return {"words.mean": space.mean, "words.axes": space.axes, "words.vectors": codes, "words.scales": scales}


def _draw(words, seed):
    places = np.random.default_rng(seed).choice(len(words), SAMPLED, replace=False)
    return [words[place] for place in places.tolist()]


def _code_vectors(vectors, space, unknown):
    """Return codes and scales of words by their vectors; the scale is 0 for a vector of `unknown` letters."""
    codes, scales = quantise_packed(space.project(vectors), BITS)
    return codes, np.where(_are_unknown(vectors, unknown), np.float32(0), scales)


def _encode(words, encoder, advance: Progress | None = None):
    parts = [words[at : at + AT_ONCE] for at in range(0, len(words), AT_ONCE)]
    vectors = [require_finite(encoder.encode(part, "question", advance), encoder) for part in parts]
    return np.concatenate([np.zeros((0, encoder.dimension), np.float32), *vectors])


def _are_unknown(vectors, unknown) -> Booleans:
    return (vectors @ unknown.T).max(axis=1, initial=-1) >= SAME


def list_words(sections: Mapping[str, NDArray[np.generic]]) -> list[str]:
    content, starts = sections["bm25.terms"].tobytes(), sections["bm25.term_starts"].tolist()
    return [content[start:end].decode() for start, end in zip(starts, starts[1:], strict=False)]


class RelatedWords:
    """Finds words of an index that are similar to another one.

    Several threads may use it; the encoder, which is loaded for the first word, is used by one at a time.
    """

    def __init__(self, sections: Mapping[str, NDArray[np.generic]], load: Callable[[], Encoder | None]) -> None:
        self._load, self._lock = load, threading.Lock()
        mean, axes = (cast(Floats, sections[name]) for name in ("words.mean", "words.axes"))
        self._space, self._codes = WordSpace(mean, axes), cast("NDArray[np.uint8]", sections["words.vectors"])
        self._scales = np.asarray(sections["words.scales"], dtype=np.float32)
        self._held = lru_cache(HELD)(self._find)

    def find(self, word: str) -> list[tuple[int, float]]:
        """Return the numbers and cosines of at most `MOST` similar words, nearest first.

        A word with a digit has none, because another number or code does not mean the same.
        """
        return [] if any(letter.isdigit() for letter in word) else self._held(word)

    @cached_property
    def _encoder(self) -> Encoder | None:
        encoder = self._load()
        if encoder and encoder.dimension != len(self._space.mean):
            raise EncoderError(
                f"the words of the index have vectors of {len(self._space.mean)} numbers and {encoder.name} gives "
                f"{encoder.dimension}; run distill index --hybrid again"
            )
        return encoder

    @cached_property
    def _unknown(self) -> Floats:
        return _encode(UNKNOWN, self._encoder)

    @cached_property
    def _first(self) -> NDArray[np.int8] | Floats:
        axes = min(FIRST_AXES, self._space.axes.shape[1])
        rows = unpack(self._codes[:, : packed_width(axes, BITS)], BITS, axes)
        return rows.astype(np.float32) if len(rows) <= QUICK else rows

    def _find(self, word):
        with self._lock:
            if self._encoder is None:
                return []
            vectors = _encode([word], self._encoder)
            if _are_unknown(vectors, self._unknown):
                return []
        [vector] = self._space.project(vectors)
        rows = self._near(vector)
        stored = unpack(self._codes[rows], BITS, len(vector)) * self._scales[rows, None]
        cosines = (normalise_rows(stored) * vector.astype(np.float64)).sum(axis=1)
        order = np.lexsort((rows, -cosines))[:MOST]
        return [(int(rows[at]), min(float(cosines[at]), 1.0)) for at in order if cosines[at] >= LEAST]

    def _near(self, vector):
        """Return the rows with the greatest products, exact in whole numbers, along the first axes, ascending."""
        codes, _ = quantise(vector[None, : self._first.shape[1]])
        products = multiply_blocks(codes[0].astype(np.float32), self._first) * self._scales
        if len(products) <= CLOSELY:
            return np.arange(len(products))
        least = np.partition(products, -CLOSELY)[-CLOSELY]
        return np.flatnonzero(products >= least)
