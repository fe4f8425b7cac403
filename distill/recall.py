"""Recall by tokens: is an answer within the first passages of so many tokens (R@2kt, R@5kt)?

Asai et al. (2021), XOR QA, section 3; Sorokin et al. (2022), Ask Me Anything in Your Native Language (Sentri), 4.1.
"""

import numpy as np
from nltk.tokenize import NLTKWordTokenizer

# Answers that are not looked for in a passage, as in XOR-TyDi.
CLOSED = ("yes", "no")


def spans(answers):
    """A question's answers that can be found in a passage: all but yes and no."""
    return tuple(answer for answer in answers if answer not in CLOSED)


class TokenRecall:
    """Passages cut into words once; `found` looks for answers in the first of them.

    Words are counted as XOR-TyDi's evaluation counts them, by NLTK's tokenizer; the answer is looked for in the text
    up to the last of these words as it is written, so that no answer is lost because the tokenizer splits it.
    """

    def __init__(self, passages):
        tokenizer = NLTKWordTokenizer()
        self.passages = passages
        self.ends = [[end for _, end in tokenizer.span_tokenize(text)] for text in passages]
        self.lengths = np.array([len(ends) for ends in self.ends])

    def within(self, order, tokens):
        """The text of the first `tokens` words of the passages in `order`, joined by a blank."""
        parts, left = [], tokens
        for row in order:
            parts.append(self.passages[row] if left >= self.lengths[row] else self._cut(row, left))
            left -= self.lengths[row]
            if left <= 0:
                break
        return " ".join(parts)

    def _cut(self, row, words):
        return self.passages[row][: self.ends[row][words - 1]]

    def enough(self, tokens):
        """How many passages are never fewer than `tokens` words, or all of them."""
        return int(np.searchsorted(np.cumsum(np.sort(self.lengths)), tokens) + 1)

    def found(self, order, answers, tokens):
        """bool `(q,)`: whether one of a question's answers is in the text; int `order` `(q, n)`, best passage first."""
        texts = (self.within(row, tokens) for row in order)
        hits = [any(answer in text for answer in known) for text, known in zip(texts, answers, strict=True)]
        return np.array(hits, dtype=bool)
