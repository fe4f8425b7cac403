"""A document: a text with an id, and what is kept of it beside the text."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from ..system.types import Json
from .source import Source


@dataclass(frozen=True)
class Part:
    """A passage that the data gives: its place in the document's text, and its sentences' in it, both in characters."""

    start: int
    end: int
    sentences: tuple[tuple[int, int], ...] = ()
    language: str = ""


@dataclass(frozen=True)
class Document:
    """A text with an id that no other has; `place` is where it comes from, for an error.

    `fields` are what an index keeps of it beside the text, id and title among them. `parts` are its passages where the
    data gives them, which are not cut again. `source` is the file that it was read from.
    """

    id: str
    text: str
    place: str
    fields: Mapping[str, Json]
    parts: tuple[Part, ...] = ()
    language: str = ""
    source: Source | None = field(default=None, compare=False)


@dataclass(frozen=True)
class Content:
    """The text of a file that is one document, its title, empty where it has none, its language and its other fields.

    `problem` is what is wrong with the fields, where they cannot be read and the text can.
    """

    text: str
    title: str = ""
    language: str = ""
    fields: Mapping[str, Json] = field(default_factory=dict)
    problem: str = ""
