"""`clusters.bin`: an index laid out for ranges, of which a page loads the lists and records that a question needs."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from itertools import repeat

import numpy as np
from numpy.typing import NDArray

from ...errors import ExportError, InputError
from ...export.web.site import name_encoders
from ...retrieval.blocks import counts_of, rows_of
from ...settings.choices import PASSAGE_SCORES
from ...system.hashes import CHECK, add_check
from ...system.progress import task
from ...system.sections import Rows, pack_sections, write_sections
from ...system.types import File, Integers
from .cluster_coder import PLACES, Coder, Vectors, round_rows, sort_into_lists
from .index_file import WEIGHT, Index

# Records begin at multiples of it, so that a place fits into three bytes.
UNIT = 64
# Sizes in units that a byte tells: so many as it says, and from 128 eighths of a power of two.
SIZES = np.array([size if size < 128 else (8 + size % 8) << (size // 8 - 12) for size in range(256)])
# Passages that are written at once.
BLOCK = 1024
PLACE = 2**24
HEAD = np.dtype([(name, "<u4") for name in ("bytes", "row", "sentences", "vectors", "text", "document")])


@dataclass(frozen=True)
class Records:
    """The records of an index's passages, in the `order` of a file."""

    index: Index
    coder: Coder
    order: Integers

    def contents(self, rows: Integers) -> Iterator[bytes]:
        """Yield the records of passages: a head of six uint32, scales, bounds, vectors, text and document, then zeros.

        The head has the bytes of the record, the row, the number of sentences, and the bytes of the vectors, of the
        text, and of the document. The passage's vector comes first, then those of its sentences, turned and in 8 bits.
        """
        vectors, scales = round_rows(self.coder.turn(self._vectors(rows)))
        ends = np.cumsum(1 + self._sentences[rows]).tolist()
        for row, start, end in zip(rows.tolist(), [0, *ends], ends, strict=False):
            yield self._content(row, vectors[start:end], scales[start:end])

    def _content(self, row, vectors, scales):
        bounds = self.index.bounds(row) if self.index.has_sentences else np.zeros((0, 2))
        text, document = self.index.text(row), self._document(row)
        content = b"".join((scales.tobytes(), bounds.astype("<u4").tobytes(), vectors.tobytes(), text, document))
        size = HEAD.itemsize + len(content)
        head = np.array((size, row, len(bounds), vectors.nbytes, len(text), len(document)), HEAD)
        return (head.tobytes() + content).ljust(int(self._sizes[self._places[row]]) * UNIT - CHECK, b"\0")

    def _vectors(self, rows):
        """Return the vector of each passage, followed by those of its sentences, if there are any."""
        passages = self.index.vectors("passage", rows)
        if not self.index.has_sentences:
            return passages
        counts = self._sentences[rows]
        ends = np.cumsum(1 + counts)
        vectors, wholes = np.empty((ends[-1], passages.shape[1]), np.float32), np.zeros(ends[-1], bool)
        wholes[ends - counts - 1] = True
        vectors[wholes] = passages
        vectors[~wholes] = self.index.vectors("sentence", rows_of(self.index.array("sentence_starts"), rows))
        return vectors

    def _document(self, row):
        document = int(self.index.array("document_of")[row])
        start, end = self.index.array("document_starts")[document : document + 2].tolist()
        return self.index.array("documents")[start:end].tobytes()

    @cached_property
    def _sentences(self) -> Integers:
        if not self.index.has_sentences:
            return np.zeros(self.index.passages, np.int64)
        return counts_of(self.index.array("sentence_starts"), np.arange(self.index.passages))

    @cached_property
    def _codes(self) -> Integers:
        """The byte that tells the size of each record, in the file's order."""
        array, rows = self.index.array, self.order
        sentences = self._sentences[rows]
        documents = np.diff(array("document_starts").astype(np.int64))[array("document_of")[rows]]
        sizes = HEAD.itemsize + (1 + sentences) * (4 + self.coder.width) + 8 * sentences + CHECK
        codes = np.searchsorted(SIZES, -(-(sizes + array("text_lengths")[rows].astype(np.int64) + documents) // UNIT))
        if codes.max(initial=0) >= len(SIZES):
            raise ExportError(f"{self.index.path}: a passage and its document take more than {SIZES[-1] * UNIT} bytes")
        return codes

    @cached_property
    def _sizes(self) -> Integers:
        """The size of each record in units, in the file's order."""
        return SIZES[self._codes]

    @cached_property
    def _starts(self) -> Integers:
        """The first unit of each record, in the file's order."""
        return np.cumsum(self._sizes) - self._sizes

    @cached_property
    def _places(self) -> Integers:
        """The place of each passage in the file's order."""
        return np.argsort(self.order)

    @cached_property
    def units(self) -> NDArray[np.uint32]:
        """The first unit of each passage's record, and in the highest byte its size."""
        starts = self._starts
        if len(starts) and starts[-1] >= PLACE:
            raise ExportError(
                f"{self.index.path}: records of {starts[-1] * UNIT / 1e9:.1f} GB, a page of ranges holds "
                f"{PLACE * UNIT / 1e9:.1f}; make indexes of parts"
            )
        units = np.zeros(self.index.passages, np.uint32)
        units[self.order] = starts | self._codes * PLACE
        return units

    def section(self, seed: int) -> Rows:
        """Return all records, with their checks, as a section of a file; they are never in memory together."""
        total = int(self._sizes.sum()) * UNIT
        return Rows(np.dtype(np.uint8), (total,), lambda: self._blocks(seed))

    def _blocks(self, seed: int) -> Iterator[NDArray[np.uint8]]:
        with task("write records", len(self.order)) as advance:
            for start in range(0, len(self.order), BLOCK):
                rows, places = self.order[start : start + BLOCK], self._starts[start : start + BLOCK] * UNIT
                checked = map(add_check, self.contents(rows), repeat(seed), places.tolist())
                yield np.frombuffer(b"".join(checked), np.uint8)
                advance(len(rows))


VERSION, NUMBERS = 2, 16
# Vectors in a list, and the most lists: the page loads a centroid of each before its first question.
LIST, MOST_LISTS = 200, 1024
# Vectors of which centroids, axes and codewords are learned.
SAMPLE = 50_000
# What a question loads of lists and of records at most, in bytes.
LIST_BYTES, RECORD_BYTES = 68_000, 34_000
TITLES = 10


def write_clusters(index: File, output: File, seed: int = 0) -> None:
    """Write the `clusters.bin` of the index in a folder.

    Raises `ExportError` if the index is larger than a page can hold, and `InputError` if it has fewer bits than 8,
    words or no passage.
    """
    stored = Index(index)
    _require_plain(stored)
    vectors, random = Vectors(stored), np.random.default_rng(seed)
    count = len(vectors.passage_of)
    sample = vectors.rows(np.sort(random.permutation(count)[:SAMPLE]))
    coder = Coder.learn(sample, int(np.clip(count // LIST, 1, MOST_LISTS)), random)
    lists = sort_into_lists(vectors, coder)
    records = Records(stored, coder, lists.order)
    core = add_check(pack_sections({**_head(stored, coder), **coder.sections(), "list_starts": lists.starts}))
    seed = int.from_bytes(core[-CHECK:], "little")
    content = lists.content(records.units, seed)
    parts = {name: np.frombuffer(part, np.uint8) for name, part in (("core", core), ("lists", content))}
    write_sections(output, {**parts, "records": records.section(seed)})


def _require_plain(index: Index) -> None:
    kinds = {"of fewer bits than 8 a number": index.bits != 8, "that finds words": index.has_words}
    kinds["of no passage"] = not index.passages
    for kind in (kind for kind, holds in kinds.items() if holds):
        raise InputError(f"{index.path}: a page of ranges takes no index {kind}; make one with distill index alone")


def _head(index: Index, coder: Coder) -> dict[str, NDArray[np.generic]]:
    numbers = [VERSION, index.axes, coder.width, PLACES, PASSAGE_SCORES.index(index.score)]
    numbers += [index.passages, LIST_BYTES, RECORD_BYTES, UNIT, index.numbers[WEIGHT]]
    rows = np.linspace(0, index.documents - 1, min(TITLES, index.documents)).astype(int)
    titles = [title for row in rows.tolist() if (title := index.fields(row).get("title"))]
    card = json.dumps({**name_encoders(index.card), "titles": titles}, ensure_ascii=False).encode()
    return {
        "numbers": np.array(numbers + [0] * (NUMBERS - len(numbers)), np.int32),
        "card": np.frombuffer(card, np.uint8),
    }
