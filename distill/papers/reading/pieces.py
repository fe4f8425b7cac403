"""A text as a reader sees it: its tokens with their places, words and shapes, and spans from a reader's logits."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
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


# Number of tokens that a reader sees at once, that two windows share, and that an answer has at most.
WINDOW, SHARED, LONGEST = 320, 96, 24


@dataclass(frozen=True)
class TokenSpan:
    """The best span of a passage; its `score` is how far its logits are above those of no answer."""

    first: int
    last: int
    score: float


# The span of a text without tokens.
NOTHING = TokenSpan(0, -1, 0.0)


def split_windows(length: int) -> list[Span]:
    """Return the windows `(start, end)` of a text of a number of tokens.

    If there are several, each is full. A text without tokens, such as one of blanks without width, has no window.
    """
    if not length:
        return []
    if length <= WINDOW:
        return [(0, length)]
    starts = [*range(0, length - WINDOW, WINDOW - SHARED), length - WINDOW]
    return [(start, start + WINDOW) for start in starts]


def best_span(logits: Floats, length: int) -> TokenSpan:
    """Return the span with the greatest sum of start and end logits (Devlin et al., 2019, BERT, sections 4.2 and 4.3).

    Args:
        logits: Float array `(t + 1, 2)`, those of no answer first.
        length: Number of the t tokens that are the text's; the others are padding.
    """
    starts, ends = logits[1 : length + 1].T
    rows = np.arange(length)
    far = rows[None] - rows[:, None]
    sums = np.where((far >= 0) & (far < LONGEST), starts[:, None] + ends[None], -np.inf)
    first, last = divmod(int(sums.argmax()), length)
    return TokenSpan(first, last, float(sums[first, last] - logits[0].sum()))


def best_over_windows(parts: Sequence[tuple[int, TokenSpan]]) -> TokenSpan:
    """Return the best span over windows, in tokens of the text; `NOTHING` if there is no window."""
    if not parts:
        return NOTHING
    start, best = max(parts, key=lambda one: one[1].score)
    return TokenSpan(start + best.first, start + best.last, best.score)


# The number of features of a token that are matches (token, word, stem), and of all: three more are of its sentence and
# four of its shape.
MATCHES, FEATURES = 3, 10
# Scales of cosines and of their distances from the best, which are small.
COSINE, DISTANCE = 3.0, 5.0


def passage_features(passage: TokenisedText, question: TokenisedText, cosines: Floats, text: Text) -> Floats:
    """Return the features of a passage's tokens: a float32 array `(t, FEATURES)`.

    `cosines`, `(s,)`, are those of the passage's sentences with the question.
    """
    return np.concatenate([_matches(passage, question), _of_sentences(passage, cosines, text), passage.shapes], axis=1)


def _matches(passage, question):
    ids = np.isin(passage.ids, question.ids)
    words, stems = set(question.words) - {NO_WORD}, set(question.stems) - {NO_WORD}
    same = [word in words for word in passage.words], [stem in stems for stem in passage.stems]
    return np.stack([ids, *same], axis=1).astype(np.float32)


def _of_sentences(passage, cosines, text):
    """Return for each token the cosine of its sentence, its distance from the best, and whether it is the best."""
    starts = np.array([start for start, _ in text.sentences])
    # A token may begin with the blank before its sentence.
    rows = np.clip(np.searchsorted(starts, passage.places[:, 0] + 1, side="right") - 1, 0, len(starts) - 1)
    far = cosines - cosines.max()
    return np.stack([COSINE * cosines, DISTANCE * far, far == 0], axis=1)[rows].astype(np.float32)
