"""Find the sentences of a text by language, as places in it.

| languages | by | comes with |
|---|---|---|
| th, which has no mark at the end of a sentence | PyThaiNLP, crfcut (`python-crfsuite`) | extra `morphology` |
| all others: some 240 by name, with their abbreviations | `sentencex` | distill |
"""

from __future__ import annotations

import os
import re
from collections.abc import Sequence
from functools import lru_cache

import sentencex

from .segmenters import import_extra

# The number of texts whose sentences are cached.
CACHED = 2**17
# A line of blanks alone parts paragraphs as an empty one does.
BLANK_LINE = re.compile("\n[ \t\r\v\f\xa0]+(?=\n)")


@lru_cache(CACHED)
def find_sentences_cached(text: str, language: str) -> tuple[tuple[int, int], ...]:
    """Return the result of `find_sentences`, which is remembered for texts that come again.

    Args:
        language: Its ISO 639-1 code.
    """
    return find_sentences(text, language)


def find_sentences(text: str, language: str) -> tuple[tuple[int, int], ...]:
    """Find the sentences of a text.

    Blanks around a sentence belong to none. A text without a boundary is one sentence, and so is a blank text.

    Args:
        language: Its ISO 639-1 code.

    Returns:
        The start and end of each sentence in characters, ascending. None is blank, unless the whole text is.

    Raises:
        InputError: If the language needs a library of the extra `morphology` that is missing.
    """
    # Each lone surrogate becomes one character, so that places stay valid.
    text = re.sub("[\ud800-\udfff]", "\ufffd", text)
    text = BLANK_LINE.sub(lambda line: "\n" * len(line[0]), text)
    places, end = [], 0
    for part in SPLITTERS.get(language[:2].lower(), sentencex.segment)(language, text):
        if sentence := part.strip():
            start = text.index(sentence, end)
            end = start + len(sentence)
            places.append((start, end))
    return tuple(places) or ((0, len(text)),)


def split_thai_sentences(language: str, text: str) -> Sequence[str]:
    """Split Thai lines into sentences by PyThaiNLP's crfcut, a conditional random field over words."""
    # Otherwise PyThaiNLP makes a folder in the home directory.
    os.environ.setdefault("PYTHAINLP_READ_ONLY", "1")
    import_extra("pycrfsuite", "Thai")
    cut = import_extra("pythainlp.tokenize", "Thai").sent_tokenize
    return [sentence for line in text.splitlines() for sentence in cut(line, engine="crfcut")]


SPLITTERS = {"th": split_thai_sentences}
