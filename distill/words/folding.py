"""Text in one Unicode form by language: without what writing varies and meaning does not."""

from __future__ import annotations

import unicodedata

import regex

STRESS = r"[\u0300\u0301]"
# Vowel signs and the like, and the stroke that stretches a word.
ARABIC_MARKS = r"[\u0610-\u061a\u0640\u064b-\u065f\u0670\u06d6-\u06ed]"
ALEF = (r"[أإآٱ]", "ا")
PERSIAN = ((ARABIC_MARKS, ""), ALEF, ("[يى]", "ی"), ("ك", "ک"), ("\u200c", " "))
# Letters that NFKC takes apart though the dictionaries have it whole.
SARA_AM, LAO_AM = ("\u0e4d\u0e32", "\u0e33"), ("\u0ecd\u0eb2", "\u0eb3")
# Casefolding knows one i.
DOTTED_I = (("İ", "i"), ("I", "ı"))
# By language what is replaced before casefolding, in order.
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
# Written with stress marks in encyclopedias, as in Росси́я.
STRESSED = ("be", "bg", "ru", "uk")


def fold(text: str, language: str) -> str:
    """Return `text` in NFKC without case; digits are ASCII, blanks single; marks that may be left out are left out.

    These are the vowel signs and tatweel of Arabic, stress marks of Cyrillic, points of Hebrew, characters of the
    category Cf such as soft hyphens. Letters that are written for each other are one: the alefs of Arabic, ё and е of
    Russian. Turkish I is ı. A lone surrogate becomes "?".
    """
    text = unicodedata.normalize("NFKC", text.encode("utf-8", "replace").decode("utf-8"))
    if language in STRESSED:
        text = _unstressed(text)
    for pattern, other in RULES.get(language, ()):
        text = regex.sub(pattern, other, text)
    text = unicodedata.normalize("NFC", text.casefold())
    text = regex.sub(r"\p{Nd}", lambda digit: str(unicodedata.decimal(digit[0])), regex.sub(r"\p{Cf}", "", text))
    return " ".join(text.split())


def _unstressed(text):
    return unicodedata.normalize("NFC", regex.sub(STRESS, "", unicodedata.normalize("NFD", text)))
