"""Read documents for an index, cut them, and write them in batches, before any is encoded."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path

import numpy as np

from ...errors import DataError, InputError
from ...system.progress import task
from ...system.types import File, Integers, Json
from ...vocabulary.words.cutting import Cut
from ...vocabulary.words.segmenters import FALLBACK, detect_language
from ..documents.document import Document, Source, add_passages
from ..documents.limits import ReadingLimits, SkippedFiles
from ..documents.read_documents import read_documents
from ..documents.records import Columns
from .batches import TEXTS, group_documents, make_key, write_texts
from .index_file import QUESTIONS, Index, hash_id

# In place of a language: that which a document is found to be in.
AUTO = "auto"


@dataclass(frozen=True)
class IndexChange:
    """A change of an index.

    Attributes:
        documents: The files and folders of documents, which replace those of the same ids.
        removed: The ids of documents to remove.
        columns: The names of fields of records.
        strict: Whether a malformed document raises an error instead of being skipped.
        synced: Whether documents are removed that are no longer in the given files and folders.
        removes_most: Whether they are removed even if none is left in a file or a folder, or less than half of 20.
        limits: The limits of each document. One beyond them is skipped as a malformed one is.

    Example:
        >>> import distill
        >>> change = distill.IndexChange(["notes.jsonl"], removed=["note-7"], columns=distill.Columns(text="body"))
        >>> change.strict
        False
    """

    documents: Sequence[File] = ()
    removed: Sequence[str] = ()
    columns: Columns = field(default_factory=Columns)
    strict: bool = False
    synced: bool = False
    removes_most: bool = False
    limits: ReadingLimits = field(default_factory=ReadingLimits)

    def __post_init__(self) -> None:
        if self.removes_most and not self.synced:
            raise InputError("--remove-most is of --sync, which is not given; give both")
        # A text is a sequence, too, of letters.
        for name in ("documents", "removed"):
            value = getattr(self, name)
            if isinstance(value, (str, Path)):
                object.__setattr__(self, name, [value])


@dataclass(frozen=True)
class Intake:
    """Documents that were read: the keys of their batches, hashes of their ids, their sources, and skipped files."""

    keys: list[str]
    hashes: Integers
    sources: dict[int, Source]
    skipped: SkippedFiles


def take_in(
    part: Path, change: IndexChange, card: Mapping[str, Json], known: Index | None, names: Mapping[str, str]
) -> Intake:
    """Write the batches of a change's documents, cut as the card says."""
    cut = Cut(card["length"], card["overlap"], FALLBACK if card["language"] == AUTO else card["language"])
    # Vectors of documents do not depend on who asks.
    made_of = {name: value for name, value in card.items() if name not in QUESTIONS} | {"known": _stamp(known)}
    skipped = SkippedFiles(change.strict)
    keys, hashes, sources = [], [], {}
    with task("read documents", None) as advance:
        prepare = partial(_prepare, cut=cut, detects=card["language"] == AUTO)
        documents = read_documents(change.documents, change.columns, skipped, names, change.limits, prepare)
        for batch in group_documents(documents):
            keys.append(make_key(batch, made_of))
            ids = [hash_id(document.id) for document in batch]
            hashes.append(np.array(ids, dtype=np.uint64))
            sources |= {id: document.source for id, document in zip(ids, batch, strict=True) if document.source}
            target = part / f"{keys[-1]}{TEXTS}"
            if not target.exists():
                write_texts(target, batch, known)
            advance(len(batch))
    every = np.concatenate([*hashes, np.zeros(0, dtype=np.uint64)])
    again = read_documents(change.documents, change.columns, SkippedFiles(), names, change.limits)
    _require_distinct(every, again)
    return Intake(keys, every, sources, skipped)


def _prepare(document: Document, cut: Cut, detects: bool) -> Document:
    """Return a document with its passages, and if `detects` with its language, unless it names that itself."""
    if detects and not (document.language or (document.parts and all(part.language for part in document.parts))):
        document = replace(document, language=detect_language(document.text))
    return add_passages(document, cut)


def _stamp(known):
    """Return the size, time and inode of an index's file, which change if it is replaced."""
    if not known:
        return None
    said = known.path.stat()
    return [said.st_size, said.st_mtime_ns, said.st_ino]


def _require_distinct(hashes: Integers, documents: Iterable[Document]) -> None:
    """Raise `DataError` with the place of the second of two documents with the same id."""
    values, counts = np.unique(hashes, return_counts=True)
    twice, seen = set(values[counts > 1].tolist()), set()
    for document in documents if twice else ():
        if hash_id(document.id) in twice:
            if document.id in seen:
                raise DataError(f"{document.place}: a second document with the id {document.id!r}; ids are distinct")
            seen.add(document.id)
