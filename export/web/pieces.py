"""Write `pieces.bin`: an encoder laid out for range requests, from which a page loads the parts that a question needs.

The section `core` holds what every question needs. A token is in the bucket of the prefix that it begins with, or in
the core if that prefix was divided further; an embedding is at the place of its id.
"""

from __future__ import annotations

import zlib
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise, repeat

import numpy as np
from numpy.typing import NDArray

from ...system.hashes import CHECK, add_check
from ...system.sections import TYPES, pack_sections, read_sections, write_sections
from ...system.types import File

# The most tokens of a bucket, which then has some 800 bytes when compressed.
MOST_PIECES = 64
NORMAL, USER_DEFINED, UNUSED = 1, 4, 5
# The number in the list `settings` of a table in two formats, and the part with the rows of the second format.
MIXED, SECOND = 3, 3
# The number of a table's parts that have a row for each id, by the number of its format.
ROW_PARTS = {0: 1, 1: 2, 2: 3, MIXED: 4}
VOCABULARY = ("pieces", "piece_starts", "piece_scores", "piece_types", "spellings")
Sections = Mapping[str, NDArray[np.generic]]


def write_pieces(encoder: File, output: File) -> None:
    sections = read_sections(encoder)
    vocabulary = Vocabulary.read(sections)
    keys, buckets, short = vocabulary.divide()
    contents = [deflate(vocabulary.content(ids)) for ids in buckets]
    starts = np.cumsum([0, *(len(content) + CHECK for content in contents)]).astype(np.uint32)
    parts = list(_row_parts(sections))
    core = {
        name: array for name, array in sections.items() if name not in {*VOCABULARY, *(part.name for part in parts)}
    }
    core |= {
        "always": vocabulary.content(sorted({*short, *vocabulary.required_ids(), *_first_rows(sections)})),
        "bucket_keys": np.frombuffer(b"".join(keys), np.uint8),
        "bucket_key_starts": np.cumsum([0, *map(len, keys)]).astype(np.uint32),
        "bucket_starts": starts,
        "row_parts": np.array([part.numbers for part in parts], np.int32),
    }
    first = add_check(deflate(pack_sections(core)))
    seed = int.from_bytes(first[-CHECK:], "little")
    checked = b"".join(map(add_check, contents, repeat(seed), starts.tolist()))
    rows = {f"rows.{group}": _records(parts, group, seed) for group in (0, 1)}
    joined = {name: np.frombuffer(part, np.uint8) for name, part in (("core", first), ("buckets", checked))}
    write_sections(output, joined | rows)


def deflate(content: bytes | NDArray[np.uint8]) -> bytes:
    """Compress bytes as raw deflate, which browsers can decompress."""
    packer = zlib.compressobj(9, zlib.DEFLATED, -zlib.MAX_WBITS)
    return packer.compress(bytes(content)) + packer.flush()


