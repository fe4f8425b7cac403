"""Pieces for what people type, behind the others: each stands for the pieces of a word as it is written.

A unigram model takes the best path through all of them, so words as typed are cut beside words as written, and what
reads the ids has no row more.
"""

from __future__ import annotations

import io
import zlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from zipfile import BadZipFile

import numpy as np

from ..errors import EncoderError
from ..system.types import Integers

FILE, IDS, END = "spellings.npz", "ids", -1


@dataclass(frozen=True)
class Spelling:
    """A `piece`, with U+2581 for a space, its `score`, and the `ids` of the pieces that it stands for."""

    piece: str
    score: float
    ids: tuple[int, ...]


@dataclass(frozen=True)
class Expansions:
    """The ids that pieces from the id `first` on stand for: of each those of `ids` from one of the `starts` on."""

    first: int
    ids: Integers
    starts: Integers

    @classmethod
    def of(cls, pieces: int, content: bytes, source: str) -> Expansions:
        """Those of a file's content, for a model of so many pieces in all. Raises `EncoderError` for another file's."""
        array = array_in(content, source)
        ends = np.flatnonzero(array == END) if array.ndim == 1 and array.dtype == np.int32 else np.zeros(0, np.int64)
        first, ids = pieces - len(ends), array[array != END] if len(ends) else array
        whole = len(ends) and ends[-1] == len(array) - 1
        if not (whole and 0 <= ids.min(initial=0) <= ids.max(initial=0) < first):
            raise EncoderError(f"{source}: not the spellings of a tokenizer of {pieces} pieces; export it again")
        return cls.in_array(first, array)

    @classmethod
    def in_array(cls, first: int, array: Integers) -> Expansions:
        """Those in an array that `stored` gave, behind `first` other pieces."""
        starts = np.append(0, np.flatnonzero(array == END) + 1)
        return cls(first, array[array != END], starts - np.arange(len(starts)))

    def __len__(self) -> int:
        return len(self.starts) - 1

    def expanded(self, ids: list[int]) -> list[int]:
        """The ids with those that a piece stands for in its place."""
        if max(ids) < self.first:
            return ids
        return [each for id in ids for each in ([id] if id < self.first else self[id - self.first])]

    def __getitem__(self, place: int) -> list[int]:
        return self.ids[self.starts[place] : self.starts[place + 1]].tolist()


def stored(spellings: Sequence[Spelling]) -> Integers:
    """Return the ids of each spelling and behind them -1, int32 `(n,)`."""
    return np.array([id for one in spellings for id in (*one.ids, END)], dtype=np.int32)


def array_in(content: bytes, source: str) -> Integers:
    """Return what `stored` gave, in the content of a file. Raises `EncoderError` for another file's."""
    try:
        with np.load(io.BytesIO(content), allow_pickle=False) as file:
            return file[IDS]
    except (ValueError, EOFError, OSError, KeyError, BadZipFile, zlib.error, AttributeError, TypeError) as error:
        raise EncoderError(f"{source}: not the spellings of a tokenizer; export it again") from error


def content_of(ids: Integers) -> bytes:
    """Return the content of the file of what `stored` gave."""
    file = io.BytesIO()
    np.savez_compressed(file, ids=ids)
    return file.getvalue()


def renumbered(spellings: Sequence[Spelling], places: Mapping[int, int]) -> list[Spelling]:
    """Return those whose pieces are all in `places`, `{old id: new id}`, by their new ids."""
    kept = [one for one in spellings if all(id in places for id in one.ids)]
    return [Spelling(one.piece, one.score, tuple(places[id] for id in one.ids)) for one in kept]
