"""BM25 of an index: the passages of each word, so that a question looks at these only.

Sections, besides those of docs/formats.md:

| name | |
|---|---|
| "bm25.terms", "bm25.term_starts" | uint8: the words in UTF-8, ascending by their bytes, end to end; uint32 (t + 1) |
| "bm25.starts" | uint32 (t + 1): the first entry of each word in the two that follow |
| "bm25.rows" | uint32: passages that have the word, ascending |
| "bm25.weights" | uint8: 255 f / (f + k1 (1 - b + b l / mean l)), rounded, at least 1, of f times in l words |

A passage's share of a question is its BM25, with Lucene's idf and without the factor k1 + 1, divided by the largest
possible value: the sum of idf weight / 255 over the words that it has, by the sum of idf over the question's distinct
words. Words of no passage count among these, so that a question with few known words has small shares.

With `related.RelatedWords`, a word of no passage uses similar ones: its weight in a passage is the greatest of theirs,
each times its cosine to the power `POWER`, and its idf that of the passages that have any of them.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from typing import cast

import numpy as np
from numpy.typing import NDArray

from ...encoders.catalog.identity import locate_encoder, weights_fingerprint
from ...encoders.catalog.loading import load_encoder
from ...encoders.encoder import Encoder
from ...errors import DistillError, EncoderError, InputError, first_line
from ...retrieval.blocks import part_edges
from ...system.progress import say
from ...system.types import File, Floats, Integers, Json
from ...vocabulary.words.folding import split_plain_words
from .related import RelatedWords

# Chosen on XQuAD dev, as `searching.WEIGHT`.
K1, B = 0.6, 0.75
HIGHEST = 255
POWER = 2
# Words of a question that are looked for among those like them: each takes a look at all words of the index.
LOOKED_FOR = 64
# Another number for words that are compared in another way, which an index of the former ones is not searched with.
FOLDING = 3
# Characters of a word that count.
LONGEST = 64
SECTIONS = {
    "bm25.terms": np.uint8,
    "bm25.term_starts": np.uint32,
    "bm25.starts": np.uint32,
    "bm25.rows": np.uint32,
    "bm25.weights": np.uint8,
}


def list_terms(text: str) -> list[str]:
    """Return the words of a text that are compared."""
    return [word[:LONGEST] for word in split_plain_words(text)]


def invert_texts(texts: Iterable[str]) -> dict[str, NDArray[np.generic]]:
    """Return the sections of passages, in their order, by name."""
    numbers: dict[str, int] = {}
    words, counts, distinct, lengths = [], [], [], []
    for text in texts:
        times = Counter(list_terms(text))
        words.append(np.array([numbers.setdefault(term, len(numbers)) for term in times], dtype=np.uint32))
        counts.append(np.fromiter(times.values(), dtype=np.uint32, count=len(times)))
        distinct.append(len(times))
        lengths.append(times.total())
    rows = np.repeat(np.arange(len(lengths), dtype=np.uint32), distinct)
    return _make_sections(numbers, _join_parts(words), _join_parts(counts), rows, np.array(lengths, dtype=np.float64))


def _join_parts(parts):
    return np.concatenate([*parts, np.zeros(0, dtype=np.uint32)])


def _make_sections(numbers, words, counts, rows, lengths):
    """Make the sections of entries by passage (word, count, passage), and of the lengths of passages."""
    terms = sorted((term.encode(), number) for term, number in numbers.items())
    place = np.empty(len(terms), dtype=np.uint32)
    place[[number for _, number in terms]] = np.arange(len(terms), dtype=np.uint32)
    places = place[words]
    order = np.argsort(places, kind="stable")
    return {
        "bm25.terms": np.frombuffer(b"".join(term for term, _ in terms), dtype=np.uint8),
        "bm25.term_starts": part_edges([len(term) for term, _ in terms]).astype(np.uint32),
        "bm25.starts": part_edges(np.bincount(places, minlength=len(terms))).astype(np.uint32),
        "bm25.rows": rows[order],
        "bm25.weights": _weights(counts, lengths[rows], lengths.mean() if len(lengths) else 0.0)[order],
    }


def _weights(counts: Integers, lengths: NDArray[np.float64], mean: float) -> NDArray[np.uint8]:
    weights = counts / (counts + K1 * (1 - B + B * lengths / max(mean, 1.0)))
    return np.maximum(np.rint(HIGHEST * weights), 1).astype(np.uint8)


class Lexical:
    """The words of an index. `related` finds similar words for those that the index lacks, or None."""

    def __init__(
        self, sections: Mapping[str, NDArray[np.generic]], passages: int, related: RelatedWords | None = None
    ) -> None:
        self.passages, self.related = passages, related
        # Views that are no memory maps, of which each slice takes a tenth of the time.
        arrays = [np.asarray(sections[name]) for name in SECTIONS]
        self._terms, self._term_starts, self._starts, self._rows, weights = arrays
        self._weights = cast("NDArray[np.uint8]", weights)

    def shares(self, question: str) -> Floats:
        """Return each passage's share of the question, float32 `(passages,)`, in [0, 1]."""
        shares, whole, looked_for = np.zeros(self.passages, dtype=np.float32), 0.0, 0
        for term in dict.fromkeys(list_terms(question)):
            rows, weights = self._postings(term)
            if self.related and not len(rows) and looked_for < LOOKED_FOR:
                rows, weights = self._related_postings(self.related.find(term))
                looked_for += 1
            idf = self._idf(len(rows))
            whole += idf
            shares[rows] += weights * np.float32(idf / HIGHEST)
        return shares / np.float32(whole or 1)

    def _postings(self, term):
        """Return the passages that have a word, and its weights there."""
        number = self._number(term.encode())
        entries = self._entries(number) if number >= 0 else slice(0, 0)
        return self._rows[entries], self._weights[entries]

    def _related_postings(self, related):
        """Return the passages that have any of the `related` words, and the greatest weights there."""
        entries = [(self._entries(number), np.float32(cosine**POWER)) for number, cosine in related]
        rows = _join_parts([self._rows[each] for each, _ in entries])
        weights = np.concatenate([np.zeros(0, np.float32), *(self._weights[each] * share for each, share in entries)])
        order = np.argsort(rows, kind="stable")
        distinct, first = np.unique(rows[order], return_index=True)
        return distinct, np.maximum.reduceat(weights[order], first) if len(first) else weights

    def _idf(self, having: int) -> float:
        return float(np.log1p((self.passages - having + 0.5) / (having + 0.5)))

    def _entries(self, number: int) -> slice:
        return slice(int(self._starts[number]), int(self._starts[number + 1]))

    def _number(self, term: bytes) -> int:
        """Return the place of a word among all, or -1."""
        low, high = 0, len(self._term_starts) - 1
        while low < high:
            middle = (low + high) // 2
            if self._term(middle) < term:
                low = middle + 1
            else:
                high = middle
        return low if low < len(self._term_starts) - 1 and self._term(low) == term else -1

    def _term(self, number: int) -> bytes:
        start, end = self._term_starts[number : number + 2].tolist()
        return self._terms[start:end].tobytes()


