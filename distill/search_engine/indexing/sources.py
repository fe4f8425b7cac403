"""Remember the file of each document of an index in `sources.bin` beside `index.bin`, which only `index` reads.

| section | type | |
|---|---|---|
| `files` | uint8 | a JSON list of files: the path from the index's folder, and the path as it is in ids |
| `ids` | uint64 | the hash of each document's id, ascending |
| `file_of` | uint32 | the number of its file |

`index.bin` and this file cannot be replaced in one step. So what is true before and what is true after a change are
written first, both, then `index.bin`, and then what is true after it. Wherever a command stops, each document of
`index.bin` has its file here; one that had come from another file has two, and its hash is there twice.
"""

from __future__ import annotations

import json
import os
import shlex
from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from ...errors import DataError, InputError
from ...system.sections import read_sections, write_sections
from ...system.types import File
from ..documents.document import Source, locate_file
from .index_file import Index, hash_id

SOURCES = "sources.bin"
# Documents of which no more than half go unasked.
MANY = 20


@dataclass(frozen=True)
class Sources:
    """The files of each document.

    `files_of` is `{hash of an id: absolute paths}`, of which there is one unless a command stopped, and `names` are the
    files' names in ids.
    """

    files_of: Mapping[int, tuple[str, ...]]
    names: Mapping[str, str]

    def within(self, paths: Iterable[File]) -> list[int]:
        """Return the hashes of the documents whose files are among the given paths or inside them."""
        roots = [(locate_file(path), Path(path).as_posix()) for path in paths]
        inside = {file for file in self._list_files() if _is_inside(file, self.names[file], roots)}
        return [hash for hash, files in self.files_of.items() if not inside.isdisjoint(files)]

    def _list_files(self):
        return {file for files in self.files_of.values() for file in files}

    def require_most(self, paths: Iterable[File], taken_in: Mapping[int, Source], gone: Collection[int]) -> None:
        """Raise `InputError` if a file or a folder has lost so much that it may not be what it was.

        A disk that is not mounted is an empty folder. So none of the documents may be left out in any of `paths`, or
        more than half of `MANY` or more.
        """
        come = Sources({}, {}).apply_change(taken_in, ())
        for path in paths:
            known = self.within([path])
            lost = sum(hash in gone for hash in known)
            is_empty = 0 < lost == len(known) and not come.within([path])
            if is_empty or (len(known) >= MANY and 2 * lost > len(known)):
                raise InputError(
                    f"{path}: {lost} of its {len(known)} documents would be taken out, as if a disk were not mounted; "
                    "if they are meant to go, add --remove-most"
                )

    def apply_change(self, taken_in: Mapping[int, Source], out: Collection[int]) -> Sources:
        """Return the sources after a change."""
        kept = {hash: files for hash, files in self.files_of.items() if hash not in out}
        names = {source.place: source.name for source in taken_in.values()}
        come = {hash: (source.place,) for hash, source in taken_in.items()}
        return Sources({**kept, **come}, {**self.names, **names})

    def join(self, other: Sources) -> Sources:
        """Return the files that either of two says of a document."""
        files_of = {**self.files_of, **other.files_of}
        for hash in self.files_of.keys() & other.files_of.keys():
            files_of[hash] = tuple(sorted({*self.files_of[hash], *other.files_of[hash]}))
        return Sources(files_of, {**self.names, **other.names})

    def write(self, folder: Path) -> None:
        """Write the file into an index's folder."""
        files = sorted(self._list_files())
        numbers = {file: number for number, file in enumerate(files)}
        base = os.path.realpath(folder)
        listed = [[os.path.relpath(file, base), self.names[file]] for file in files]
        pairs = [(hash, numbers[file]) for hash in sorted(self.files_of) for file in self.files_of[hash]]
        write_sections(
            folder / SOURCES,
            {
                "files": np.frombuffer(json.dumps(listed).encode(), dtype=np.uint8),
                "ids": np.array([hash for hash, _ in pairs], dtype=np.uint64),
                "file_of": np.array([number for _, number in pairs], dtype=np.uint32),
            },
        )


def read_sources(folder: Path, known: Index | None) -> Sources:
    """Return the sources of an index's documents; without the file, those of files that are one document each."""
    if known is None:
        return Sources({}, {})
    files_of, names = _read_stored(folder) if (folder / SOURCES).is_file() else ({}, {})
    for fields in known.all_fields():
        path = fields.get("path")
        if path == fields["id"] and isinstance(path, str) and hash_id(path) not in files_of:
            place = locate_file(path)
            files_of[hash_id(path)] = (place,)
            names.setdefault(place, path)
    ids = known.ids
    return Sources({hash: files for hash, files in files_of.items() if hash in ids}, names)


def _read_stored(folder: Path) -> tuple[dict[int, tuple[str, ...]], dict[str, str]]:
    path, base = folder / SOURCES, os.path.realpath(folder)
    try:
        sections = read_sections(path)
        listed = json.loads(sections["files"].tobytes())
        files = [os.path.normpath(os.path.join(base, place)) for place, _ in listed]
        names = {file: str(name) for file, (_, name) in zip(files, listed, strict=True)}
        files_of: dict[int, tuple[str, ...]] = {}
        for hash, number in zip(sections["ids"].tolist(), sections["file_of"].tolist(), strict=True):
            files_of[hash] = (*files_of.get(hash, ()), files[number])
        return files_of, names
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
