"""The sentence of a passage that holds an answer."""

from __future__ import annotations

import re
from collections.abc import Sequence

from .answer_finder import findable

# Up to the end of a sentence: a stop before a blank, or one of a script that is written without any.
SENTENCE = re.compile(r"\S.*?(?:[.!?؟।]+[\"'»”’)\]]*(?=\s|\Z)|[。！？]+[」』”’)\]]*|\Z)", re.DOTALL)


def answer_sentence(passage: str, answers: Sequence[str], language: str) -> str | None:
    """Return the sentence of a `passage`, which is in `language`, that holds one of the `answers`.

    Where an answer runs over several sentences, these. None where no answer is there as it is written, where it is in
    several places of different sentences, or where the sentence is all of the passage.
    """
    spans = sentence_spans(passage, language)
    places = {_around(spans, start, end) for answer in findable(answers) for start, end in _places(passage, answer)}
    if len(places) != 1:
        return None
    first, last = places.pop()
    sentence = passage[first:last].strip()
    return sentence if sentence != passage.strip() else None


def sentence_spans(text: str, language: str) -> list[tuple[int, int]]:
    """Return the place of each sentence of a `text`, its start and its end."""
    return [match.span() for match in SENTENCE.finditer(text)]


def _places(passage, answer):
    answer = answer.strip()
    # An answer within a longer word or number is none.
    left, right = (r"\b" if answer[:1].isalnum() else ""), (r"\b" if answer[-1:].isalnum() else "")
    spaceless = any(ord(letter) > 0x0E00 for letter in answer)
    pattern = re.escape(answer) if spaceless else left + re.escape(answer) + right
    return [match.span() for match in re.finditer(pattern, passage)] if answer else []


def _around(spans, start, end):
    """The start and the end of the sentences in which a place lies."""
    inside = [span for span in spans if span[0] < end and start < span[1]] or [(start, end)]
    return inside[0][0], inside[-1][1]
