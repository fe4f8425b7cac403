"""Fold text into one Unicode form by language: remove differences of writing that do not change the meaning."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable

STRESS = r"[\u0300\u0301]"
# Vowel signs and the like, and the stroke that stretches a word.
ARABIC_MARKS = r"[\u0610-\u061a\u0640\u064b-\u065f\u0670\u06d6-\u06ed]"
ALEF = (r"[أإآٱ]", "ا")
PERSIAN = ((ARABIC_MARKS, ""), ALEF, ("[يى]", "ی"), ("ك", "ک"), ("\u200c", " "))
# Letters that NFKC takes apart though the dictionaries have it whole.
SARA_AM, LAO_AM = ("\u0e4d\u0e32", "\u0e33"), ("\u0ecd\u0eb2", "\u0eb3")
# Casefolding knows only one i.
DOTTED_I = (("İ", "i"), ("I", "ı"))
# The replacements before casefolding by language, in order.
RULES = {
    "ar": ((ARABIC_MARKS, ""), ALEF, ("ى", "ي")),
    "az": DOTTED_I,
    "fa": PERSIAN,
    "he": ((r"[\u0591-\u05bd\u05bf-\u05c7]", ""),),
    "lo": (LAO_AM,),
    "ro": (("ş", "ș"), ("Ş", "Ș"), ("ţ", "ț"), ("Ţ", "Ț")),
    "ru": (("ё", "е"), ("Ё", "Е")),
    "th": (SARA_AM,),
    "tr": DOTTED_I,
    "ur": PERSIAN,
}
# What holds in whatever language a text is: marks that may be omitted, and ё.
BY_SCRIPT = ((ARABIC_MARKS, ""), *RULES["he"], ("ё", "е"))
# Languages that encyclopedias write with stress marks, as in Росси́я.
STRESSED = ("be", "bg", "ru", "uk")


class CategoryTable(dict[int, str]):
    """A table for `str.translate` that calls `replaced` with each character and its Unicode category."""

    def __init__(self, replaced: Callable[[str, str], str]) -> None:
        super().__init__()
        self.replaced = replaced

    def __missing__(self, code: int) -> str:
        self[code] = self.replaced(chr(code), unicodedata.category(chr(code)))
        return self[code]


# Writes digits in ASCII and removes invisible characters.
SEEN = CategoryTable(
    lambda char, kind: str(unicodedata.decimal(char)) if kind == "Nd" else "" if kind == "Cf" else char
)


def fold(text: str, language: str) -> str:
    """Fold a text: NFKC, without case, with ASCII digits and single blanks.

    Marks that may be omitted are removed: vowel signs and tatweel of Arabic, stress marks of Cyrillic, points of
    Hebrew, and invisible characters of the category Cf such as soft hyphens. Letters that are written for each other
    become one, such as the alefs of Arabic, or ё and е of Russian. The lower case of the Turkish I is ı. A lone
    surrogate becomes "?".
    """
    text = unicodedata.normalize("NFKC", text.encode("utf-8", "replace").decode("utf-8"))
    if language in STRESSED:
        text = _remove_stress(text)
    for pattern, other in RULES.get(language, ()):
        text = re.sub(pattern, other, text)
    text = unicodedata.normalize("NFC", text.casefold())
    return " ".join(text.translate(SEEN).split())


def _remove_stress(text):
    return unicodedata.normalize("NFC", re.sub(STRESS, "", unicodedata.normalize("NFD", text)))


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
