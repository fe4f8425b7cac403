"""The language of a text that does not say it, by py3langid."""

from __future__ import annotations

import re
from functools import cache
from importlib.util import find_spec

import numpy as np

# The language of a text that is too short or too mixed to tell.
FALLBACK = "en"
# How sure it has to be.
LEAST = 0.9
# Characters that it is told by, at most.
LOOKED_AT = 2000
LETTER = re.compile(r"[^\W\d_]")
# Whose sentences need packages of the extra `morphology`.
THAI, FOR_THAI = "th", ("pycrfsuite", "pythainlp")


def detected_language(text: str) -> str:
    """Return the ISO 639-1 code of a text's language, "en" where that is not sure.

    Thai counts where what cuts its sentences is installed.
    """
    text = text[:LOOKED_AT]
    if not LETTER.search(text):
        return FALLBACK
    ranked = _rank()(text)
    scores = np.array([score for _, score in ranked])
    code, share = ranked[0][0], 1 / np.exp(scores - scores[0]).sum()
    if share < LEAST or (code == THAI and not _cuts_thai()):
        return FALLBACK
    return str(code)


@cache
def _rank():
    # A tenth of a second, and a second to read its model.
    import py3langid

    return py3langid.rank


@cache
def _cuts_thai():
    return all(find_spec(package) for package in FOR_THAI)
