"""Make text noisy, as people type it: one seeded generator per kind of noise, which gives the same text for a seed.

One kind writes other scripts in Latin letters: Greeklish, Hinglish, Arabizi, Pinyin without tones, and Russian.
There is no standard, and spellings vary from person to person. Each text is therefore by one drawn writer, who always
spells a sound in the same way.
"""

from __future__ import annotations

import random
import re
import unicodedata
from collections.abc import Callable, Iterable, Mapping
from importlib import import_module
from types import ModuleType

from ...errors import InputError
from ...system.extras import install_command
from .typing_errors import ACCENTED, LAYOUTS, add_slips, join_words, remove_accents, to_lower_case, to_speech

CONSONANTS = {
    "क": "k", "ख": "kh", "ग": "g", "घ": "gh", "ङ": "n", "च": "ch", "छ": "chh", "ज": "j", "झ": "jh", "ञ": "n", "ट": "t",
    "ठ": "th", "ड": "d", "ढ": "dh", "ण": "n", "त": "t", "थ": "th", "द": "d", "ध": "dh", "न": "n", "प": "p", "फ": "ph",
    "ब": "b", "भ": "bh", "म": "m", "य": "y", "र": "r", "ल": "l", "व": "v", "श": "sh", "ष": "sh", "स": "s", "ह": "h",
    "ळ": "l",
}  # fmt: skip
# Consonants with the dot below.
DOTTED = {"क": "q", "ख": "kh", "ग": "g", "ज": "z", "ड": "d", "ढ": "dh", "फ": "f"}
HINDI_VOWELS = {
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
HINDI_WORDS = {
    "में": "me", "मैं": "main", "है": "hai", "हैं": "hain", "और": "aur", "का": "ka", "की": "ki", "के": "ke", "को": "ko",
    "क्या": "kya", "कौन": "kaun", "यह": "yeh", "वह": "woh", "वे": "we", "कब": "kab", "कहाँ": "kahan", "कहां": "kahan",
    "किस": "kis", "ने": "ne", "से": "se", "पर": "par", "था": "tha", "थी": "thi", "थे": "the", "एक": "ek", "नहीं": "nahi",
    "कितने": "kitne", "कितना": "kitna", "कितनी": "kitni", "वर्ष": "varsh", "हुआ": "hua", "हुई": "hui", "लिए": "liye",
    "किया": "kiya", "गया": "gaya", "गई": "gayi", "कंपनी": "company", "स्कूल": "school", "पुलिस": "police",
}  # fmt: skip
HINDI_WORD = re.compile(r"[\u0900-\u0963\u0970-\u097f]+")
HINDI_DIGITS = str.maketrans("०१२३४५६७८९।", "0123456789.")
CONSONANT, VOWEL, SILENT = "consonant", "vowel", "unwritten"
HINDI_UNWRITTEN = (SILENT, "a")
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


def romanise_hindi(text: str, draw: random.Random) -> str:
    """Write Hindi in Latin letters: "भारत की राजधानी क्या है?" becomes "bharat ki rajdhani kya hai?"."""
    spelling = {sound: draw.choice(spellings) for sound, spellings in SPELLINGS.items()}
    text = unicodedata.normalize("NFD", text).translate(HINDI_DIGITS)
    words = {unicodedata.normalize("NFD", word): latin for word, latin in HINDI_WORDS.items()}
    return HINDI_WORD.sub(lambda match: words.get(match[0]) or _spell_hindi(match[0], spelling), text)


def _spell_hindi(word, spelling):
    """Spell a word by syllables.

    An unwritten vowel is silent at the end, and within the word if a single consonant separates it from the next vowel.
    """
    parts = _split_sounds(word)
    for place in range(len(parts) - 1, 0, -1):
        if parts[place] == HINDI_UNWRITTEN and _is_silent(parts, place):
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
    """Split a word into kinds and Latin letters of its sounds: `SILENT` is the unwritten vowel of a consonant."""
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
                parts.append(HINDI_UNWRITTEN)
        elif char in HINDI_VOWELS or char in SIGNS:
            parts.append((VOWEL, HINDI_VOWELS.get(char) or SIGNS[char]))
        elif char in (NASAL, BINDU):
            parts.append((CONSONANT, "n"))
        place += 1
    return parts


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
    """Write Chinese in Pinyin without tones, with v for ü, by syllables ("bei jing") or by words ("beijing")."""
    package = import_pypinyin()
    from pypinyin.seg.mmseg import seg

    text = unicodedata.normalize("NFKC", text.translate(CHINESE_SIGNS))
    runs = re.findall(rf"{HAN.pattern}+|[^\u3400-\u4dbf\u4e00-\u9fff]+", text)
    join = "" if draw.random() < 0.5 else " "
    parts = [_romanise_run(run, seg, package.lazy_pinyin, join) if HAN.match(run) else run.strip() for run in runs]
    text = re.sub(r"\s+([,.?!:;)])", r"\1", " ".join(part for part in parts if part))
    return re.sub(r"(?<=[^\W\d])([,;:])(?=\w)", r"\1 ", text)


def split_chinese(text: str) -> list[str]:
    """Split Chinese text into the words that `romanise_chinese` writes as one."""
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


# Languages that are written without capitals, and those without blanks between words.
UNCASED = ("ar", "fa", "he", "hi", "ja", "ko", "lo", "my", "km", "th", "ur", "zh")
UNSPACED = ("ja", "km", "lo", "my", "th", "zh")
GENERATORS: dict[str, Callable[[str, str, random.Random], str]] = {
    "no-accents": lambda text, language, draw: remove_accents(text, language),
    "lower-case": lambda text, language, draw: to_lower_case(text, language),
    "typos": add_slips,
    "no-blanks": lambda text, language, draw: join_words(text, draw),
    "speech": lambda text, language, draw: to_speech(text, language),
    "latin": lambda text, language, draw: ROMANISERS[language](text, draw),
}


def add_noise(text: str, language: str, kind: str, seed: int = 0) -> str:
    """Make a text noisy in a kind of `choices.TYPED`; Chinese in Latin letters needs the package pypinyin."""
    return GENERATORS[kind](text, language, random.Random(f"{seed}\n{kind}\n{text}"))


def has_kind(language: str, kind: str) -> bool:
    """Return True if text in a language can have a kind of noise."""
    taken = {
        "no-accents": language in ACCENTED,
        "lower-case": language not in UNCASED,
        "typos": language in LAYOUTS,
        "no-blanks": language not in UNSPACED,
        "latin": language in ROMANISERS,
    }
    return taken.get(kind, True)


def require_kinds(languages: Iterable[str], kinds: Iterable[str]) -> None:
    """Check that the packages are installed that kinds of noise need. Raises `InputError` if a package is missing."""
    if "zh" in languages and "latin" in kinds:
        import_pypinyin()
