"""Words of a text in any language, without a library: what an index compares letter by letter."""

from __future__ import annotations

import re

from .folding import ByCategory, fold

# Thai, Lao, Burmese, Khmer, kana and Chinese are written without blanks: pairs of characters stand for words.
UNSPACED = "\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff"
RUN = re.compile(f"([{UNSPACED}]+)")
# Letters, their marks and digits stay.
SEPARATED = ByCategory(lambda char, kind: char if kind[0] in "LMN" else " ")


def plain_words(text: str) -> list[str]:
    """Return the runs of letters and digits of the folded text, in order, repeated as they are there.

    What is written without blanks gives each two characters that stand side by side: "東京都" 東京 and 京都.
    """
    words = fold(text, "").translate(SEPARATED).split()
    if not RUN.search(text):
        return words
    return [part for word in words for run in RUN.split(word) if run for part in _parts(run)]


def _parts(run):
    if len(run) == 1 or not RUN.match(run):
        return [run]
    return [run[at : at + 2] for at in range(len(run) - 1)]
