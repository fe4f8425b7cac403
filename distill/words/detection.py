"""Detect the language of a text with py3langid."""

from __future__ import annotations

import re
from functools import cache
from importlib.util import find_spec

import numpy as np

# The language of a text that is too short or too mixed to tell.
FALLBACK = "en"
# The least probability of a detected language.
LEAST = 0.9
# The greatest number of characters that the detector reads.
LOOKED_AT = 2000
LETTER = re.compile(r"[^\W\d_]")
# Thai, and the packages of the extra `morphology` that its sentences need.
THAI, FOR_THAI = "th", ("pycrfsuite", "pythainlp")


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
