"""Detect the language of a text with py3langid."""

from __future__ import annotations

import re
from functools import cache
from importlib.util import find_spec

import numpy as np

# The language of a text that is too short or too mixed to tell.
FALLBACK = "en"
# The languages that have a code of two letters (ISO 639-1), by the first of them; others have one of three.
# fmt: off
SECOND = {
    "a": "abefkmnrsvyz", "b": "aegimnors", "c": "aehorsuvy", "d": "aevz", "e": "elnostu", "f": "afijory",
    "g": "adlnuv", "h": "aeiortuyz", "i": "adegikostu", "j": "av", "k": "agijklmnorsuvwy", "l": "abginotuv",
    "m": "ghiklnrsty", "n": "abdeglnorvy", "o": "cjmrs", "p": "ailst", "q": "u", "r": "mnouw",
    "s": "acdegiklmnoqrstuvw", "t": "aeghiklnorstwy", "u": "gkrz", "v": "eio", "w": "ao", "x": "h", "y": "io",
    "z": "ahu",
}
# fmt: on
# The least probability of a detected language.
LEAST = 0.9
# The greatest number of characters that the detector reads.
LOOKED_AT = 2000
LETTER = re.compile(r"[^\W\d_]")
# Thai, and the packages of the extra `morphology` that its sentences need.
THAI, FOR_THAI = "th", ("pycrfsuite", "pythainlp")


def is_language(code: str) -> bool:
    """Return whether a text can be the code of a language, such as de, fil or pt-BR."""
    first = re.split("[-_]", code)[0].lower()
    return first[1:] in [*SECOND.get(first[:1], "")] or bool(re.fullmatch("[a-z]{3}", first))


def detect_language(text: str) -> str:
    """Detect the language of a text and return its ISO 639-1 code, or "en" if that is not certain.

    Thai is detected only if the packages that cut its sentences are installed.
    """
    text = text[:LOOKED_AT]
    if not LETTER.search(text):
        return FALLBACK
    ranked = _load_ranker()(text)
    scores = np.array([score for _, score in ranked])
    code, share = ranked[0][0], 1 / np.exp(scores - scores[0]).sum()
    if share < LEAST or (code == THAI and not _cuts_thai()):
        return FALLBACK
    return str(code)


@cache
def _load_ranker():
    # The import takes a tenth of a second, and reading the model a second.
    import py3langid

    return py3langid.rank


@cache
def _cuts_thai():
    return all(find_spec(package) for package in FOR_THAI)