# Entries of an index's card.
CARD = ("word_encoder", "word_fingerprint")
# The encoder of words where none is named: a static one, as a question has many words. And the name of none.
USUAL, NONE = "multi12-static", "none"


def name_word_encoder(
    source: File | None, card: Mapping[str, Json], known: Mapping[str, Json] | None
) -> dict[str, Json]:
    """Return the entries of an index's card about the encoder of its words, none if it has no words.

    It is that of `source`, or of the existing index's card `known`, or else `USUAL`; `NONE` stands for no vectors.
    """
    if not card["hybrid"]:
        if source is not None:
            raise InputError("--word-model needs --hybrid, which indexes the words; give both")
        return {}
    named = source or (known or {}).get(CARD[0]) or USUAL
    if str(named) == NONE:
        return {CARD[0]: NONE}
    try:
        return dict(zip(CARD, (locate_encoder(named), weights_fingerprint(named)), strict=True))
    except EncoderError as error:
        if source is not None:
            raise
        raise EncoderError(
            f"the words of the index have vectors by {named}, which cannot be loaded ({first_line(error)}); "
            f"give --word-model another encoder, or {NONE}"
        ) from error


def load_related_words(
    sections: Mapping[str, NDArray[np.generic]], card: Mapping[str, Json], encoder: Encoder, fingerprint: str
) -> RelatedWords | None:
    """Return the finder of similar words of an index, or None if its words have no vectors.

    If the encoder of the words is gone or has changed, a line says so once, and no word is similar to another.
    """
    if "words.vectors" not in sections:
        return None
    source, known = (str(card.get(name)) for name in CARD)
    return RelatedWords(sections, lambda: encoder if known == fingerprint else _load_same(source, known))


def _load_same(source: str, known: str) -> Encoder | None:
    """Return the encoder of that name if it still has the known fingerprint; else print that, and return None."""
    try:
        if weights_fingerprint(source) == known:
            return load_encoder(source)
        problem = f"{source} has changed since it gave the words of the index their vectors"
    except DistillError as error:
        problem = first_line(error)
    say(f"only exact words are found: {problem}; run distill index again with --hybrid --word-model {USUAL}")
    return None
