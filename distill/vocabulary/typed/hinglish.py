"""Write Hindi in Latin letters as people type it, by letters and by the rules for silent unwritten vowels."""

from __future__ import annotations

import random
import re
import unicodedata

CONSONANTS = {
    "क": "k", "ख": "kh", "ग": "g", "घ": "gh", "ङ": "n", "च": "ch", "छ": "chh", "ज": "j", "झ": "jh", "ञ": "n", "ट": "t",
    "ठ": "th", "ड": "d", "ढ": "dh", "ण": "n", "त": "t", "थ": "th", "द": "d", "ध": "dh", "न": "n", "प": "p", "फ": "ph",
    "ब": "b", "भ": "bh", "म": "m", "य": "y", "र": "r", "ल": "l", "व": "v", "श": "sh", "ष": "sh", "स": "s", "ह": "h",
    "ळ": "l",
}  # fmt: skip
# Consonants with the dot below.
DOTTED = {"क": "q", "ख": "kh", "ग": "g", "ज": "z", "ड": "d", "ढ": "dh", "फ": "f"}
VOWELS = {
    "अ": "a", "आ": "aa", "इ": "i", "ई": "ee", "उ": "u", "ऊ": "oo", "ऋ": "ri", "ए": "e", "ऐ": "ai", "ओ": "o", "औ": "au",
    "ऑ": "o", "ऍ": "e",
}  # fmt: skip
SIGNS = {
    "ा": "aa", "ि": "i", "ी": "ee", "ु": "u", "ू": "oo", "ृ": "ri", "े": "e", "ै": "ai", "ो": "o", "ौ": "au", "ॉ": "o",
    "ॅ": "e",
}  # fmt: skip
VIRAMA, DOT, NASAL, BINDU = "\u094d", "\u093c", "\u0901", "\u0902"
# Possible spellings of a sound, of which a writer uses one; "long" is a long a in a word with one vowel.
SPELLINGS = {
    "aa": ("a",),
    "ee": ("i", "ee"),
    "oo": ("u", "oo"),
    "v": ("v", "w"),
    "ph": ("ph", "f"),
    "long": ("a", "aa"),
}
# Words that everyone spells alike, whatever their letters.
WORDS = {
    "में": "me", "मैं": "main", "है": "hai", "हैं": "hain", "और": "aur", "का": "ka", "की": "ki", "के": "ke", "को": "ko",
    "क्या": "kya", "कौन": "kaun", "यह": "yeh", "वह": "woh", "वे": "we", "कब": "kab", "कहाँ": "kahan", "कहां": "kahan",
    "किस": "kis", "ने": "ne", "से": "se", "पर": "par", "था": "tha", "थी": "thi", "थे": "the", "एक": "ek", "नहीं": "nahi",
    "कितने": "kitne", "कितना": "kitna", "कितनी": "kitni", "वर्ष": "varsh", "हुआ": "hua", "हुई": "hui", "लिए": "liye",
    "किया": "kiya", "गया": "gaya", "गई": "gayi", "कंपनी": "company", "स्कूल": "school", "पुलिस": "police",
}  # fmt: skip
WORD = re.compile(r"[\u0900-\u0963\u0970-\u097f]+")
DIGITS = str.maketrans("०१२३४५६७८९।", "0123456789.")
CONSONANT, VOWEL, SILENT = "consonant", "vowel", "unwritten"
UNWRITTEN = (SILENT, "a")


def romanise_hindi(text: str, draw: random.Random) -> str:
    """Write Hindi in Latin letters: "भारत की राजधानी क्या है?" becomes "bharat ki rajdhani kya hai?"."""
    spelling = {sound: draw.choice(spellings) for sound, spellings in SPELLINGS.items()}
    text = unicodedata.normalize("NFD", text).translate(DIGITS)
    words = {unicodedata.normalize("NFD", word): latin for word, latin in WORDS.items()}
    return WORD.sub(lambda match: words.get(match[0]) or _spell_word(match[0], spelling), text)


def _spell_word(word, spelling):
    """Spell a word by syllables.

    An unwritten vowel is silent at the end, and within the word if a single consonant separates it from the next vowel.
    """
    parts = _split_sounds(word)
    for place in range(len(parts) - 1, 0, -1):
        if parts[place] == UNWRITTEN and _is_silent(parts, place):
            parts[place] = (SILENT, "")
    one = sum(_is_vowel(parts, place) for place in range(len(parts))) == 1
    middle = {**spelling, "aa": spelling["long"]} if one and parts[-1][1] != "aa" else spelling
    if parts and parts[-1] == (VOWEL, "ee"):
        parts[-1] = (VOWEL, "i")
    return re.sub(r"n(?=[pbm])", "m", "".join(middle.get(sound, sound) for _, sound in parts))


def _is_silent(parts, place):
    """Return True for an unwritten vowel at the end of a word, and for the second a of aCaCV.

    It is not silent at the end after y, r or v that follow a consonant (patra).
    """
    if place == len(parts) - 1:
        return not (parts[place - 1][1] in ("y", "r", "v") and place > 1 and not _is_vowel(parts, place - 2))
    return _is_vowel(parts, place - 2) and not _is_vowel(parts, place + 1) and _is_vowel(parts, place + 2)


def _is_vowel(parts, place):
    return 0 <= place < len(parts) and parts[place][0] in (VOWEL, SILENT) and parts[place][1] != ""


def _split_sounds(word):
    """Split a word into `[(kind, Latin letters)]`: consonants, vowels, and `SILENT` for the unwritten vowel of a
    consonant.
    """
    parts, place = [], 0
    while place < len(word):
        char = word[place]
        following = word[place + 1 : place + 2]
        if char in CONSONANTS:
            dotted = following == DOT
            parts.append((CONSONANT, DOTTED.get(char, CONSONANTS[char]) if dotted else CONSONANTS[char]))
            place += dotted
            following = word[place + 1 : place + 2]
            if following == VIRAMA:
                place += 1
            elif following not in SIGNS:
                parts.append(UNWRITTEN)
        elif char in VOWELS or char in SIGNS:
            parts.append((VOWEL, VOWELS.get(char) or SIGNS[char]))
        elif char in (NASAL, BINDU):
            parts.append((CONSONANT, "n"))
        place += 1
    return parts
