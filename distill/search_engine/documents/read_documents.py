"""Read documents from files and folders, in the given order."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace
from pathlib import Path

from ...errors import DataError, InputError
from ...system.files import usable_path
from ...system.types import File
from .document import Document, Source, locate_file
from .folders import find_documents
from .formats import find_reader
from .limits import Meter, ReadingLimits
from .records import Columns
from .skipped_files import SkippedFiles

DEFAULT, USUAL = Columns(), ReadingLimits()


def read_documents(
    paths: Iterable[File],
    columns: Columns = DEFAULT,
    skipped: SkippedFiles | None = None,
    names: Mapping[str, str] | None = None,
    limits: ReadingLimits = USUAL,
) -> Iterator[Document]:
    """Yield the documents of files and folders, those of a folder in the order of their paths, and each file once.

    Ids may occur twice.

    Args:
        columns: The names of fields of records.
        skipped: Collects files without text or of no format. Without it they raise an error.
        names: The names of files in ids, by `locate_file`, if these are not their paths.
        limits: The limits of each document. One beyond them is left out.

    Raises:
        DataError: If something is no document, with file and line, unless `skipped` is given.
    """
    skipped, seen = skipped or SkippedFiles(strict=True), set()
    for path in paths:
        for file in _files(path, skipped):
            place = locate_file(file)
            if place not in seen:
                seen.add(place)
                source = Source(file, (names or {}).get(place, file.as_posix()), place)
                yield from _documents(source, columns, skipped, Meter(source.name, limits))


def _files(path: File, skipped: SkippedFiles) -> Iterator[Path]:
    path = usable_path(path)
    if path.is_dir():
        yield from find_documents(path, skipped)
    elif path.exists():
        yield path
    else:
        raise DataError(f"{path}: cannot be read: no such file or folder")


def _documents(source: Source, columns: Columns, skipped: SkippedFiles, meter: Meter) -> Iterator[Document]:
    left_out, is_empty, without_text = skipped.count, True, 0
    try:
        for document in find_reader(source.path)(source, columns, skipped, meter):
            is_empty = False
            if document.text.strip():
                yield replace(document, source=source)
                # What is done with a document is none of the next one's time.
                meter.begin()
            else:
                without_text += 1
                problem = f"{document.place}: a document without text; give it some, or leave it out"
                skipped.leave_out(DataError(problem))
    except InputError as error:
        skipped.leave_out(error)
    if skipped.count > left_out + without_text:
        skipped.unread.add(source.place)
    if is_empty and skipped.count == left_out and not skipped.strict:
        skipped.leave_out(DataError(f"{source.name}: no documents in it"))
