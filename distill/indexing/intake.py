"""Documents that come into an index: read, cut, and written in batches, before any is encoded."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

import numpy as np

from ..documents.document import Document
from ..documents.reading import read_documents
from ..documents.records import Columns
from ..documents.skipped import Skipped
from ..documents.source import Source
from ..errors import DataError
from ..system.progress import task
from ..system.types import File, Integers, Json
from ..words.cutting import Cut
from ..words.detection import FALLBACK, detected_language
from .batches import TEXTS, batches, key_of, write_texts
from .stored import QUESTIONS, Index, id_hash

# In place of a language: that which a document is found to be in.
AUTO = "auto"


@dataclass(frozen=True)
class IndexChange:
    """The documents that are put into an index, in the place of those of their ids, and ids of documents taken out.

    `synced` takes those out too that came from the files and folders given and are not in them any more; `strict`
    raises for a document that is none, in place of leaving it out. `columns` are the names of fields of records.
    """

    documents: Sequence[File] = ()
    removed: Sequence[str] = ()
    columns: Columns = field(default_factory=Columns)
    strict: bool = False
    synced: bool = False


@dataclass(frozen=True)
class Intake:
    """Documents read: the names of their batches, the hashes of their ids, their sources by these, and what was not."""

    keys: list[str]
    hashes: Integers
    sources: dict[int, Source]
    skipped: Skipped


def read_in(
    part: Path, change: IndexChange, card: Mapping[str, Json], known: Index | None, names: Mapping[str, str]
) -> Intake:
    """Write the batches of a change's documents into the folder `part` and return what was read.

    They are cut as the index's card says. `names` are those of files in ids. Raises `DataError` for what is no
    document where the change is strict, and for two documents of one id.
    """
    cut = Cut(card["length"], card["overlap"], FALLBACK if card["language"] == AUTO else card["language"])
    # Vectors of documents do not depend on who asks.
    made_of = {name: value for name, value in card.items() if name not in QUESTIONS} | {"known": _stamp(known)}
    skipped = Skipped(change.strict)
    keys, hashes, sources = [], [], {}
    with task("read documents", None) as advance:
        documents = read_documents(change.documents, change.columns, skipped, names)
        for batch in batches(_spoken(documents) if card["language"] == AUTO else documents):
            keys.append(key_of(batch, made_of))
            ids = [id_hash(document.id) for document in batch]
            hashes.append(np.array(ids, dtype=np.uint64))
            sources |= {id: document.source for id, document in zip(ids, batch, strict=True) if document.source}
            target = part / f"{keys[-1]}{TEXTS}"
            if not target.exists():
                write_texts(target, batch, cut, known)
            advance(len(batch))
    every = np.concatenate([*hashes, np.zeros(0, dtype=np.uint64)])
    _require_distinct(every, read_documents(change.documents, change.columns, Skipped(), names))
    return Intake(keys, every, sources, skipped)


def _spoken(documents: Iterable[Document]) -> Iterator[Document]:
    """Documents with the language that they are in, where they do not say one."""
    for document in documents:
        if document.language or (document.parts and all(part.language for part in document.parts)):
            yield document
        else:
            yield replace(document, language=detected_language(document.text))


def _stamp(known):
    """Size, time and number of an index's file: another for one that takes its place."""
    if not known:
        return None
    said = known.path.stat()
    return [said.st_size, said.st_mtime_ns, said.st_ino]


def _require_distinct(hashes: Integers, documents: Iterable[Document]) -> None:
    """Raise `DataError` with the place of the second of two documents of one id."""
    values, counts = np.unique(hashes, return_counts=True)
    twice, seen = set(values[counts > 1].tolist()), set()
    for document in documents if twice else ():
        if id_hash(document.id) in twice:
            if document.id in seen:
                raise DataError(f"{document.place}: a second document with the id {document.id!r}; ids are distinct")
            seen.add(document.id)
