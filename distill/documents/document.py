"""A document: a text with an id, and the fields that are kept beside it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from ..system.types import Json
from .source import Source


@dataclass(frozen=True)
class Part:
    """A passage that the data gives: its place in the document's text, and its sentences' places, in characters."""

    start: int
    end: int
    sentences: tuple[tuple[int, int], ...] = ()
    language: str = ""


@dataclass(frozen=True)
class Document:
    """A text with a unique id.

    Attributes:
        id: The id.
        text: The text.
        place: Its origin, for errors.
        fields: The fields that an index keeps beside the text, id and title among them.
        parts: Its passages, if the data gives them. They are not cut again.
        language: Its language, or empty.
        source: The file that it was read from.
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
    """The text of a file that is one document, with its title, language and other fields, which may be empty.

    `problem` says why the fields could not be read although the text could.
    """

    text: str
    title: str = ""
    language: str = ""
    fields: Mapping[str, Json] = field(default_factory=dict)
    problem: str = ""
