"""A collection: documents without questions, cut into passages, with a heading each."""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import partial
from pathlib import Path

from ...data.corpus import Collection
from ...data.dataset import Dataset, Passage
from ...errors import DataError
from ...system.hashes import sha256
from ...system.types import File
from ...vocabulary.words.cutting import Cut
from .document import Document, add_passages
from .limits import SkippedFiles
from .read_documents import read_documents

# Documents of two sentences or more: with fewer nothing can be held out.
FEWEST = 50
SECTION = "section"
# Between the words of a file's name.
JOINTS = re.compile(r"[-_\s]+")


def read_collection(paths: Sequence[File], language: str = "en") -> Collection:
    """Read the documents of files and folders, as `distill index` does."""
    skipped = SkippedFiles()
    prepare = partial(add_passages, cut=Cut(language=language))
    documents = list(read_documents(paths, skipped=skipped, prepare=prepare))
    if not documents:
        raise skipped.make_error(", ".join(map(str, paths)))
    skipped.say()
    parts = [document.passages for document in documents]
    long = sum(sum(len(part.sentences) for part in of) > 1 for of in parts)
    if long < FEWEST:
        raise DataError(
            f"{', '.join(map(str, paths))}: {long} of {len(documents)} documents have two sentences or more, expected "
            f"{FEWEST}; of fewer nothing can be learned and held out, so use the encoder as it is"
        )
    name = Path(paths[0]).stem
    passages = [
        Passage(f"{number}/{place}", document.text[part.start : part.end], number, part.sentences, spoken)
        for number, (document, of) in enumerate(zip(documents, parts, strict=True))
        for place, (part, spoken) in enumerate(zip(of, _languages(document, len(of)), strict=True))
    ]
    titles = tuple(title_of(document) for document in documents)
    files = {str(path): sha256(path) for path in paths if Path(path).is_file()}
    dataset = Dataset(name, language, titles, tuple(passages), {}, {}, files)
    sections = [str(document.fields.get(SECTION) or "") for document in documents]
    headings = tuple(f"{titles[one.document]} {sections[one.document]}".strip() for one in passages)
    return Collection(dataset, headings)


def _languages(document, passages):
    """Return the language of each passage, empty for that of the collection."""
    return [part.language or document.language for part in document.parts] or [document.language] * passages


def title_of(document: Document) -> str:
    """Return the title of a document; for a file without one, the words of its name."""
    title = str(document.fields["title"])
    path = document.fields.get("path")
    return JOINTS.sub(" ", title).strip() if path and title == Path(path).stem else " ".join(title.split())
