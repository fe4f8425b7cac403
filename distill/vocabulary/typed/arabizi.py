"""Write Arabic in Latin letters and digits as people chat: Arabizi. The unwritten short vowels are guessed."""

from __future__ import annotations

import random
import re
import unicodedata

LETTERS = {
    "ا": ("a",), "أ": ("a",), "إ": ("e", "i"), "آ": ("a",), "ٱ": ("a",), "ى": ("a",), "ء": ("2", ""),
    "ؤ": ("2o", "o"), "ئ": ("2", "e"), "ب": ("b",), "ت": ("t",), "ث": ("th", "s"), "ج": ("j", "g"), "ح": ("7", "h"),
    "خ": ("5", "kh"), "د": ("d",), "ذ": ("th", "z"), "ر": ("r",), "ز": ("z",), "س": ("s",), "ش": ("sh", "ch"),
    "ص": ("s", "9"), "ض": ("d",), "ط": ("t", "6"), "ظ": ("z",), "ع": ("3",), "غ": ("gh",), "ف": ("f",),
    "ق": ("q", "2"), "ك": ("k",), "ل": ("l",), "م": ("m",), "ن": ("n",), "ه": ("h",), "ة": ("a", "eh"),
    "و": ("w", "o"), "ي": ("y", "i"), "؟": ("?",), "،": (",",), "؛": (";",),
}  # fmt: skip
VOWELS = "اأإآٱىةوي"
# Words that are spelled as they are spoken.
WORDS = {
    "ما": "ma", "من": "men", "في": "fi", "على": "3ala", "إلى": "ela", "الى": "ela", "عن": "3an", "مع": "ma3",
    "هو": "howa", "هي": "heya", "هل": "hal", "كم": "kam", "متى": "mata", "أين": "ayn", "كيف": "kayf", "ماذا": "matha",
    "لماذا": "limatha", "التي": "allati", "الذي": "allathi", "كان": "kan", "كانت": "kanat", "عام": "3am",
    "سنة": "sana", "تم": "tam", "أي": "ay", "عدد": "3adad", "بين": "bayn", "هذا": "hatha", "هذه": "hathihi",
    "قبل": "2abl", "بعد": "ba3d", "اسم": "esm", "غير": "ghayr", "أن": "an", "إن": "en", "لم": "lam", "لا": "la",
    "قد": "qad", "كل": "kol", "عند": "3end", "ذلك": "thalek", "أول": "awal",
}  # fmt: skip
WORD = re.compile(r"[\u0620-\u064a\u0671]+")
UNWRITTEN = re.compile(r"[\u0640\u064b-\u065f\u0670]")
DIGITS = str.maketrans("٠١٢٣٤٥٦٧٨٩", "0123456789")


def romanise_arabic(text: str, draw: random.Random) -> str:
    """Write Arabic in Latin letters: "متى بدأت الحرب؟" becomes "mata bda2t al7arb?"."""
    spelling = {letter: draw.choice(spellings) for letter, spellings in LETTERS.items()}
    article = draw.choice(("al", "el"))
    text = UNWRITTEN.sub("", unicodedata.normalize("NFKC", text)).translate(DIGITS)
    text = WORD.sub(lambda match: WORDS.get(match[0]) or _spell_word(match[0], spelling, article), text)
    return "".join(spelling.get(char, char) for char in text)


def _spell_word(word, spelling, article):
    """Return the article, then letters, with a vowel between two consonants that begin the word or come third."""
    head = ""
    for prefix, latin in (("وال", f"w {article}"), ("بال", f"b{article}"), ("لل", "lel"), ("ال", article)):
        if word.startswith(prefix) and len(word) > len(prefix) + 1:
            head, word = latin, word[len(prefix) :]
            break
    letters, run = [], 0
    for place, char in enumerate(word):
        vowel = char in VOWELS and not (char in "وي" and place == 0)
        run = 0 if vowel else run + 1
        if run == 2 and (place == 1 or place == len(word) - 1):
            letters.append("a" if place == 1 else "e")
            run = 1
        elif run == 3:
            letters.append("a")
            run = 1
        letters.append(_spell_sound(char, place, word, spelling))
    return head + re.sub(r"([aei])\1+", r"\1", "".join(letters))


def _spell_sound(char, place, word, spelling):
    """Return the letters of a sound. و and ي are consonants at the beginning of a word and before a vowel."""
    if char in "وي":
        before_vowel = word[place + 1 : place + 2] in tuple(VOWELS)
        consonant, vowel = ("w", "o") if char == "و" else ("y", "i")
        return consonant if place == 0 or before_vowel else vowel
    return spelling.get(char, char)
