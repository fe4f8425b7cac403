"""Batches of documents on disk: read and cut in one pass, and encoded in another, in any order.

A batch is two files named after everything that it depends on, so that the same command finds its earlier work:
"KEY.texts" and "KEY.vectors", both files of sections. A batch that is there is on the disk, and not only said to be.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from ...retrieval.blocks import part_edges, rows_of
from ...retrieval.codes import WHOLE, quantise_to_bits
from ...system.sections import read_sections, write_sections
from ...system.text import drop_soft_hyphens
from ...system.types import Floats, Json
from ...vocabulary.words.cutting import PassageSpan
from ..documents.document import Document
from .index_file import Index

# Documents of a batch and their characters, at most; of a longer document more.
DOCUMENTS, CHARACTERS = 2048, 2**20
TEXTS, VECTORS = ".texts", ".vectors"
# Of a passage that is not in the index yet.
NEW = -1


class Batch(Protocol):
    """Documents as an index stores them, by the names of arrays, from files of a stopped command or from an index.

    | name | |
    |---|---|
    | `documents`, `document_lengths` | uint8: a JSON object per document, end to end, and the bytes of each |
    | `passage_counts`, `sentence_counts` | uint32: passages of each document, sentences of each passage |
    | `passage_offsets`, `text`, `text_lengths` | uint32, uint8, uint32: as in an index |
    | `sentence_bounds` | uint32 (m, 2): as in an index |
    | `passage_vectors`, `passage_scales`, `sentence_vectors`, `sentence_scales` | as in an index |
    """

    def array(self, name: str) -> NDArray[np.generic]: ...


def group_documents(documents: Iterable[Document]) -> Iterator[list[Document]]:
    """Yield the documents in lists, of which one is held at a time."""
    held: list[Document] = []
    characters = 0
    for document in documents:
        held.append(document)
        characters += len(document.text)
        if len(held) == DOCUMENTS or characters >= CHARACTERS:
            yield held
            held, characters = [], 0
    if held:
        yield held


def make_key(documents: Sequence[Document], made_of: Mapping[str, Json]) -> str:
    """Return the name of a batch."""
    total = hashlib.sha256(json.dumps(made_of, sort_keys=True).encode())
    for document in documents:
        parts = [[part.start, part.end, part.sentences, part.language] for part in document.parts]
        said = json.dumps([document.fields, parts, document.language, document.text])
        total.update(hashlib.sha256(said.encode()).digest())
    return total.hexdigest()[:32]


def write_texts(path: Path, documents: Sequence[Document], known: Index | None) -> None:
    """Write the passages of documents, and the rows of those that are in an index already."""
    names = ("document_lengths", "passage_counts", "sentence_counts", "passage_offsets", "text_lengths", "copied")
    numbers: dict[str, list[int]] = {name: [] for name in names}
    objects, texts, all_bounds = [], [], []
    for document in documents:
        objects.append(json.dumps(document.fields, ensure_ascii=False).encode("utf-8", "replace"))
        offsets, parts, bounds = _encode_places(document.text, document.passages)
        numbers["document_lengths"].append(len(objects[-1]))
        numbers["passage_counts"].append(len(parts))
        numbers["sentence_counts"] += [len(pairs) for pairs in bounds]
        numbers["passage_offsets"] += offsets
        numbers["text_lengths"] += [len(part) for part in parts]
        numbers["copied"] += known.rows_of(document.id, parts, bounds) if known else [NEW] * len(parts)
        texts += parts
        all_bounds += [pair for pairs in bounds for pair in pairs]
    kinds = {"copied": np.int32}
    write_sections(
        path,
        {
            **{name: np.array(values, dtype=kinds.get(name, np.uint32)) for name, values in numbers.items()},
            "documents": np.frombuffer(b"".join(objects), dtype=np.uint8),
            "text": np.frombuffer(b"".join(texts), dtype=np.uint8),
            "sentence_bounds": np.array(all_bounds, dtype=np.uint32).reshape(-1, 2),
        },
        synced=True,
    )


def _encode_places(text: str, parts: Sequence[PassageSpan]):
    """Return the offsets of passages, their texts and their sentences' bounds, in UTF-8."""
    offsets, texts, bounds = [], [], []
    place = offset = 0
    for piece in parts:
        # Passages may overlap: what lies between two begins is counted once, in one direction or the other.
        ahead = piece.start >= place
        between = len(_utf8(text[place : piece.start] if ahead else text[piece.start : place]))
        place, offset = piece.start, offset + (between if ahead else -between)
        passage = text[piece.start : piece.end]
        offsets.append(offset)
        texts.append(_utf8(passage))
        bounds.append(_byte_bounds(passage, piece.sentences, len(texts[-1])))
    return offsets, texts, bounds


