"""Answer detection: does a passage hold an answer, whatever its inflection?

Sorokin et al. (2022), Sentri, section 2.1: a highly ranked passage that holds an answer is a positive of self-training,
one that holds none a hard negative.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from ..system.types import Booleans, Integers

# Stands between words and at both ends; no word has a blank.
BETWEEN = " "


class AnswerFinder:
    """Passages turned into words once; `holds` says which of them hold an answer.

    A passage holds an answer where the answer's words (`morphology.words`) are a contiguous run of its own.
    """

    def __init__(self, passages: Sequence[str], language: str):
        from .morphology import analyser, say_unstemmed

        say_unstemmed(language, f"{len(passages)} passages searched for answers")
        self.words = analyser(language).words
        self.passages = [self._joined(passage) for passage in passages]

    def _joined(self, text):
        return BETWEEN.join(["", *self.words(text), ""])

    def holds(self, answers: Sequence[str], rows: Integers | Sequence[int] | None = None) -> Booleans:
        """Return for each passage, or for those of `rows` alone, whether it holds one of `answers`: bool `(passages,)`.

        An answer without words, such as "" or "?", is in no passage.
        """
        wanted = [joined for joined in map(self._joined, answers) if joined.strip()]
        texts = self.passages if rows is None else [self.passages[row] for row in rows]
        return np.array([any(answer in text for answer in wanted) for text in texts], dtype=bool)


# Answers that are not looked for in a passage, as in XOR-TyDi.
CLOSED = ("yes", "no")


def findable(answers: Sequence[str]) -> tuple[str, ...]:
    """Return a question's answers that a passage can hold: all but yes and no."""
    return tuple(answer for answer in answers if answer not in CLOSED)
