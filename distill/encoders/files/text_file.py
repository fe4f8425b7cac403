"""Read texts to encode from `{"id", "text"}` lines of a file that may be larger than memory."""

from __future__ import annotations

import hashlib
import shutil
import tempfile
from array import array
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext
from io import TextIOWrapper
from pathlib import Path

import numpy as np

from ...errors import DataError
from ...system.input_files import iter_jsonl, parse_line
from ...system.progress import task
from ...system.types import File

# Texts that are read and encoded at a time.
BLOCK = 4096
# Bytes from which on a check takes seconds.
LARGE = 100_000_000


@contextmanager
def make_rereadable(path: File) -> Iterator[File]:
    """Provide a path that can be read twice: the path itself, or for a pipe such as /dev/stdin that of a copy."""
    if not Path(path).exists() or Path(path).is_file() or Path(path).is_dir():
        yield path
        return
    with tempfile.TemporaryDirectory() as folder:
        copy = Path(folder) / Path(path).name
        with open(path, "rb") as source, open(copy, "wb") as target:
            shutil.copyfileobj(source, target)
        yield copy


class TextFile:
    """The texts of a JSON Lines file. All lines are checked first; the texts are then read block by block.

    During the check 9 bytes per text are held, and afterwards 8 bytes per block. `sha256` is that of the file. Raises
    `DataError` if a line is malformed, with its number.
    """

    def __init__(self, path: File, block: int = BLOCK) -> None:
        self.path, self.block = Path(path).absolute(), block
        self._stamp = _stamp(path)
        with task("check texts", None) if self._stamp[0] > LARGE else nullcontext() as advance:
            lines, self.count = _check(path, block, advance)
            self.sha256, self._starts = _places(path, lines)

    def __len__(self) -> int:
        return self.count

    def __iter__(self) -> Iterator[str]:
        for number in range(self.blocks):
            yield from self.read(number)

    @property
    def blocks(self) -> int:
        return len(self._starts)

    def rows(self, number: int) -> int:
        return min(self.block, self.count - number * self.block)

    def read(self, number: int) -> list[str]:
        """Return the texts of a block. Raises `DataError` if the file has changed since it was checked."""
        try:
            with open(self.path, "rb") as file:
                file.seek(self._starts[number])
                lines = (line for line in TextIOWrapper(file, "utf-8-sig") if line.strip())
                return [parse_line(self.path, 0, next(lines))["text"] for _ in range(self.rows(number))]
        except OSError as error:
            raise DataError(f"{self.path}: cannot be read: {error.strerror}") from error
        except (DataError, ValueError, LookupError, StopIteration, RuntimeError) as error:
            raise self._changed_error() from error

    def require_unchanged(self) -> None:
        """Raise `DataError` if the file was written to since it was checked."""
        if _stamp(self.path) != self._stamp:
            raise self._changed_error()

    def _changed_error(self):
        return DataError(f"{self.path}: changed while it was being encoded; encode it again")


def _stamp(path):
    """Return the size, time and identity of a file, which change if it is written to."""
    try:
        said = Path(path).stat()
    except OSError as error:
        raise DataError(f"{path}: cannot be read: {error.strerror}") from error
    return said.st_size, said.st_mtime_ns, said.st_ino


def _check(path, block, advance=None):
    """Return the line numbers at which blocks start, and the number of texts."""
    lines, hashes = array("q"), array("q")
    for number, row in iter_jsonl(path):
        _require_text(path, number, row)
        if len(hashes) % block == 0:
            lines.append(number)
            if advance and hashes:
                advance(block)
        hashes.append(hash(row["id"]))
    if not hashes:
        raise DataError(f'{path}: no texts in it; write one object a line, such as {{"id": "1", "text": "…"}}')
    count = len(hashes)
    _require_distinct(path, hashes)
    return lines, count


def _require_text(path, number, row):
    text, id = row.get("text"), row.get("id")
    if not isinstance(text, str) or not text.strip():
        raise DataError(f"{path}, line {number}: expected a non-empty string under 'text', got {text!r}")
    if not isinstance(id, (str, int)) or isinstance(id, bool):
        raise DataError(f"{path}, line {number}: expected a string or a whole number under 'id', got {id!r}")


def _require_distinct(path, hashes):
    """Compare the ids of equal hashes, because -1 and -2 have the same hash."""
    ordered = np.frombuffer(hashes, np.int64)
    ordered.sort()
    twice, seen = set(ordered[1:][ordered[1:] == ordered[:-1]].tolist()), set()
    for number, row in iter_jsonl(path) if twice else ():
        if hash(row["id"]) in twice:
            if row["id"] in seen:
                raise DataError(f"{path}, line {number}: duplicate id {row['id']!r}")
            seen.add(row["id"])


def _places(path, lines):
    """Return the sha256 of the file, and the byte offsets of lines, given their numbers in order."""
    digest, starts = hashlib.sha256(), array("q")
    number = place = 0
    with open(path, "rb") as file:
        for part in file:
            digest.update(part)
            # As text files are read, a carriage return alone ends a line too.
            for line in part.splitlines(keepends=True):
                number += 1
                if len(starts) < len(lines) and lines[len(starts)] == number:
                    starts.append(place)
                place += len(line)
    return digest.hexdigest(), starts