def _byte_bounds(text, places, size):
    if size == len(text):
        return list(places)
    return [(len(_utf8(text[:start])), len(_utf8(text[:end]))) for start, end in places]


def _utf8(text):
    return text.encode("utf-8", "replace")


@dataclass(frozen=True)
class Batches:
    """The batches of a folder by number, as an engine encodes them.

    The texts of a batch are its new passages and, with `with_sentences`, their sentences. Vectors are stored in `bits`
    per number.
    """

    folder: Path
    keys: Sequence[str]
    with_sentences: bool
    bits: int = WHOLE
    block: int = 0

    @property
    def blocks(self) -> int:
        return len(self.keys)

    def path(self, number: int, ending: str) -> Path:
        return self.folder / f"{self.keys[number]}{ending}"

    @property
    def missing(self) -> list[int]:
        """The numbers of the batches without vectors. Of two equal batches only the first is listed."""
        first: dict[str, int] = {}
        for number, key in enumerate(self.keys):
            first.setdefault(key, number)
        return [number for number in first.values() if not self.path(number, VECTORS).exists()]

    def rows(self, number: int) -> int:
        arrays = self.texts(number)
        new = arrays["copied"] == NEW
        return int(new.sum() + (arrays["sentence_counts"][new].sum() if self.with_sentences else 0))

    def read(self, number: int) -> list[str]:
        return list(self.iter_texts(number))

    def iter_texts(self, number: int) -> Iterator[str]:
        """Yield the texts that are encoded for a batch, each without the soft hyphens that stay in what is shown."""
        arrays = self.texts(number)
        content, starts = arrays["text"].tobytes(), part_edges(arrays["text_lengths"].astype(np.int64))
        new = np.flatnonzero(arrays["copied"] == NEW)
        for row in new:
            yield drop_soft_hyphens(content[starts[row] : starts[row + 1]].decode())
        sentences = part_edges(arrays["sentence_counts"].astype(np.int64))
        for row in new if self.with_sentences else ():
            passage = content[starts[row] : starts[row + 1]]
            for start, end in arrays["sentence_bounds"][sentences[row] : sentences[row + 1]].tolist():
                yield drop_soft_hyphens(passage[start:end].decode())

    def texts(self, number: int) -> dict[str, NDArray[np.generic]]:
        """Return the arrays of a batch's texts."""
        return read_sections(self.path(number, TEXTS))

    def write(self, number: int, parts: Iterable[Floats], known: Index | None) -> None:
        """Write the codes of a batch from the vectors of its texts, in parts `(rows, d)`; `known` has the others."""
        arrays = self.texts(number)
        copied, counts = arrays["copied"], arrays["sentence_counts"].astype(np.int64)
        new = copied == NEW
        split, (codes, scales) = int(new.sum()), self._quantise(parts, self.rows(number))
        stored = _fill_rows("passage", new, copied, (codes[:split], scales[:split]), known)
        if self.with_sentences:
            which = np.repeat(new, counts)
            rows = np.full(len(which), NEW)
            if known and not which.all():
                rows[~which] = rows_of(known.array("sentence_starts"), copied[~new].astype(np.int64))
            stored |= _fill_rows("sentence", which, rows, (codes[split:], scales[split:]), known)
        write_sections(self.path(number, VECTORS), stored, synced=True)

    def _quantise(self, parts, rows):
        """Return the codes and scales of all parts, of whose vectors one part is held at a time."""
        codes = scales = np.zeros(0)
        end = 0
        for part in parts:
            of_part = quantise_to_bits(part, self.bits)
            if not end:
                codes, scales = (np.empty((rows, *one.shape[1:]), one.dtype) for one in of_part)
            start, end = end, end + len(part)
            codes[start:end], scales[start:end] = of_part
        return codes, scales

    def batch(self, number: int) -> StoredBatch:
        return StoredBatch(self.path(number, TEXTS), self.path(number, VECTORS))


@dataclass(frozen=True)
class StoredBatch:
    """A batch of two files."""

    texts: Path
    vectors: Path

    def array(self, name: str) -> NDArray[np.generic]:
        return read_sections(self.vectors if name.endswith(("_vectors", "_scales")) else self.texts)[name]


def _fill_rows(kind, new, rows, codes_and_scales, known):
    """Return codes and scales of rows: new ones as given, the others from an index."""
    stored: dict[str, NDArray[np.generic]] = {}
    for name, of_new in zip((f"{kind}_vectors", f"{kind}_scales"), codes_and_scales, strict=True):
        if new.all():
            stored[name] = of_new
            continue
        stored[name] = np.zeros((len(new), *of_new.shape[1:]), of_new.dtype)
        stored[name][new] = of_new
        if known:
            stored[name][~new] = known.array(name)[rows[~new]]
    return stored
