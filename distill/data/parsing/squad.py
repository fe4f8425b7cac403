"""Parse SQuAD's objects, version 1.1 or 2.0: articles, paragraphs, questions and answers.

A paragraph or a passage may have sentence boundaries, [[start, end], …] in characters.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from ...errors import DataError
from ...system.input_files import read_json
from ...system.progress import say
from ...system.types import File, Json

# Of a question of SQuAD 2.0: its paragraph does not answer it.
IMPOSSIBLE = "is_impossible"
BREAKS = "sentence_breaks"


def parse_articles(path: File) -> list[dict[str, Json]]:
    """Return the articles of a SQuAD file. Raises `DataError`."""
    value = read_json(path)
    if not isinstance(value, dict):
        raise DataError(f"{path}: expected a SQuAD object with 'data', got {type(value).__name__}")
    return parse_list(path, value, "data")


def parse_paragraphs(path: File, articles: Sequence[Mapping[str, Json]]) -> list[dict[str, Json]]:
    """Return the paragraphs of all articles, in order."""
    return [paragraph for article in articles for paragraph in parse_list(path, article, "paragraphs")]


def parse_questions(path: File, paragraph: Mapping[str, Json]) -> list[dict[str, Json]]:
    """Return the questions that a paragraph answers. Raises `DataError` if one is malformed."""
    return [qa for qa in parse_list(path, paragraph, "qas") if not is_impossible(qa)]


def is_impossible(qa: Mapping[str, Json]) -> bool:
    """Return whether a question is marked, or by an empty list of texts shown, as not answered by its paragraph."""
    answers = qa.get("answers")
    marked = str(qa.get(IMPOSSIBLE)).strip().casefold() in ("true", "1", "yes")
    return marked or (isinstance(answers, dict) and answers.get("text") == [])


def find_impossible(path: File, articles: Sequence[Mapping[str, Json]]) -> list[str]:
    """Return the ids of the questions that are not answered by their paragraphs."""
    qas = (qa for paragraph in parse_paragraphs(path, articles) for qa in parse_list(path, paragraph, "qas"))
    return [str(qa.get("id")) for qa in qas if is_impossible(qa)]


def say_impossible(source: File, left: int, total: int) -> None:
    """Print how many questions of a source were left out, if any."""
    if left:
        say(f"{source}: {left:,} of {total:,} questions left out: no passage answers them ({IMPOSSIBLE!r})")


def parse_list(path: File, value: Mapping[str, Json], key: str) -> list[dict[str, Json]]:
    """Return the list of objects under a key of a SQuAD object. Raises `DataError` if it is something else."""
    items = value.get(key) if isinstance(value, dict) else None
    if not isinstance(items, list) or not all(isinstance(item, dict) for item in items):
        raise DataError(f"{path}: expected SQuAD format, a list of objects under {key!r}")
    return items


def parse_sentences(value: Mapping[str, Json], text: str) -> tuple[tuple[int, int], ...]:
    """Return the boundaries of a paragraph, empty if they are malformed, which only LAReQA refuses."""
    try:
        return tuple(parse_breaks(value, text, "")) if BREAKS in value else ()
    except DataError:
        return ()


def parse_breaks(value: Mapping[str, Json], text: str, place: str) -> list[tuple[int, int]]:
    """Return the boundaries of a paragraph, `(start, end)`."""
    breaks = value.get(BREAKS)
    if not isinstance(breaks, list) or not breaks:
        raise DataError(f"{place}: expected [[start, end], …] under {BREAKS!r}, got {breaks!r}")
    last = 0
    for pair in breaks:
        if not (isinstance(pair, list) and len(pair) == 2 and all(type(number) is int for number in pair)):
            raise DataError(f"{place}: expected [[start, end], …] under {BREAKS!r}, got {pair!r}")
        start, end = pair
        if not last <= start < end <= len(text):
            raise DataError(
                f"{place}: the sentence {pair} is empty, before the end of the one before it, "
                f"or beyond its paragraph of {len(text)} characters"
            )
        if not text[start:end].strip():
            raise DataError(f"{place}: the sentence {pair} is blank")
        last = end
    return [tuple(pair) for pair in breaks]
