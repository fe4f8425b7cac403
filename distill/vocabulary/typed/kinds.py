"""Make text noisy, as people type it: one seeded generator per kind of noise, which gives the same text for a seed."""

from __future__ import annotations

import random
from collections.abc import Callable, Iterable

from .latin import ROMANISERS, import_pypinyin
from .typing_errors import ACCENTED, LAYOUTS, add_slips, join_words, remove_accents, to_lower_case, to_speech

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
