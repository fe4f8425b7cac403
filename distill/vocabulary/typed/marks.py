"""Remove marks from text: accents, capitals and punctuation."""

from __future__ import annotations

import re
import unicodedata

from ..words.folding import ARABIC_MARKS

# Replacements for letters that are made before marks are removed.
REPLACED = {
    "de": {"ä": "ae", "ö": "oe", "ü": "ue", "ß": "ss", "Ä": "Ae", "Ö": "Oe", "Ü": "Ue"},
    "tr": {"ı": "i"},
    "vi": {"đ": "d", "Đ": "D"},
}
# Languages whose letters have marks that a keyboard's plain letters lack.
ACCENTED = ("de", "el", "es", "ro", "tr", "vi")
# A hyphen or slash separates words, whereas an apostrophe within a word stays.
PARTING = re.compile(r"[-‐‑–—/]")
BETWEEN_LETTERS = re.compile(r"(?<=\w)['’](?=\w)|(?<=\d)[.,](?=\d)")


def remove_accents(text: str, language: str) -> str:
    """Write a text in plain letters: "¿Qué año?" becomes "¿Que ano?", "größer" "groesser", "Ποιος είναι" "Ποιος ειναι".
    """
    for letter, plain in REPLACED.get(language, {}).items():
        text = text.replace(letter, plain)
    bare = (char for char in unicodedata.normalize("NFD", text) if unicodedata.category(char) != "Mn")
    return unicodedata.normalize("NFC", "".join(bare))


def to_lower_case(text: str, language: str) -> str:
    """Write a text without capitals. The lower case of the Turkish I is ı."""
    if language in ("az", "tr"):
        text = text.replace("İ", "i").replace("I", "ı")
    return text.lower()


def to_speech(text: str, language: str) -> str:
    """Write a text as a speech recogniser does: without punctuation, capitals and Arabic vowel signs. Numbers stay."""
    text = re.sub(ARABIC_MARKS, "", text) if language == "ar" else text
    text = to_lower_case(PARTING.sub(" ", text), language)
    kept = [match.start() for match in BETWEEN_LETTERS.finditer(text)]
    chars = (char if place in kept or not _is_sign(char) else " " for place, char in enumerate(text))
    return " ".join("".join(chars).split())


def _is_sign(char):
    return unicodedata.category(char)[0] == "P"
