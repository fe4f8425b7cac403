"""Sentences of a text by language, as places in it.

| languages | by | comes with |
|---|---|---|
| th, which has no mark at the end of a sentence | PyThaiNLP, crfcut (`python-crfsuite`) | `distill[morphology]` |
| all others: some 240 by name, with their abbreviations | `sentencex` | distill |
"""

from __future__ import annotations

import os
import re
from collections.abc import Sequence
from functools import lru_cache

import sentencex

from .segmenters import needed

# Texts whose sentences are held.
CACHED = 2**17


@lru_cache(CACHED)
def sentence_places(text: str, language: str) -> tuple[tuple[int, int], ...]:
    """Return what `sentences_in` does; of texts that come again it is known."""
    return sentences_in(text, language)


def sentences_in(text: str, language: str) -> tuple[tuple[int, int], ...]:
    """Return the sentences of `text` as `((start, end), ...)` in characters, ascending, none of them blank.

    Blanks around a sentence belong to none. A text without a boundary is one sentence, as is a blank one.
    `language`: an ISO 639-1 code. Raises `InputError` where a library of the extra `morphology` is missing.
    """
    # One character for each lone surrogate, so that places stay.
    text = re.sub("[\ud800-\udfff]", "\ufffd", text)
    places, end = [], 0
    for part in SPLITTERS.get(language[:2].lower(), sentencex.segment)(language, text):
        if sentence := part.strip():
            start = text.index(sentence, end)
            end = start + len(sentence)
            places.append((start, end))
    return tuple(places) or ((0, len(text)),)


def thai(language: str, text: str) -> Sequence[str]:
    """Return the sentences of each line by PyThaiNLP's crfcut, a conditional random field over its words."""
    # Else it makes a folder in the home directory.
    os.environ.setdefault("PYTHAINLP_READ_ONLY", "1")
    needed("pycrfsuite", "Thai")
    cut = needed("pythainlp.tokenize", "Thai").sent_tokenize
    return [sentence for line in text.splitlines() for sentence in cut(line, engine="crfcut")]


SPLITTERS = {"th": thai}
