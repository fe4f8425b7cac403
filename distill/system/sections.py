"""A file of named arrays that C, Java and a browser read where they lie, and NumPy maps into memory.

Little-endian. Bytes 0 to 7 are `distill` and a zero, then the version and the number of sections, both uint32, then an
entry of 64 bytes a section:

| bytes | |
|---|---|
| 0 to 23 | the name, ASCII, zeros behind it |
| 24 to 27 | the type, uint32: 0 uint8, 1 int8, 2 int32, 3 uint32, 4 float32, 5 uint64 |
| 28 to 31 | the number of dimensions, uint32: 1 or 2 |
| 32 to 47 | rows and columns, uint64 each; columns are 1 where there is one dimension, 0 only where there are no rows |
| 48 to 63 | offset from the begin of the file, and bytes, uint64 each |

Sections begin at multiples of 64, in the order of the entries; the file ends where the last one ends.
"""

from __future__ import annotations

import io
import math
import os
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ..errors import DataError, InputError
from .files import write_aside
from .types import File

MAGIC, VERSION, ALIGNMENT = b"distill\0", 1, 64
TYPES = tuple(np.dtype(name) for name in ("<u1", "<i1", "<i4", "<u4", "<f4", "<u8"))
HEAD = np.dtype([("magic", "S8"), ("version", "<u4"), ("count", "<u4")])
ENTRY = np.dtype(
    [
        *(("name", "S24"), ("type", "<u4"), ("dimensions", "<u4")),
        *(("rows", "<u8"), ("columns", "<u8"), ("offset", "<u8"), ("bytes", "<u8")),
    ]
)
# More than any of ours has; a file that is none may say any number.
MOST, WIDEST = 4096, 2**31


@dataclass(frozen=True)
class Rows:
    """An array that is never whole in memory: `blocks()` yields its rows in order."""

    dtype: np.dtype[np.generic]
    shape: tuple[int, ...]
    blocks: Callable[[], Iterable[NDArray[np.generic]]]

    @property
    def ndim(self) -> int:
        return len(self.shape)

    @property
    def nbytes(self) -> int:
        return math.prod(self.shape) * self.dtype.itemsize


def write_sections(path: File, arrays: Mapping[str, NDArray[np.generic] | Rows], synced: bool = False) -> None:
    """Write named arrays of one or two dimensions, whole or not at all; `Rows` are written block by block.

    `synced` as for `files.write_aside`.
    """
    with write_aside(path, synced) as aside, open(aside, "wb") as file:
        _put(file, arrays)


def pack_sections(arrays: Mapping[str, NDArray[np.generic]]) -> bytes:
    """Return the bytes of such a file. Raises `ValueError` if an array cannot be in one."""
    file = io.BytesIO()
    _put(file, arrays)
    return file.getvalue()


def _put(file, arrays):
    entries = _entries(arrays)
    file.write(np.array((MAGIC, VERSION, len(entries)), dtype=HEAD).tobytes() + entries.tobytes())
    for entry, array in zip(entries, arrays.values(), strict=True):
        file.write(bytes(int(entry["offset"]) - file.tell()))
        for block in array.blocks() if isinstance(array, Rows) else (array,):
            # Not `tofile`, which does not say why it fails.
            file.write(np.ascontiguousarray(block, dtype=TYPES[entry["type"]]).data)
        if file.tell() != entry["offset"] + entry["bytes"]:
            raise ValueError(f"section {_name(entry)!r}: its blocks have not the {entry['bytes']} bytes it says")


def read_sections(path: File) -> dict[str, NDArray[np.generic]]:
    """Return the arrays of a file by name, mapped into memory and read-only."""
    try:
        content = np.memmap(path, dtype=np.uint8, mode="r") if os.path.getsize(path) else np.zeros(0, dtype=np.uint8)
    except OSError as error:
        raise InputError(f"{path}: cannot be read: {error.strerror or error}") from error
    end = HEAD.itemsize
    head = np.frombuffer(content[:end].tobytes().ljust(end, b"\0"), dtype=HEAD)[0]
    if head["magic"] != MAGIC.rstrip(b"\0") or head["version"] != VERSION or head["count"] > MOST:
        raise DataError(f"{path}: no file of sections of version {VERSION}; write it again with this distill")
    end += int(head["count"]) * ENTRY.itemsize
    if len(content) < end:
        raise DataError(f"{path}: not whole: {len(content)} bytes, its head alone has {end}; write it again")
    entries = np.frombuffer(content[HEAD.itemsize : end].tobytes(), dtype=ENTRY)
    sections = {}
    for entry in entries:
        start, end = _locate_span(path, entry, end)
        if end > len(content):
            raise DataError(f"{path}: not whole: {len(content)} bytes where at least {end} should be; write it again")
        name = _name(entry)
        shape = (int(entry["rows"]), int(entry["columns"]))[: entry["dimensions"]]
        sections[name] = content[start:end].view(TYPES[entry["type"]]).reshape(shape)
    if len(content) != end or len(sections) != len(entries):
        raise DataError(f"{path}: {len(content)} bytes where {end} should be, or a name twice; write it again")
    return sections


def _entries(arrays):
    end, entries = HEAD.itemsize + len(arrays) * ENTRY.itemsize, []
    for name, array in arrays.items():
        rows, columns = (*array.shape, 1, 1)[:2]
        if not 1 <= array.ndim <= 2 or not name.isascii() or not 0 < len(name) <= 24 or (rows and not columns):
            raise ValueError(f"section {name!r} of the shape {array.shape}")
        start, kind = _align(end), TYPES.index(array.dtype.newbyteorder("<"))
        entries.append((name.encode("ascii"), kind, array.ndim, rows, columns, start, array.nbytes))
        end = start + array.nbytes
    return np.array(entries, dtype=ENTRY)


def _locate_span(path, entry, least):
    """Return the beginning and end of a section after `least`, as Python numbers, which do not overflow."""
    rows, columns, start, size = (int(entry[name]) for name in ("rows", "columns", "offset", "bytes"))
    known = entry["type"] < len(TYPES) and 1 <= entry["dimensions"] <= 2 and (columns == 1 or entry["dimensions"] == 2)
    # Rows of no numbers would have no bytes, whatever their number.
    shaped = columns < WIDEST and (columns or not rows)
    if not (known and shaped) or rows * columns * TYPES[entry["type"]].itemsize != size or start != _align(least):
        raise DataError(f"{path}: the entry of section {_name(entry)!r} says what cannot be; write the file again")
    return start, start + size


def _name(entry):
    return entry["name"].decode("ascii", "replace")


def _align(offset):
    return -(-offset // ALIGNMENT) * ALIGNMENT
