"""A document: a text with an id, the fields that are kept beside it, its file and its passages."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path

from ...system.input_files import NOT_UTF8
from ...system.types import File, Json
from ...vocabulary.words.cutting import Cut, PassageSpan, cut_text, split_sentences


@dataclass(frozen=True)
class Source:
    """A file: the `path` to read, the `name` in ids and messages, and the `place`, one of all paths that lead to it."""

    path: Path
    name: str
    place: str


def locate_file(path: File) -> str:
    """Return the one absolute path of a file or folder, however it is written. Links are not resolved."""
    absolute = os.path.abspath(path)
    if os.path.isdir(absolute):
        return os.path.realpath(absolute)
    folder, name = os.path.split(absolute)
    return os.path.join(os.path.realpath(folder), name)


def spell_name(name: str) -> str:
    """Return a file's name as text, with escapes for bytes that are not UTF-8, so that two names stay two."""
    return os.fsencode(name).decode("utf-8", "backslashreplace") if NOT_UTF8.search(name) else name


@dataclass(frozen=True)
class Part:
    """A passage that the data gives: its place in the document's text, and its sentences' places, in characters."""

    start: int
    end: int
    sentences: tuple[tuple[int, int], ...] = ()
    language: str = ""


@dataclass(frozen=True)
class Document:
    """A text with a unique id, a language or none, and the `fields` that an index keeps beside the text.

    If the data gives its `parts`, they are its passages and not cut again.
    """

    id: str
    text: str
    place: str
    fields: Mapping[str, Json]
    parts: tuple[Part, ...] = ()
    language: str = ""
    source: Source | None = field(default=None, compare=False)
    passages: tuple[PassageSpan, ...] = field(default=(), compare=False)


@dataclass(frozen=True)
class Content:
    """The text of a file that is one document, with its title, language and other fields, which may be empty.

    `problem` says why the fields could not be read although the text could.
    """

    text: str
    title: str = ""
    language: str = ""
    fields: Mapping[str, Json] = field(default_factory=dict)
    problem: str = ""


def cut_document(document: Document, cut: Cut) -> list[PassageSpan]:
    language = document.language or cut.language
    if document.parts:
        return [_take_part(document.text, part, part.language or language) for part in document.parts]
    return cut_text(document.text, language, cut)


def add_passages(document: Document, cut: Cut) -> Document:
    """Return a document with its passages, found by `cut_document`."""
    return replace(document, passages=tuple(cut_document(document, cut)))


def _take_part(text, part, language):
    places = part.sentences or tuple(split_sentences(text[part.start : part.end], language))
    return PassageSpan(part.start, part.end, places)
