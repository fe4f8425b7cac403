"""Code vectors in a few bytes: on fewer axes, as a centroid and a product-quantised residual.

Jégou, Douze and Schmid (2011), "Product quantization for nearest neighbor search": IVFADC.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import cached_property

import numpy as np
from numpy.typing import NDArray

from ...export.encode import shares
from ...export.weights.products import cluster, find_nearest, learn_codebook
from ...retrieval.blocks import counts_of
from ...system.hashes import CHECK, add_check
from ...system.progress import task
from ...system.types import Floats, Integers
from .index_file import Index

# Bytes of a code, one a place.
PLACES = 32
# The share of the squares that axes which are left out may have, and the share of axes below which turning is worth it.
LEFT_OUT, FEWER = 1e-4, 0.8


@dataclass(frozen=True)
class Coder:
    """Turns vectors into codes: by `axes`, float32 `(width, axes)` or None, by centroids and by codewords."""

    axes: tuple[NDArray[np.int8], NDArray[np.float32]] | None
    width: int
    centroids: tuple[NDArray[np.int8], NDArray[np.float32]]
    books: tuple[NDArray[np.int8], NDArray[np.float32]]
    turn: Callable[[Floats], Floats]

    @classmethod
    def learn(cls, sample: Floats, lists: int, random: np.random.Generator) -> Coder:
        """Learn axes, centroids and codewords from a sample. `sample` are the vectors, float32 `(n, axes)`."""
        axes, width, turn = _choose_axes(sample, random)
        turned = turn(sample)
        centroids = round_rows(cluster(turned, lists, random))
        decoded = decode_rows(centroids)
        residual = turned - decoded[find_nearest(turned, decoded)]
        parts = residual.reshape(len(residual), PLACES, -1)
        books = [learn_codebook(np.ascontiguousarray(parts[:, place]), random) for place in range(PLACES)]
        return cls(axes, width, centroids, round_rows(np.stack(books).reshape(PLACES, -1)), turn)

    def sections(self) -> dict[str, NDArray[np.generic]]:
        """Return the arrays that turn a question and decode a list, by the names of sections."""
        parts = {"axes": self.axes, "centroids": self.centroids, "books": self.books}
        named = {name: part for name, part in parts.items() if part is not None}
        codes = {name: part[0] for name, part in named.items()}
        return codes | {f"{name}_scales": part[1] for name, part in named.items()}

    def codes(self, vectors: Floats) -> tuple[Integers, NDArray[np.uint8]]:
        """Return the list of each vector, and its code `(n, PLACES)`."""
        turned, centroids = self.turn(vectors), decode_rows(self.centroids)
        lists = find_nearest(turned, centroids)
        residual = turned - centroids[lists]
        words = decode_rows(self.books).reshape(PLACES, -1, self.width // PLACES)
        parts = residual.reshape(len(residual), PLACES, -1)
        return lists, np.stack([find_nearest(parts[:, place], words[place]) for place in range(PLACES)], 1).astype(
            np.uint8
        )


def _choose_axes(sample: Floats, random: np.random.Generator):
    """Return the axes that vectors are turned to, if fewer suffice, their number, and the function that turns them."""
    squares, all_axes = np.linalg.eigh((sample.T @ sample).astype(np.float64))
    left = 1 - np.cumsum(squares[::-1]) / max(squares.sum(), np.finfo(float).tiny)
    enough = _in_places(int(np.argmax(left <= LEFT_OUT)) + 1)
    if enough > FEWER * sample.shape[1]:
        width = _in_places(sample.shape[1])
        return None, width, lambda rows: np.pad(rows, [(0, 0), (0, width - rows.shape[1])])
    # Mixed, all axes have squares alike: a few great ones would take the range of 8 bits from all others.
    mixed = np.linalg.qr(random.normal(size=(enough, enough)))[0] @ all_axes[:, ::-1].T[:enough]
    rounded = round_rows(mixed.astype(np.float32))
    # A question is turned by the rounded axes, so vectors are by what undoes these.
    undo = np.linalg.pinv(decode_rows(rounded)).astype(np.float32)
    return rounded, enough, lambda rows: rows @ undo


def _in_places(axes):
    return -(-axes // PLACES) * PLACES


def round_rows(rows: Floats) -> tuple[NDArray[np.int8], NDArray[np.float32]]:
    """Return rows in 8 bits, and the scale of each."""
    scales = np.maximum(np.abs(rows).max(1, initial=0), np.finfo(np.float32).tiny).astype(np.float32) / np.float32(127)
    return np.rint(rows / scales[:, None]).astype(np.int8), scales


def decode_rows(rounded: tuple[NDArray[np.int8], NDArray[np.float32]]) -> Floats:
    codes, scales = rounded
    return codes.astype(np.float32) * scales[:, None]


# Vectors that are coded at once.
BLOCK = 4096


@dataclass(frozen=True)
class Vectors:
    """The vectors of an index whose products with a question are its scores, one per sentence."""

    index: Index

    @cached_property
    def passage_of(self) -> Integers:
        """The passage of each vector, int64 `(n,)`."""
        if self.index.score == "vector":
            return np.arange(self.index.passages)
        passages = np.arange(self.index.passages)
        return np.repeat(passages, counts_of(self.index.array("sentence_starts"), passages))

    def rows(self, rows: Integers | slice) -> Floats:
        """Return some vectors, float32 `(rows, axes)`."""
        score, passages = self.index.score, self.passage_of[rows]
        if score == "vector":
            return self.index.vectors("passage", passages)
        sentences = self.index.vectors("sentence", rows)
        if score == "sentence":
            return sentences
        of_passage, of_sentence = map(np.float32, shares(self.index.passage_weight))
        return of_sentence * sentences + of_passage * self.index.vectors("passage", passages)

    def blocks(self) -> Iterator[tuple[slice, Floats]]:
        """Yield all vectors in blocks."""
        for start in range(0, len(self.passage_of), BLOCK):
            part = slice(start, min(start + BLOCK, len(self.passage_of)))
            yield part, self.rows(part)


@dataclass(frozen=True)
class Lists:
    """The list of each vector, its code, and its passage."""

    lists: Integers
    codes: NDArray[np.uint8]
    passages: Integers
    count: int

    @cached_property
    def order(self) -> Integers:
        """The passages in the order of the lists of their first vectors, so that candidates lie near each other."""
        first = np.searchsorted(self.passages, np.arange(self.passages[-1] + 1 if len(self.passages) else 0))
        return np.argsort(self.lists[first], kind="stable")

    @cached_property
    def _counts(self) -> Integers:
        """The number of vectors in each list."""
        return np.bincount(self.lists, minlength=self.count)

    @cached_property
    def starts(self) -> NDArray[np.uint32]:
        """The first byte of each list, behind which a check stands, and the end of the last one."""
        sizes = self._counts * (4 + self.codes.shape[1]) + CHECK
        return np.concatenate([[0], np.cumsum(sizes)]).astype(np.uint32)

    def content(self, units: NDArray[np.uint32], seed: int) -> bytes:
        """Return the lists: for each vector the place and size of its passage's record, the codes, and a check."""
        order, ends = np.argsort(self.lists, kind="stable"), np.cumsum(self._counts)
        parts = []
        for place, start, end in zip(self.starts.tolist(), ends - self._counts, ends, strict=False):
            rows = order[start:end]
            part = units[self.passages[rows]].astype("<u4").tobytes() + self.codes[rows].tobytes()
            parts.append(add_check(part, seed, place))
        return b"".join(parts)


def sort_into_lists(vectors: Vectors, coder: Coder) -> Lists:
    """Return the list and the code of each vector."""
    lists, codes = np.empty(len(vectors.passage_of), np.int64), np.empty((len(vectors.passage_of), PLACES), np.uint8)
    with task("sort into clusters", len(lists)) as advance:
        for part, rows in vectors.blocks():
            lists[part], codes[part] = coder.codes(rows)
            advance(len(rows))
    return Lists(lists, codes, vectors.passage_of, len(coder.centroids[0]))
