"""Split text of any language into words without a library, for an index that compares them letter by letter."""

from __future__ import annotations

import re
import unicodedata

from .folding import BY_SCRIPT, CategoryTable, fold

# Thai, Lao, Burmese, Khmer, kana and Chinese are written without blanks: pairs of characters stand for words.
UNSPACED = "\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff"
RUN = re.compile(f"([{UNSPACED}]+)")
# Marks that only change how a character looks, and fillers of Hangul. Nobody types them.
IGNORED = "\u034f\u115f\u1160\u17b4\u17b5\u180b-\u180d\u180f\ufe00-\ufe0f\U000e0100-\U000e01ef"
# Letters whose dot is their own, maybe with a mark below, and one more dot.
DOTTED = re.compile("([ij][\u0323\u0328]*)\u0307")
LOOKS = re.compile(f"[{IGNORED}]")
# Letters, their marks and digits stay.
SEPARATED = CategoryTable(lambda char, kind: char if kind[0] in "LMN" else " ")


def split_plain_words(text: str) -> list[str]:
    """Return the runs of letters and digits of the folded text, in order and with repetitions.

    A script without blanks gives each pair of adjacent characters: "東京都" gives 東京 and 京都. As the language is not
    known, all kinds of i are one: İstanbul, ISTANBUL and istanbul are the same, and ı is i. Vowel marks of Arabic and
    Hebrew and the Arabic tatweel are left out, and ё is е.
    """
    folded = _unify_i(LOOKS.sub("", fold(text, "")))
    if not folded.isascii():
        folded = _fold_scripts(folded)
    words = folded.translate(SEPARATED).split()
    if not RUN.search(folded):
        return words
    return [part for word in words for run in RUN.split(word) if run for part in _split_pairs(run)]


def _fold_scripts(text):
    for pattern, other in BY_SCRIPT:
        text = re.sub(pattern, other, text)
    return text


def _unify_i(text):
    """Replace ı, and the i with a dot above that casefolding makes of İ and for which NFC has no letter."""
    text = text.replace("ı", "i")
    if "\u0307" not in text:
        return text
    return unicodedata.normalize("NFC", DOTTED.sub(r"\1", unicodedata.normalize("NFD", text)))


def _split_pairs(run):
    if len(run) == 1 or not RUN.match(run):
        return [run]
    return [run[at : at + 2] for at in range(len(run) - 1)]
