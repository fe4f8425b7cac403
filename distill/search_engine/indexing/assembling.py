"""Write an index of batches in one pass: small arrays are held, vectors, texts and documents are copied through."""

from __future__ import annotations

import json
import zlib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import islice, pairwise
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from ... import __version__
from ...encoders.encoder import Encoder
from ...export.encode import PASSAGE_WEIGHT
from ...retrieval.blocks import counts_of, part_edges, rows_of
from ...retrieval.codes import WHOLE, packed_width
from ...retrieval.units import as_thousandths
from ...settings.choices import PASSAGE_SCORES
from ...system.sections import Rows, write_sections
from ...system.types import Integers, Json
from .batches import DOCUMENTS, Batch
from .index_file import FORMAT, Index
from .lexical import FOLDING, invert_texts
from .related import encode_words, list_words

# Passages of a block of text; of a compact index, where a block is inflated for one of them.
PER_BLOCK, PER_PACKED_BLOCK = 64, 32
# Of a compact index: passages that are scored again by their text. With 20 the first result is that of float32 in 99 of
# 100 questions; docs/index-search.md.
SCORED_AGAIN = 20
SMALL = ("document_lengths", "passage_counts", "sentence_counts", "passage_offsets", "text_lengths")


@dataclass(frozen=True)
class KeptBatch:
    """A batch of the documents that an index keeps, int64, ascending."""

    index: Index
    documents: Integers

    def array(self, name: str) -> NDArray[np.generic]:
        index, starts = self.index, self.index.array("document_starts")
        if name == "passage_counts":
            return counts_of(index.document_edges, self.documents)
        if name == "document_lengths":
            return counts_of(starts, self.documents)
        if name == "documents":
            return index.array(name)[rows_of(starts, self.documents)]
        rows, sentences = rows_of(index.document_edges, self.documents), index.array("sentence_starts")
        if name == "text":
            return np.frombuffer(b"".join(index.text(row) for row in rows.tolist()), dtype=np.uint8)
        if name == "sentence_counts":
            return counts_of(sentences, rows)
        return index.array(name)[rows_of(sentences, rows) if name.startswith("sentence") else rows]


def list_kept(index: Index, documents: Integers) -> list[KeptBatch]:
    """Return the batches of the documents that an index keeps."""
    return [KeptBatch(index, documents[at : at + DOCUMENTS]) for at in range(0, len(documents), DOCUMENTS)]


def write_index(
    path: Path,
    batches: Sequence[Batch],
    card: Mapping[str, Json],
    dimension: int,
    words_by: Encoder | None = None,
) -> dict[str, Json]:
    """Write the file of an index, whole or not at all; with fewer `bits` than 8 in its card text is deflated."""
    small, rows = {name: _join_arrays(batches, name) for name in SMALL}, _Streams(batches)
    counts = {"documents": len(small["passage_counts"]), "passages": len(small["text_lengths"])}
    counts["sentences"] = int(small["sentence_counts"].sum())
    words = {"words": FOLDING} if card["hybrid"] else {}
    whole = {**card, **counts, **words, "distill": __version__}
    bits = card["bits"]
    form = (0, PER_BLOCK, 0) if bits == WHOLE else (1, PER_PACKED_BLOCK, SCORED_AGAIN)
    head = [FORMAT, dimension, dimension, bits, PASSAGE_SCORES.index(card["score"]), *form]
    head += [as_thousandths(card.get(PASSAGE_WEIGHT, 1.0)), *[0] * 7]
    arrays: dict[str, NDArray[np.generic] | Rows] = {
        "card": np.frombuffer(json.dumps(whole, ensure_ascii=False).encode(), dtype=np.uint8),
        "numbers": np.array(head, dtype=np.int32),
    }
    for kind in ("passage", "sentence") if card["score"] != "vector" else ("passage",):
        code = np.int8 if bits == WHOLE else np.uint8
        arrays[f"{kind}_vectors"] = rows.of(
            f"{kind}_vectors", code, (counts[f"{kind}s"], packed_width(dimension, bits))
        )
        arrays[f"{kind}_scales"] = rows.of(f"{kind}_scales", np.float32, (counts[f"{kind}s"],))
    arrays |= _small_sections(small) | _texts(small, rows)
    arrays |= _plain(small, rows) if bits == WHOLE else _pack_text(batches)
    if card["hybrid"]:
        arrays |= _words(batches, words_by)
    write_sections(path, arrays, synced=True)
    return whole


