"""A text as a reader sees it: its tokens with their places, their words, and their shapes."""

from __future__ import annotations

import re
from collections.abc import Callable
from dataclasses import dataclass
from functools import cache, cached_property, lru_cache
from typing import Protocol

import numpy as np

from ...system.progress import say
from ...system.types import Floats, Integers
from ...vocabulary.words.folding import CategoryTable, fold
from .examples import Span, Text

# Number of words whose stem is cached.
CACHED = 2**18
NO_WORD = ""
LETTER = re.compile(r"[^\W_]")
# Marks the characters that are letters, their marks or numbers, without `regex`, which a bundle does not need.
IN_WORDS = CategoryTable(lambda char, kind: "w" if kind[0] in "LMN" else " ")


class PlacingTokenizer(Protocol):
    """A tokenizer that knows the place of each token, such as `encoders.tokenizer.Tokenizer`."""

    def places(self, text: str) -> tuple[list[int], list[Span]]:
        """Return the token ids of a text, and the place of each token in characters."""
        ...


@dataclass(frozen=True)
class TokenisedText:
    """A text of t tokens.

    Attributes:
        ids: Int64 array `(t,)`, the token ids.
        places: Int64 array `(t, 2)`, start and end of each token in characters.
        words: The folded word of each token; "" for a token of no word.
        stems: The words without inflection, if the language has a stemmer.
    """

    text: str
    ids: Integers
    places: Integers
    words: tuple[str, ...]
    stems: tuple[str, ...]

    def __len__(self) -> int:
        return len(self.ids)

    @cached_property
    def shapes(self) -> Floats:
        """Return float32 `(t, 4)`: begins with a blank, begins with a capital, has a digit, has no letter or digit."""
        parts = [self.text[start:end] for start, end in self.places.tolist()]
        rows = [_shape(part, part.strip()) for part in parts]
        return np.array(rows, dtype=np.float32).reshape(-1, 4)

    def token_span(self, place: Span) -> tuple[int, int] | None:
        """Return the first and the last token of a place in characters; None if no token is there."""
        start, end = place
        inside = np.flatnonzero((self.places[:, 1] > start) & (self.places[:, 0] < end) & self._seen)
        return (int(inside[0]), int(inside[-1])) if len(inside) else None

    def character_span(self, first: int, last: int) -> Span:
        """Return the place of a run of tokens in characters, without blanks at its ends.

        `last` is the last token; if it is before the first, the run is empty. Returns `(start, end)`; `(0, 0)` for an
        empty run.
        """
        if last < first:
            return 0, 0
        start, end = int(self.places[first, 0]), int(self.places[last, 1])
        part = self.text[start:end]
        return start + len(part) - len(part.lstrip()), start + len(part.rstrip())

    @cached_property
    def _seen(self):
        return np.array([bool(self.text[start:end].strip()) for start, end in self.places.tolist()], dtype=bool)


def _shape(part, stripped):
    digit, letter = any(char.isdigit() for char in stripped), LETTER.search(stripped) is not None
    return part[:1].isspace(), stripped[:1].isupper(), digit, bool(stripped) and not letter


def tokenise_text(text: Text, tokenizer: PlacingTokenizer) -> TokenisedText:
    ids, places = tokenizer.places(text.text)
    stem, words = stemmer(text.language), _words(text.text, text.language, places)
    array = np.array(places, dtype=np.int64).reshape(-1, 2)
    stems = tuple(stem(word) if word else NO_WORD for word in words)
    return TokenisedText(text.text, np.array(ids, dtype=np.int64), array, words, stems)


def _words(text, language, places):
    """Return for each place the first word that it touches."""
    spans = (match.span() for match in re.finditer("w+", text.translate(IN_WORDS)))
    known = [(start, end, _folded(text[start:end], language)) for start, end in spans]
    words, row = [], 0
    for start, end in places:
        while row < len(known) and known[row][1] <= start:
            row += 1
        words.append(known[row][2] if row < len(known) and known[row][0] < end else NO_WORD)
    return tuple(words)


_folded = lru_cache(CACHED)(fold)


@lru_cache
def stemmer(language: str) -> Callable[[str], str]:
    """Return the function from a folded word to its stem, which is the identity if there is no stemmer."""
    words = _find_analyser(language)
    return lru_cache(CACHED)(lambda word: next(iter(words(word)), word)) if words else lambda word: word


def _find_analyser(language: str) -> Callable[[str], list[str]] | None:
    try:
        from ...vocabulary.words.morphology import STEMMERS, get_analyser

        return get_analyser(language).words if language in STEMMERS else None
    except ModuleNotFoundError:
        _say_unstemmed()
        return None


@cache
def _say_unstemmed():
    say(
        "warning: words are not stemmed, so some answers may differ from those where the reader was trained; "
        "run: pip install regex snowballstemmer"
    )
