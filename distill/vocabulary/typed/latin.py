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
from .arabizi import romanise_arabic
from .hinglish import romanise_hindi
from .marks import remove_accents

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
