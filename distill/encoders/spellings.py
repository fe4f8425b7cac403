"""Tokens for noisy text, after the other tokens: each is an alias for the tokens of a word in its clean spelling.

A unigram model takes the best path through all tokens, so noisy words are tokenized beside clean ones, and the table
needs no additional embeddings.
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
    """An alias: its `piece`, with U+2581 for a space, its `score`, and the `ids` of the tokens that it stands for."""

    piece: str
    score: float
    ids: tuple[int, ...]


@dataclass(frozen=True)
class Expansions:
    """The ids that aliases stand for: those of id `first + i` are `ids[starts[i]:starts[i + 1]]`."""

    first: int
    ids: Integers
    starts: Integers

    @classmethod
    def of(cls, pieces: int, content: bytes, source: str) -> Expansions:
        """Parse the content of a file for a model of so many `pieces`, aliases included."""
        array = parse_spellings(content, source)
        ends = np.flatnonzero(array == END) if array.ndim == 1 and array.dtype == np.int32 else np.zeros(0, np.int64)
        first, ids = pieces - len(ends), array[array != END] if len(ends) else array
        whole = len(ends) and ends[-1] == len(array) - 1
        if not (whole and 0 <= ids.min(initial=0) <= ids.max(initial=0) < first):
            raise EncoderError(f"{source}: not the spellings of a tokenizer of {pieces} pieces; export it again")
        return cls.in_array(first, array)

    @classmethod
    def in_array(cls, first: int, array: Integers) -> Expansions:
        """Make expansions of an array that `pack_spellings` returned."""
        starts = np.append(0, np.flatnonzero(array == END) + 1)
        return cls(first, array[array != END], starts - np.arange(len(starts)))

    def __len__(self) -> int:
        return len(self.starts) - 1

    def expand(self, ids: list[int]) -> list[int]:
        """Replace each alias among ids by the ids that it stands for."""
        if max(ids) < self.first:
            return ids
        return [each for id in ids for each in ([id] if id < self.first else self[id - self.first])]

    def __getitem__(self, place: int) -> list[int]:
        return self.ids[self.starts[place] : self.starts[place + 1]].tolist()


def pack_spellings(spellings: Sequence[Spelling]) -> Integers:
    """Return the ids of each alias, each followed by -1, int32 `(n,)`."""
    return np.array([id for one in spellings for id in (*one.ids, END)], dtype=np.int32)


def parse_spellings(content: bytes, source: str) -> Integers:
    """Read the array that `pack_spellings` returned from the content of a file."""
    try:
        with np.load(io.BytesIO(content), allow_pickle=False) as file:
            return file[IDS]
    except (ValueError, EOFError, OSError, KeyError, BadZipFile, zlib.error, AttributeError, TypeError) as error:
        raise EncoderError(f"{source}: not the spellings of a tokenizer; export it again") from error


def serialise_spellings(ids: Integers) -> bytes:
    """Return the content of the file for an array that `pack_spellings` returned."""
    file = io.BytesIO()
    np.savez_compressed(file, ids=ids)
    return file.getvalue()


def renumber_spellings(spellings: Sequence[Spelling], places: Mapping[int, int]) -> list[Spelling]:
    """Keep the aliases whose tokens are all kept, with new ids."""
    kept = [one for one in spellings if all(id in places for id in one.ids)]
    return [Spelling(one.piece, one.score, tuple(places[id] for id in one.ids)) for one in kept]
