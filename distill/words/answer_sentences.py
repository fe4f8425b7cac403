"""The sentence of a passage that holds an answer."""

from __future__ import annotations

import re
from collections.abc import Sequence

from .answer_finder import findable
from .sentences import sentence_places


def answer_sentence(
    passage: str, answers: Sequence[str], language: str, places: Sequence[tuple[int, int]] = ()
) -> str | None:
    """Return the sentence of a `passage`, which is in `language`, that holds one of the `answers`.

    `places` are its sentences, `(start, end)` in characters, where they are known; else `sentence_places` cuts them.
    Where an answer runs over several sentences, these. None where no answer is there as it is written, where it is in
    several places of different sentences, or where the sentence is all of the passage.
    """
    matches = [place for answer in findable(answers) for place in _places(passage, answer)]
    if not matches:
        return None
    sentences = places or sentence_places(passage, language)
    holding = {_around(sentences, start, end) for start, end in matches}
    if len(holding) != 1:
        return None
    first, last = holding.pop()
    sentence = passage[first:last].strip()
    return sentence if sentence != passage.strip() else None


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
