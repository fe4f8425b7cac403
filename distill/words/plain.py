"""Words of a text in any language, without a library: what an index compares letter by letter."""

from __future__ import annotations

import re
import unicodedata

from .folding import ByCategory, fold

# Thai, Lao, Burmese, Khmer, kana and Chinese are written without blanks: pairs of characters stand for words.
UNSPACED = "\u0e00-\u0eff\u1000-\u109f\u1780-\u17ff\u3040-\u30ff\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff"
RUN = re.compile(f"([{UNSPACED}]+)")
# Marks that change how a character looks and not what it is, and fillers of Hangul: nothing that is typed.
IGNORED = "\u034f\u115f\u1160\u17b4\u17b5\u180b-\u180d\u180f\ufe00-\ufe0f\U000e0100-\U000e01ef"
# Letters whose dot is their own, maybe with a mark below, and one more dot.
DOTTED = re.compile("([ij][\u0323\u0328]*)\u0307")
LOOKS = re.compile(f"[{IGNORED}]")
# Letters, their marks and digits stay.
SEPARATED = ByCategory(lambda char, kind: char if kind[0] in "LMN" else " ")


def plain_words(text: str) -> list[str]:
    """Return the runs of letters and digits of the folded text, in order, repeated as they are there.

    What is written without blanks gives each two characters that stand side by side: "東京都" 東京 and 京都. The i of
    all languages is one, as the text's own is not known: İstanbul, ISTANBUL and istanbul are the same, ı is i.
    """
    folded = _one_i(LOOKS.sub("", fold(text, "")))
    words = folded.translate(SEPARATED).split()
    if not RUN.search(folded):
        return words
    return [part for word in words for run in RUN.split(word) if run for part in _parts(run)]


def _one_i(text):
    """Casefolding leaves ı, and of İ an i with a dot above it, which NFC has no letter for."""
    text = text.replace("ı", "i")
    if "\u0307" not in text:
        return text
    return unicodedata.normalize("NFC", DOTTED.sub(r"\1", unicodedata.normalize("NFD", text)))


def _parts(run):
    if len(run) == 1 or not RUN.match(run):
        return [run]
    return [run[at : at + 2] for at in range(len(run) - 1)]
