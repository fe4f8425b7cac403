"""SQuAD's objects, version 1.1 or 2.0: articles, paragraphs, the questions that these answer, and their answers."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from ...errors import DataError
from ...system.progress import say
from ...system.reading import read_json
from ...system.types import File, Json
from .fields import answer_texts

# Of a question of SQuAD 2.0: its paragraph does not answer it.
IMPOSSIBLE = "is_impossible"


def articles_of(path: File) -> list[dict[str, Json]]:
    """The articles of a SQuAD file. Raises `DataError`."""
    value = read_json(path)
    if not isinstance(value, dict):
        raise DataError(f"{path}: expected a SQuAD object with 'data', got {type(value).__name__}")
    return list_of(path, value, "data")


def paragraphs_of(path: File, articles: Sequence[Mapping[str, Json]]) -> list[dict[str, Json]]:
    """The paragraphs of all articles, in order."""
    return [paragraph for article in articles for paragraph in list_of(path, article, "paragraphs")]


def questions_of(path: File, paragraph: Mapping[str, Json]) -> list[dict[str, Json]]:
    """The questions that a paragraph answers. Raises `DataError`."""
    return [qa for qa in list_of(path, paragraph, "qas") if not is_impossible(qa)]


def is_impossible(qa: Mapping[str, Json]) -> bool:
    """Return whether a question says of itself that its paragraph does not answer it."""
    return qa.get(IMPOSSIBLE) in (True, "true", "True")


def impossible_ids(path: File, articles: Sequence[Mapping[str, Json]]) -> list[str]:
    """The ids of the questions that their paragraphs do not answer."""
    qas = (qa for paragraph in paragraphs_of(path, articles) for qa in list_of(path, paragraph, "qas"))
    return [str(qa.get("id")) for qa in qas if is_impossible(qa)]


def say_impossible(source: File, left: int, total: int) -> None:
    """Say how many of all questions of a source were left out, where there were some."""
    if left:
        say(f"{source}: {left:,} of {total:,} questions left out: no passage answers them ({IMPOSSIBLE!r})")


def list_of(path: File, value: Mapping[str, Json], key: str) -> list[dict[str, Json]]:
    """The list of objects under a key of a SQuAD object. Raises `DataError`."""
    items = value.get(key) if isinstance(value, dict) else None
    if not isinstance(items, list) or not all(isinstance(item, dict) for item in items):
        raise DataError(f"{path}: expected SQuAD format, a list of objects under {key!r}")
    return items


def squad_answers(qa: Mapping[str, Json]) -> tuple[str, ...]:
    """The distinct texts of a question's answers, as many as it has: they are not needed for training."""
    texts = answer_texts(qa)
    texts = texts if isinstance(texts, list) else []
    return tuple(dict.fromkeys(text for text in texts if isinstance(text, str) and text.strip()))