def _words(batches: Sequence[Batch], words_by: Encoder | None) -> dict[str, NDArray[np.generic]]:
    words = invert_texts(passage.decode() for passage in _passage_texts(batches))
    return words | encode_words(list_words(words), words_by) if words_by else words


def _join_arrays(batches: Sequence[Batch], name: str) -> Integers:
    arrays = [batch.array(name).astype(np.int64) for batch in batches]
    return np.concatenate([*arrays, np.zeros(0, dtype=np.int64)])


def _small_sections(small: Mapping[str, Integers]) -> dict[str, NDArray[np.generic] | Rows]:
    documents = np.arange(len(small["passage_counts"]), dtype=np.uint32)
    return {
        "sentence_starts": part_edges(small["sentence_counts"]).astype(np.uint32),
        "text_lengths": small["text_lengths"].astype(np.uint32),
        "document_of": np.repeat(documents, small["passage_counts"]),
        "passage_offsets": small["passage_offsets"].astype(np.uint32),
        "document_starts": part_edges(small["document_lengths"]).astype(np.uint64),
    }


def _texts(small: Mapping[str, Integers], rows: _Streams) -> dict[str, NDArray[np.generic] | Rows]:
    return {
        "sentence_bounds": rows.of("sentence_bounds", np.uint32, (int(small["sentence_counts"].sum()), 2)),
        "documents": rows.of("documents", np.uint8, (int(small["document_lengths"].sum()),)),
    }


@dataclass(frozen=True)
class _Streams:
    batches: Sequence[Batch]

    def of(self, name, kind, shape) -> Rows:
        return Rows(np.dtype(kind), shape, lambda: self._arrays(name))

    def _arrays(self, name) -> Iterator[NDArray[np.generic]]:
        return (batch.array(name) for batch in self.batches)


def _plain(small: Mapping[str, Integers], rows: _Streams) -> dict[str, NDArray[np.generic] | Rows]:
    lengths = small["text_lengths"]
    return {"text": rows.of("text", np.uint8, (int(lengths.sum()),)), "text_blocks": _block_starts(lengths)}


def _pack_text(batches: Sequence[Batch]) -> dict[str, NDArray[np.generic] | Rows]:
    """Return the text deflated to about half its size, which is held in memory."""
    blocks = [_deflate(b"".join(block)) for block in _blocks(_passage_texts(batches))]
    starts = part_edges([len(block) for block in blocks])
    return {"text": np.frombuffer(b"".join(blocks), dtype=np.uint8), "text_blocks": starts.astype(np.uint64)}


def _deflate(content: bytes) -> bytes:
    """Deflate bytes without a header."""
    packer = zlib.compressobj(9, zlib.DEFLATED, -zlib.MAX_WBITS, 9)
    return packer.compress(content) + packer.flush()


def _blocks(passages: Iterator[bytes]) -> Iterator[list[bytes]]:
    while block := list(islice(passages, PER_PACKED_BLOCK)):
        yield block


def _passage_texts(batches: Sequence[Batch]) -> Iterator[bytes]:
    """Yield the texts of passages, in order."""
    for batch in batches:
        content, starts = (
            batch.array("text").tobytes(),
            part_edges(batch.array("text_lengths").astype(np.int64)).tolist(),
        )
        yield from (content[start:end] for start, end in pairwise(starts))


def _block_starts(lengths: Integers) -> NDArray[np.uint64]:
    starts = part_edges(lengths)
    return np.append(starts[:-1][::PER_BLOCK], starts[-1]).astype(np.uint64)
