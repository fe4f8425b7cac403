"""Find the sentence of a passage that holds an answer."""

from __future__ import annotations

import re
from collections.abc import Sequence

from .answer_finder import drop_closed_answers
from .sentences import find_sentences_cached


def find_answer_sentence(
    passage: str, answers: Sequence[str], language: str, places: Sequence[tuple[int, int]] = ()
) -> str | None:
    """Find the sentence of a passage that holds one of the answers, or the sentences that it runs over.

    Args:
        places: The start and end of its sentences in characters, if they are known; empty to find them.

    Returns:
        The sentence. None if no answer is there as it is written, if answers are in several different sentences, or if
        the sentence is the whole passage.
    """
    matches = [place for answer in drop_closed_answers(answers) for place in _find_places(passage, answer)]
    if not matches:
        return None
    sentences = places or find_sentences_cached(passage, language)
    holding = {_surrounding_sentences(sentences, start, end) for start, end in matches}
    if len(holding) != 1:
        return None
    first, last = holding.pop()
    sentence = passage[first:last].strip()
    return sentence if sentence != passage.strip() else None


def _find_places(passage, answer):
    answer = answer.strip()
    # An answer within a longer word or number does not count.
    left, right = (r"\b" if answer[:1].isalnum() else ""), (r"\b" if answer[-1:].isalnum() else "")
    spaceless = any(ord(letter) > 0x0E00 for letter in answer)
    pattern = re.escape(answer) if spaceless else left + re.escape(answer) + right
    return [match.span() for match in re.finditer(pattern, passage)] if answer else []


def _surrounding_sentences(spans, start, end):
    """Return the start and the end of the sentences in which a place lies."""
    inside = [span for span in spans if span[0] < end and start < span[1]] or [(start, end)]
    return inside[0][0], inside[-1][1]
