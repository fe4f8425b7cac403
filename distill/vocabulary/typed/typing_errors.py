"""Add typing errors: neighbouring keys, letters that are dropped, doubled or swapped, and missing blanks."""

from __future__ import annotations

import random
import re
import unicodedata

from ..words.folding import ARABIC_MARKS

# Rows of keys, each half a key to the right of the one above.
QWERTY = ("qwertyuiop", "asdfghjkl", "zxcvbnm")
LAYOUTS = {
    "ar": ("ضصثقفغعهخحجد", "شسيبلاتنمكط", "ئءؤرىةوزظ"),
    "de": ("qwertzuiopü", "asdfghjklöä", "yxcvbnm"),
    "el": ("ςερτυθιοπ", "ασδφγηξκλ", "ζχψωβνμ"),
    "en": QWERTY,
    "es": ("qwertyuiop", "asdfghjklñ", "zxcvbnm"),
    "hi": ("ौैाीूबहगदजड", "ोे्िुपरकतचट", "ंमनवलसय"),
    "ro": ("qwertyuiopăî", "asdfghjklșț", "zxcvbnm"),
    "ru": ("йцукенгшщзхъ", "фывапролджэ", "ячсмитьбю"),
    "th": ("ๆไำพะัีรนยบล", "ฟหกดเ้่าสวง", "ผปแอิืทมใฝ"),
    "tr": ("qwertyuıopğü", "asdfghjklşi", "zxcvbnmöç"),
    "vi": QWERTY,
}
# Keys that touch a key: the offsets of rows and of places within the row.
TOUCHING = ((-1, 0), (-1, 1), (0, -1), (0, 1), (1, -1), (1, 0))
# The number of letters per typing error, the kinds of errors, and how often each occurs.
LETTERS_A_SLIP = 25
SLIPS = ("neighbour", "dropped", "swapped", "doubled")
CHANCES = (40, 30, 20, 10)
JOINED_SHARE = 0.1
BLANK = re.compile(r"(?<=\w) (?=\w)")


def add_slips(text: str, language: str, draw: random.Random) -> str:
    """Add an error per 25 letters, and at least one; the first letters of words stay, as they mostly do in typing."""
    inner = [place for place in range(1, len(text)) if _is_letter(text[place]) and _is_letter(text[place - 1])]
    count = min(len(inner), max(1, round(len(inner) / LETTERS_A_SLIP)))
    parts, end = [], 0
    for place in sorted(draw.sample(inner, count)):
        if place < end:
            continue
        swaps = place + 1 < len(text) and _is_letter(text[place + 1])
        slipped = _slip(text[place : place + 1 + swaps], draw.choices(SLIPS, CHANCES)[0], language, draw)
        parts += [text[end:place], slipped]
        end = place + 1 + swaps
    return unicodedata.normalize("NFC", "".join([*parts, text[end:]]))


def _slip(letters, slip, language, draw):
    """Return the letters that replace one letter, or that letter and the next if another follows."""
    first, second = letters[0], letters[1:]
    if slip == "neighbour":
        return draw.choice(list_neighbours(first, language) or [""]) + second
    if slip == "swapped":
        return second + first if second else ""
    return first * 2 + second if slip == "doubled" else second


def list_neighbours(letter: str, language: str) -> list[str]:
    """Find the letters on the keys around a letter's key, or around that of its plain letter."""
    rows = LAYOUTS[language]
    for lower in (letter.lower(), unicodedata.normalize("NFD", letter.lower())[0]):
        for number, row in enumerate(rows):
            if (column := row.find(lower)) >= 0:
                keys = [_key_at(rows, number + down, column + along) for down, along in TOUCHING]
                return [key if letter == letter.lower() else key.upper() for key in keys if key]
    return []


def _key_at(rows, row, column):
    return rows[row][column] if 0 <= row < len(rows) and 0 <= column < len(rows[row]) else ""


def _is_letter(char):
    return unicodedata.category(char)[0] in "LM"


def join_words(text: str, draw: random.Random) -> str:
    """Remove a tenth of the blanks between words, and at least one."""
    blanks = [match.start() for match in BLANK.finditer(text)]
    joined = {place for place in blanks if draw.random() < JOINED_SHARE}
    joined = joined or set(draw.sample(blanks, min(1, len(blanks))))
    return "".join(char for place, char in enumerate(text) if place not in joined)


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
    """Write a text in plain letters: "¿Qué año?" becomes "¿Que ano?", and "größer" becomes "groesser"."""
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
