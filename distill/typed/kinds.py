"""Text as people type it, by kind: each a seeded generator, the same text for the same seed."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterable

from .latin import ROMANISERS, pinyin_package
from .marks import ACCENTED, lower_cased, spoken, without_accents
from .slips import LAYOUTS, with_joined_words, with_slips

# Written without capitals, and without blanks between words.
UNCASED = ("ar", "fa", "he", "hi", "ja", "ko", "lo", "my", "km", "th", "ur", "zh")
UNSPACED = ("ja", "km", "lo", "my", "th", "zh")
GENERATORS: dict[str, Callable[[str, str, random.Random], str]] = {
    "no-accents": lambda text, language, draw: without_accents(text, language),
    "lower-case": lambda text, language, draw: lower_cased(text, language),
    "typos": with_slips,
    "no-blanks": lambda text, language, draw: with_joined_words(text, draw),
    "speech": lambda text, language, draw: spoken(text, language),
    "latin": lambda text, language, draw: ROMANISERS[language](text, draw),
}


def typed(text: str, language: str, kind: str, seed: int = 0) -> str:
    """Return `text` as people type it, by a kind of `choices.TYPED` that the language has, drawn by text and `seed`.

    Raises `InputError` where `latin` of Chinese lacks the package pypinyin.
    """
    return GENERATORS[kind](text, language, random.Random(f"{seed}\n{kind}\n{text}"))


def has_kind(language: str, kind: str) -> bool:
    """True where text in this language can be typed so."""
    taken = {
        "no-accents": language in ACCENTED,
        "lower-case": language not in UNCASED,
        "typos": language in LAYOUTS,
        "no-blanks": language not in UNSPACED,
        "latin": language in ROMANISERS,
    }
    return taken.get(kind, True)


def require_kinds(languages: Iterable[str], kinds: Iterable[str]) -> None:
    """Raise `InputError` where the package is not installed that one of the `kinds` needs in one of the `languages`."""
    if "zh" in languages and "latin" in kinds:
        pinyin_package()
