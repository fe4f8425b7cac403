"""Remember the file of each document of an index in `sources.bin` beside `index.bin`, which only `index` reads.

| section | type | |
|---|---|---|
| `files` | uint8 | a JSON list of files: the path from the index's folder, and the path as it is in ids |
| `ids` | uint64 | the hash of each document's id, ascending |
| `file_of` | uint32 | the number of its file |
"""

from __future__ import annotations

import json
import os
import shlex
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from ..documents.document import Source, locate_file
from ..errors import DataError
from ..system.sections import read_sections, write_sections
from ..system.types import File
from .index_file import Index, hash_id

SOURCES = "sources.bin"


@dataclass(frozen=True)
class Sources:
    """The file of each document.

    `file_of` is `{hash of an id: absolute path}`, and `names` are the files' names in ids.
    """

    file_of: Mapping[int, str]
    names: Mapping[str, str]

    def within(self, paths: Iterable[File]) -> list[int]:
        """Return the hashes of the documents whose files are among the given paths or inside them."""
        roots = [(locate_file(path), Path(path).as_posix()) for path in paths]
        inside = {file: _is_inside(file, self.names[file], roots) for file in set(self.file_of.values())}
        return [hash for hash, file in self.file_of.items() if inside[file]]

    def apply_change(self, taken_in: Mapping[int, Source], out: Collection[int]) -> Sources:
        """Return the sources after a change.

        Args:
            taken_in: The sources of documents that came in, by the hash of their id.
            out: The hashes of documents that were removed.

        Returns:
            The sources.
        """
        kept = {hash: file for hash, file in self.file_of.items() if hash not in out}
        names = {source.place: source.name for source in taken_in.values()}
        return Sources({**kept, **{hash: one.place for hash, one in taken_in.items()}}, {**self.names, **names})

    def write(self, folder: Path) -> None:
        """Write the file into an index's folder."""
        files = sorted(set(self.file_of.values()))
        numbers = {file: number for number, file in enumerate(files)}
        base = os.path.realpath(folder)
        listed = [[os.path.relpath(file, base), self.names[file]] for file in files]
        hashes = np.array(sorted(self.file_of), dtype=np.uint64)
        write_sections(
            folder / SOURCES,
            {
                "files": np.frombuffer(json.dumps(listed).encode(), dtype=np.uint8),
                "ids": hashes,
                "file_of": np.array([numbers[self.file_of[hash]] for hash in hashes.tolist()], dtype=np.uint32),
            },
        )


def read_sources(folder: Path, known: Index | None) -> Sources:
    """Return the sources of an index's documents. Without the file they are those of files that are one document each.

    Args:
        folder: The folder of the index.
        known: The index, or None.

    Returns:
        The sources.

    Raises:
        DataError: If the file is malformed.
    """
    if known is None:
        return Sources({}, {})
    file_of, names = _read_stored(folder) if (folder / SOURCES).is_file() else ({}, {})
    for fields in known.all_fields():
        path = fields.get("path")
        if path == fields["id"] and isinstance(path, str) and hash_id(path) not in file_of:
            place = locate_file(path)
            file_of[hash_id(path)] = place
            names.setdefault(place, path)
    ids = known.ids
    return Sources({hash: file for hash, file in file_of.items() if hash in ids}, names)


def _read_stored(folder: Path) -> tuple[dict[int, str], dict[str, str]]:
    path, base = folder / SOURCES, os.path.realpath(folder)
    try:
        sections = read_sections(path)
        listed = json.loads(sections["files"].tobytes())
        files = [os.path.normpath(os.path.join(base, place)) for place, _ in listed]
        names = {file: str(name) for file, (_, name) in zip(files, listed, strict=True)}
        pairs = zip(sections["ids"].tolist(), sections["file_of"].tolist(), strict=True)
        return {hash: files[number] for hash, number in pairs}, names
    except (DataError, KeyError, ValueError, TypeError, IndexError, RecursionError) as error:
        raise DataError(
            f"{path}: cut short, or not of distill index; remove it, and the documents given again make it anew: "
            f"distill index --documents FOLDER --output {shlex.quote(str(folder))}"
        ) from error


def _is_inside(file, name, roots):
    """Compare places, or for a file that is not there, because an index was moved, names."""
    if any(file == root or file.startswith(os.path.join(root, "")) for root, _ in roots):
        return True
    return not os.path.exists(file) and any(name == typed or name.startswith(f"{typed}/") for _, typed in roots)
