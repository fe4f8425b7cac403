"""Write other scripts in Latin letters as people do: Greeklish, Hinglish, Arabizi, Pinyin without tones, and Russian.

There is no standard, and spellings vary from person to person. Each text is therefore by one drawn writer, who always
spells a sound in the same way.
"""

from __future__ import annotations

import random
import re
import unicodedata
from collections.abc import Callable, Mapping
from importlib import import_module
from types import ModuleType

from ...errors import InputError
from ...system.extras import install_command
from .hinglish import romanise_hindi
from .typing_errors import remove_accents

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


# Possible spellings of each letter, of which a writer uses one.
GREEK = {
    "ου": ("ou",), "αυ": ("au", "av"), "ευ": ("eu", "ev"), "μπ": ("mp", "b"), "ντ": ("nt", "d"), "γγ": ("gg",),
    "γκ": ("gk", "g"), "τζ": ("tz",), "α": ("a",), "β": ("b", "v"), "γ": ("g",), "δ": ("d",), "ε": ("e",), "ζ": ("z",),
    "η": ("i", "h"), "θ": ("th", "8"), "ι": ("i",), "κ": ("k",), "λ": ("l",), "μ": ("m",), "ν": ("n",),
    "ξ": ("x", "ks", "3"), "ο": ("o",), "π": ("p",), "ρ": ("r",), "σ": ("s",), "ς": ("s",), "τ": ("t",),
    "υ": ("y", "u", "i"), "φ": ("f",), "χ": ("x", "h", "ch"), "ψ": ("ps",), "ω": ("o", "w"), ";": ("?",), "·": (";",),
}  # fmt: skip
RUSSIAN = {
    "ый": ("yj", "iy", "y"), "ий": ("ij", "iy", "y"), "а": ("a",), "б": ("b",), "в": ("v",), "г": ("g",), "д": ("d",),
    "е": ("e",), "ё": ("e", "yo"), "ж": ("zh", "j"), "з": ("z",), "и": ("i",), "й": ("j", "y", "i"), "к": ("k",),
    "л": ("l",), "м": ("m",), "н": ("n",), "о": ("o",), "п": ("p",), "р": ("r",), "с": ("s",), "т": ("t",),
    "у": ("u",), "ф": ("f",), "х": ("h", "kh"), "ц": ("c", "ts"), "ч": ("ch",), "ш": ("sh",), "щ": ("sch", "sh"),
    "ъ": ("",), "ы": ("y", "i"), "ь": ("", "'"), "э": ("e",), "ю": ("yu", "ju"), "я": ("ya", "ia"),
}  # fmt: skip
# Chinese punctuation, and what people type for it with Latin letters.
CHINESE_SIGNS = str.maketrans("，。？！：；、（）“”‘’《》·", ',.?!:;,()""\'\'"" ')
HAN = re.compile(r"[\u3400-\u4dbf\u4e00-\u9fff]")


def romanise_greek(text: str, draw: random.Random) -> str:
    """Write Greek in Latin letters without accents: "Ποιος ήταν ο βασιλιάς;" becomes "Poios itan o vasilias?"."""
    return replace_letters(remove_accents(text, "el"), GREEK, draw)


def romanise_russian(text: str, draw: random.Random) -> str:
    """Write Russian in Latin letters: "Какой город" becomes "Kakoj gorod" or "Kakoy gorod"."""
    return replace_letters(text, RUSSIAN, draw)


def replace_letters(text: str, letters: Mapping[str, tuple[str, ...]], draw: random.Random) -> str:
    """Replace letters, the longest first, each with the same spelling throughout the text. Capitals stay capitals."""
    chosen = {letter: draw.choice(spellings) for letter, spellings in letters.items()}
    pattern = re.compile("|".join(map(re.escape, sorted(letters, key=len, reverse=True))), re.IGNORECASE)

    def replace_match(match):
        letter = match[0]
        other = chosen.get(letter.lower(), letter)
        return other[:1].upper() + other[1:] if letter[0].isupper() else other

    return pattern.sub(replace_match, text)


def romanise_chinese(text: str, draw: random.Random) -> str:
    """Write Chinese in Pinyin without tones, with v for ü, by syllables ("bei jing you duo da?") or by words
    ("beijing").

    Raises:
        InputError: If pypinyin, of the extra `typed`, is not installed.
    """
    package = import_pypinyin()
    from pypinyin.seg.mmseg import seg

    text = unicodedata.normalize("NFKC", text.translate(CHINESE_SIGNS))
    runs = re.findall(rf"{HAN.pattern}+|[^\u3400-\u4dbf\u4e00-\u9fff]+", text)
    join = "" if draw.random() < 0.5 else " "
    parts = [_romanise_run(run, seg, package.lazy_pinyin, join) if HAN.match(run) else run.strip() for run in runs]
    text = re.sub(r"\s+([,.?!:;)])", r"\1", " ".join(part for part in parts if part))
    return re.sub(r"(?<=[^\W\d])([,;:])(?=\w)", r"\1 ", text)


def split_chinese(text: str) -> list[str]:
    """Split Chinese text into the words that `romanise_chinese` writes as one.

    Raises `InputError` if pypinyin is not installed.
    """
    import_pypinyin()
    from pypinyin.seg.mmseg import seg

    return list(seg.cut(text))


def import_pypinyin() -> ModuleType:
    """Return pypinyin, a package of the extra `typed`. Raises `InputError` with the way to install it."""
    try:
        return import_module("pypinyin")
    except ImportError as error:
        raise InputError(f"Pinyin needs pypinyin, which is not installed; run: {install_command('typed')}") from error


def _romanise_run(run, seg, syllables, join):
    return " ".join(join.join(syllables(word)) for word in seg.cut(run))


ROMANISERS: dict[str, Callable[[str, random.Random], str]] = {
    "ar": romanise_arabic,
    "el": romanise_greek,
    "hi": romanise_hindi,
    "ru": romanise_russian,
    "zh": romanise_chinese,
}