@dataclass(frozen=True)
class Vocabulary:
    """The tokens of an encoder: the bytes, the score and SentencePiece's type of each, by id."""

    pieces: Sequence[bytes]
    scores: NDArray[np.float32]
    types: NDArray[np.uint8]
    spelled: Mapping[int, Sequence[int]]

    @classmethod
    def read(cls, sections: Sections) -> Vocabulary:
        content, starts = sections["pieces"].tobytes(), sections["piece_starts"].tolist()
        pieces = [content[start:end] for start, end in zip(starts[:-1], starts[1:], strict=True)]
        spelled, rows = {}, int(sections["settings"][4])
        stored = sections.get("spellings", np.zeros(0, np.int32))
        ends = [-1, *np.flatnonzero(stored == -1).tolist()]
        for place, (before, end) in enumerate(pairwise(ends)):
            spelled[rows + place] = stored[before + 1 : end].tolist()
        scores, types = sections["piece_scores"].astype(np.float32), sections["piece_types"].astype(np.uint8)
        return cls(pieces, scores, types, spelled)

    def required_ids(self) -> list[int]:
        """Return the ids of control and user-defined tokens, and of the normal ones with the extreme scores."""
        normal = np.flatnonzero(self.types == NORMAL)
        ends = [normal[np.argmin(self.scores[normal])], normal[np.argmax(self.scores[normal])]] if len(normal) else []
        return [int(id) for id in (*np.flatnonzero((self.types != NORMAL) & (self.types != UNUSED)), *ends)]

    def divide(self) -> tuple[list[bytes], list[list[int]], list[int]]:
        """Divide the tokens into buckets by prefix.

        Returns prefixes, none of which begins another; the ids in the bucket of each; and the ids without a bucket.
        """
        looked_up = np.isin(self.types, (NORMAL, USER_DEFINED, UNUSED))
        ids = [id for id in np.flatnonzero(looked_up).tolist() if self.pieces[id]]
        keys, buckets, short = [], [], []
        waiting = [(b"", sorted(ids, key=lambda id: (self.pieces[id], id)))]
        while waiting:
            key, group = waiting.pop()
            if key and len(group) <= MOST_PIECES:
                keys.append(key)
                buckets.append(group)
                continue
            short += [id for id in group if self.pieces[id] == key]
            waiting += reversed(list(self._children(key, group)))
        return keys, buckets, short

    def _children(self, key: bytes, group: Sequence[int]) -> Iterator[tuple[bytes, list[int]]]:
        children: dict[bytes, list[int]] = {}
        for id in group:
            if self.pieces[id] != key:
                children.setdefault(self.pieces[id][: len(key) + 1], []).append(id)
        yield from children.items()

    def content(self, ids: Sequence[int]) -> NDArray[np.uint8]:
        """Return tokens as bytes: number, ids, scores, sizes, numbers of spelled ids, spelled ids, types and texts.

        Numbers are 4 bytes each, types one.
        """
        targets = [self.spelled.get(id, ()) for id in ids]
        columns = (
            np.array([len(ids), *ids], "<u4"),
            np.array([self.scores[id] for id in ids], "<f4"),
            np.array([len(self.pieces[id]) for id in ids], "<u4"),
            np.array([len(one) for one in targets], "<u4"),
            np.array([id for one in targets for id in one], "<u4"),
            np.array([self.types[id] for id in ids], np.uint8),
        )
        texts = b"".join(self.pieces[id] for id in ids)
        return np.frombuffer(b"".join(column.tobytes() for column in columns) + texts, np.uint8)


@dataclass(frozen=True)
class RowPart:
    """A part of the embedding table with one row for each id of a group, 0, or 1 for rows in a second format."""

    number: int
    group: int
    array: NDArray[np.generic]

    @property
    def name(self) -> str:
        return f"table.{self.number}"

    @property
    def numbers(self) -> list[int]:
        """The part's number, group, type and number of columns, as the page reads them."""
        kind = TYPES.index(self.array.dtype.newbyteorder("<"))
        return [self.number, self.group, kind, 1 if self.array.ndim == 1 else self.array.shape[1]]


def _row_parts(sections: Sections) -> Iterator[RowPart]:
    table = int(sections["settings"][7])
    for number in range(ROW_PARTS[table]):
        yield RowPart(number, int(table == MIXED and number == SECOND), sections[f"table.{number}"])


def _first_rows(sections: Sections) -> list[int]:
    """Return the first id of each group, so that no part of a question's own table is empty."""
    mixed = int(sections["settings"][7]) == MIXED
    return [0, int(sections["table.6"][0])] if mixed else [0]


def _records(parts: Sequence[RowPart], group: int, seed: int) -> NDArray[np.uint8]:
    """Return the rows of a group as bytes, with its parts side by side and a check behind each row."""
    arrays = [part.array.reshape(len(part.array), -1) for part in parts if part.group == group]
    if not arrays:
        return np.zeros((0, 1), np.uint8)
    joined = np.concatenate([np.ascontiguousarray(array).view(np.uint8) for array in arrays], axis=1)
    size = joined.shape[1] + CHECK
    checked = (add_check(row.tobytes(), seed, size * number) for number, row in enumerate(joined))
    return np.frombuffer(b"".join(checked), np.uint8).reshape(-1, size)
