"""Find the passages that hold an answer, whatever its inflection.

In self-training by Sorokin et al. (2022), Sentri, section 2.1, a highly ranked passage that holds an answer is a
positive, and one that does not is a hard negative.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

import numpy as np

from ...system.types import Booleans, Integers
from .cutting import find_sentences_cached

# The separator between words and at both ends, as no word holds a blank.
BETWEEN = " "


class AnswerFinder:
    """Passages that are cut into words once and can then be searched for answers.

    A passage holds an answer if the words of the answer are a contiguous run of its own words. Both are cut by
    `morphology.split_words`.
    """

    def __init__(self, passages: Sequence[str], language: str):
        from .morphology import get_analyser, warn_unstemmed

        warn_unstemmed(language, f"{len(passages)} passages searched for answers")
        self.words = get_analyser(language).words
        self.passages = [self._join(passage) for passage in passages]

    def _join(self, text):
        return BETWEEN.join(["", *self.words(text), ""])

    def holds(self, answers: Sequence[str], rows: Integers | Sequence[int] | None = None) -> Booleans:
        """Find the passages, all or those of some rows, that hold one of the answers; one without words is in none."""
        wanted = [joined for joined in map(self._join, answers) if joined.strip()]
        texts = self.passages if rows is None else [self.passages[row] for row in rows]
        return np.array([any(answer in text for answer in wanted) for text in texts], dtype=bool)


# Answers that no passage is searched for, as in XOR-TyDi.
CLOSED = ("yes", "no")


def drop_closed_answers(answers: Sequence[str]) -> tuple[str, ...]:
    """Return the answers to a question that a passage can hold: all but yes and no."""
    return tuple(answer for answer in answers if answer not in CLOSED)


def find_answer_sentence(
    passage: str, answers: Sequence[str], language: str, places: Sequence[tuple[int, int]] = ()
) -> str | None:
    """Find the sentence of a passage that holds one of the answers, or the sentences that it runs over.

    `places` hold its sentences, if they are known. The result is None if no answer is there as it is written, if
    answers are in several different sentences, or if the sentence is the whole passage.
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
