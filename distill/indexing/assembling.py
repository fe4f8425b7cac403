"""An index of batches, written in one pass: what is small is held, vectors, texts and documents are copied through."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from .. import __version__
from ..system.sections import Rows, write_sections
from ..system.types import Integers, Json
from .batches import DOCUMENTS, Batch
from .stored import FORMAT, SCORES, Index, ranges

# Passages of a block of text.
PER_BLOCK = 64
SMALL = ("document_lengths", "passage_counts", "sentence_counts", "passage_offsets", "text_lengths")


@dataclass(frozen=True)
class Kept:
    """A `Batch` of documents that an index keeps, int64, ascending."""

    index: Index
    documents: Integers

    def array(self, name: str) -> NDArray[np.generic]:
        """Return the array of that name."""
        index, edges = self.index, self.index.document_edges
        if name == "passage_counts":
            return np.diff(edges)[self.documents]
        starts = index.array("document_starts").astype(np.int64)
        if name == "document_lengths":
            return np.diff(starts)[self.documents]
        if name == "documents":
            return index.array(name)[_of(starts, self.documents)]
        rows = _of(edges, self.documents)
        if name == "text":
            return np.frombuffer(b"".join(index.text(row) for row in rows.tolist()), dtype=np.uint8)
        sentences = index.array("sentence_starts").astype(np.int64)
        if name == "sentence_counts":
            return np.diff(sentences)[rows]
        return index.array(name)[_of(sentences, rows) if name.startswith("sentence") else rows]


def _of(starts, rows):
    """The numbers from `starts[row]` up to `starts[row + 1]` of each row."""
    return ranges(starts[rows], starts[rows + 1] - starts[rows])


def kept(index: Index, documents: Integers) -> list[Kept]:
    """Return the batches of the documents that an index keeps."""
    return [Kept(index, documents[at : at + DOCUMENTS]) for at in range(0, len(documents), DOCUMENTS)]


def write_index(path: Path, batches: Sequence[Batch], card: Mapping[str, Json], dimension: int) -> dict[str, Json]:
    """Write the file of an index, whole or not at all; returns its card, with the counts."""
    small, rows = {name: _joined(batches, name) for name in SMALL}, _Streams(batches)
    counts = {"documents": len(small["passage_counts"]), "passages": len(small["text_lengths"])}
    counts["sentences"] = int(small["sentence_counts"].sum())
    whole = {**card, **counts, "distill": __version__}
    head = [FORMAT, dimension, dimension, 8, SCORES.index(card["score"]), 0, PER_BLOCK, *[0] * 9]
    arrays: dict[str, NDArray[np.generic] | Rows] = {
        "card": np.frombuffer(json.dumps(whole, ensure_ascii=False).encode(), dtype=np.uint8),
        "numbers": np.array(head, dtype=np.int32),
    }
    for kind in ("passage", "sentence") if card["score"] != "vector" else ("passage",):
        arrays[f"{kind}_vectors"] = rows.of(f"{kind}_vectors", np.int8, (counts[f"{kind}s"], dimension))
        arrays[f"{kind}_scales"] = rows.of(f"{kind}_scales", np.float32, (counts[f"{kind}s"],))
    write_sections(path, arrays | _small_sections(small) | _texts(small, rows))
    return whole


def _joined(batches: Sequence[Batch], name: str) -> Integers:
    arrays = [batch.array(name).astype(np.int64) for batch in batches]
    return np.concatenate([*arrays, np.zeros(0, dtype=np.int64)])


def _small_sections(small: Mapping[str, Integers]) -> dict[str, NDArray[np.generic] | Rows]:
    documents = np.arange(len(small["passage_counts"]), dtype=np.uint32)
    return {
        "sentence_starts": _starts(small["sentence_counts"]).astype(np.uint32),
        "text_blocks": _block_starts(small["text_lengths"]),
        "text_lengths": small["text_lengths"].astype(np.uint32),
        "document_of": np.repeat(documents, small["passage_counts"]),
        "passage_offsets": small["passage_offsets"].astype(np.uint32),
        "document_starts": _starts(small["document_lengths"]).astype(np.uint64),
    }


def _texts(small: Mapping[str, Integers], rows: _Streams) -> dict[str, NDArray[np.generic] | Rows]:
    return {
        "sentence_bounds": rows.of("sentence_bounds", np.uint32, (int(small["sentence_counts"].sum()), 2)),
        "text": rows.of("text", np.uint8, (int(small["text_lengths"].sum()),)),
        "documents": rows.of("documents", np.uint8, (int(small["document_lengths"].sum()),)),
    }


@dataclass(frozen=True)
class _Streams:
    batches: Sequence[Batch]

    def of(self, name, kind, shape) -> Rows:
        return Rows(np.dtype(kind), shape, lambda: self._arrays(name))

    def _arrays(self, name) -> Iterator[NDArray[np.generic]]:
        return (batch.array(name) for batch in self.batches)


def _starts(counts: Integers) -> Integers:
    return np.append(0, np.cumsum(counts))


def _block_starts(lengths: Integers) -> NDArray[np.uint64]:
    starts = _starts(lengths)
    return np.append(starts[:-1][::PER_BLOCK], starts[-1]).astype(np.uint64)
