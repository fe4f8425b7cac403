"""Slips of fingers: neighbours on the keyboard, letters that are left out, doubled or swapped, blanks left out."""

from __future__ import annotations

import random
import re
import unicodedata

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
# Of the row above, of its own and of the row below: keys that touch one.
TOUCHING = ((-1, 0), (-1, 1), (0, -1), (0, 1), (1, -1), (1, 0))
# One slip in so many letters, and how often each kind of it comes.
LETTERS_A_SLIP = 25
SLIPS = ("neighbour", "dropped", "swapped", "doubled")
CHANCES = (40, 30, 20, 10)
JOINED_SHARE = 0.1
BLANK = re.compile(r"(?<=\w) (?=\w)")


def with_slips(text: str, language: str, draw: random.Random) -> str:
    """Return text with a slip in each 25 letters, at least one; first letters of words stay, as they mostly do."""
    inner = [place for place in range(1, len(text)) if _is_letter(text[place]) and _is_letter(text[place - 1])]
    many = min(len(inner), max(1, round(len(inner) / LETTERS_A_SLIP)))
    parts, end = [], 0
    for place in sorted(draw.sample(inner, many)):
        if place < end:
            continue
        swaps = place + 1 < len(text) and _is_letter(text[place + 1])
        slipped = _slipped(text[place : place + 1 + swaps], draw.choices(SLIPS, CHANCES)[0], language, draw)
        parts += [text[end:place], slipped]
        end = place + 1 + swaps
    return unicodedata.normalize("NFC", "".join([*parts, text[end:]]))


def _slipped(letters, slip, language, draw):
    """The letters in place of one and, where another follows, of that too."""
    first, second = letters[0], letters[1:]
    if slip == "neighbour":
        return draw.choice(neighbours(first, language) or [""]) + second
    if slip == "swapped":
        return second + first if second else ""
    return first * 2 + second if slip == "doubled" else second


def neighbours(letter: str, language: str) -> list[str]:
    """The letters on the keys that touch a letter's, in its case; of an accented one those of its plain letter."""
    rows = LAYOUTS[language]
    for lower in (letter.lower(), unicodedata.normalize("NFD", letter.lower())[0]):
        for number, row in enumerate(rows):
            if (column := row.find(lower)) >= 0:
                keys = [_key(rows, number + down, column + along) for down, along in TOUCHING]
                return [key if letter == letter.lower() else key.upper() for key in keys if key]
    return []


def _key(rows, row, column):
    return rows[row][column] if 0 <= row < len(rows) and 0 <= column < len(rows[row]) else ""


def _is_letter(char):
    return unicodedata.category(char)[0] in "LM"


def with_joined_words(text: str, draw: random.Random) -> str:
    """Return text without a tenth of its blanks between words, at least one."""
    blanks = [match.start() for match in BLANK.finditer(text)]
    joined = {place for place in blanks if draw.random() < JOINED_SHARE}
    joined = joined or set(draw.sample(blanks, min(1, len(blanks))))
    return "".join(char for place, char in enumerate(text) if place not in joined)
