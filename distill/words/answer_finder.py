"""Answer detection: does a passage hold an answer, whatever its inflection?

Sorokin et al. (2022), Sentri, section 2.1: a highly ranked passage that holds an answer is a positive of self-training,
one that holds none a hard negative.
"""

import numpy as np

from .morphology import analyser, say_unstemmed

# Stands between words and at both ends; no word has a blank.
BETWEEN = " "


class AnswerFinder:
    """Passages turned into words once; `holds` says which of them hold an answer.

    A passage holds an answer where the answer's words (`morphology.words`) are a contiguous run of its own.
    """

    def __init__(self, passages, language):
        say_unstemmed(language, f"{len(passages)} passages searched for answers")
        self.words = analyser(language).words
        self.passages = [self._joined(passage) for passage in passages]

    def _joined(self, text):
        return BETWEEN.join(["", *self.words(text), ""])

    def holds(self, answers, rows=None):
        """bool `(passages,)`, or of the passages `rows` alone: does it hold one of `answers`?

        An answer without words, such as "" or "?", is in no passage.
        """
        wanted = [joined for joined in map(self._joined, answers) if joined.strip()]
        texts = self.passages if rows is None else [self.passages[row] for row in rows]
        return np.array([any(answer in text for answer in wanted) for text in texts], dtype=bool)


def holds(passage, answers, language):
    """bool: does `passage` hold one of `answers`, as in `AnswerFinder`? For many passages take that class."""
    return bool(AnswerFinder([passage], language).holds(answers)[0])


# Answers that are not looked for in a passage, as in XOR-TyDi.
CLOSED = ("yes", "no")


def spans(answers):
    """A question's answers that can be found in a passage: all but yes and no."""
    return tuple(answer for answer in answers if answer not in CLOSED)
