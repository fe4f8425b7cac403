"""Lexicons of a new language: words of one that are near texts of the other, and probabilities from parallel text.

The vectors of a language share a direction whatever the meaning, so each language's mean is subtracted. A word that is
near to many counts as near to none (CSLS: Lample et al., 2018, Word translation without parallel data, section 2.3).
The probabilities are those of IBM Model 1 (Brown et al., 1993, The mathematics of statistical machine translation,
section 4.2): each old token of a line's translation was chosen by one new token of the line, or by none.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from ...encoders.encoder import Encoder, KerasEncoder, normalise_rows
from ...encoders.tokenizer import Tokenizer
from ...retrieval.exact import top_k
from ...students.embeddings import TABLE
from ...students.vocabulary.new_pieces import compute_mean_embeddings
from ...students.vocabulary.transplant import Transplant, compute_softmax
from ...system.progress import task
from ...system.types import Doubles, Floats, Integers

# Neighbours that tell how near a word is to all, words that a text has, and how sharp their weights are.
AROUND, NEAREST, TEMPERATURE = 10, 3, 0.05
# Words of the translations that are looked among.
MOST = 20_000


@dataclass(frozen=True)
class InducedLexicon:
    """For each of `texts`, the ids `nearest` `(n, k)` of `words`, and their `weights`, which sum to 1."""

    texts: list[str]
    words: list[str]
    nearest: Integers
    weights: Floats

    def mean(self, vectors: Floats) -> Floats:
        """Return the weighted means `(n, d)` of the words' vectors `(m, d)`."""
        return np.einsum("nk,nkd->nd", self.weights, vectors[self.nearest]).astype(np.float32)

    def rows(self, encoder: KerasEncoder) -> Floats:
        """Return embeddings `(n, width)` for the texts, from an encoder's embeddings of the words."""
        table = encoder.model.get_layer(TABLE).get_weights()[0]
        rows = [table[ids[1:-1]].mean(axis=0) for ids in encoder.tokenizer.encode(self.words, None)]
        return self.mean(np.stack(rows))


def induce_lexicon(texts: Sequence[str], words: Sequence[str], aligner: Encoder) -> InducedLexicon:
    """Find the words that an aligner puts near texts."""
    with task(f"vectors of words by {aligner.name}", len(texts) + len(words)) as advance:
        ours, theirs = (aligner.encode(list(part), "question", advance) for part in (texts, words))
    ours, theirs = (normalise_rows(part - part.mean(axis=0)) for part in (ours, theirs))
    nearest, cosines = top_k(ours, theirs, min(AROUND, len(words)))
    around = top_k(theirs, ours, min(AROUND, len(texts)))[1].mean(axis=1)
    scores = 2 * cosines - around[nearest]
    best = np.argsort(-scores, axis=1, kind="stable")[:, :NEAREST]
    weights = compute_softmax((np.take_along_axis(scores, best, axis=1) / TEMPERATURE).astype(np.float32))
    return InducedLexicon(list(texts), list(words), np.take_along_axis(nearest, best, axis=1), weights)


def split_words(text: str) -> list[str]:
    """Return the words of a text, without surrounding punctuation and without numbers."""
    parts = (part.strip("".join(sign for sign in part if not sign.isalnum())) for part in text.split())
    return [part for part in parts if part and not part.isdigit()]


def commonest_words(texts: Sequence[str], most: int = MOST) -> list[str]:
    """Return the most frequent words of texts, each in its most frequent form."""
    counts = Counter(word for text in texts for word in split_words(text))
    forms: dict[str, str] = {}
    for word, _ in counts.most_common():
        forms.setdefault(word.lower(), word)
    return list(forms.values())[:most]


# Rounds of expectation and maximisation; translations per token, and their minimum probability as a share of the best.
ROUNDS, LIKELIEST, LEAST = 5, 4, 0.1
# Only so many tokens at the begin of a line are used.
MAX_TOKENS = 64
# The empty token of each line, which explains translations that no other token explains.
NONE = 0


def transplant_translations(encoder: KerasEncoder, larger: Tokenizer, pairs: Sequence[tuple[str, str]]) -> Transplant:
    """Make the embeddings of new tokens from pairs of a text and its translation.

    An embedding is the mean of those of the token's likeliest translations, weighted by their probabilities. A token
    that no pair contains gets the embedding of `compute_mean_embeddings`, and weights of zero.
    """
    before = len(encoder.tokenizer)
    texts, others = zip(*pairs, strict=True) if pairs else ((), ())
    lines = [np.array([NONE, *ids[1:-1][:MAX_TOKENS]]) for ids in larger.encode(list(texts), None)]
    across = [np.array(ids[1:-1][:MAX_TOKENS], dtype=np.int64) for ids in encoder.tokenizer.encode(list(others), None)]
    nearest, weights = _find_likeliest(*estimate_lexicon(lines, across, len(larger)), before, len(larger))
    table = encoder.model.get_layer(TABLE).get_weights()[0]
    rows = np.einsum("nk,nkw->nw", weights, table[nearest]).astype(table.dtype)
    known = weights.max(axis=1, keepdims=True) > 0
    return Transplant(np.where(known, rows, compute_mean_embeddings(encoder, larger)), nearest, weights)


def estimate_lexicon(
    lines: Sequence[Integers], across: Sequence[Integers], size: int, rounds: int = ROUNDS
) -> tuple[Integers, Integers, Doubles]:
    """Estimate probabilities of translations by IBM Model 1: tokens, translations, and that of each pair."""
    lengths = np.array([len(line) for line in lines]), np.array([len(line) for line in across])
    first = np.concatenate([np.repeat(a, len(b)) for a, b in zip(lines, across, strict=True)] or [np.zeros(0, int)])
    second = np.concatenate([np.tile(b, len(a)) for a, b in zip(lines, across, strict=True)] or [np.zeros(0, int)])
    # The place of each translated token among all of them.
    starts = np.cumsum([0, *lengths[1]])
    places = [np.tile(np.arange(b) + start, a) for a, b, start in zip(*lengths, starts[:-1], strict=True)]
    place = np.concatenate(places or [np.zeros(0, int)])
    names, cell = np.unique(first * size + second, return_inverse=True)
    pieces, translations = names // size, names % size
    chances = np.ones(len(names))
    for _ in range(rounds):
        shares = chances[cell] / np.bincount(place, chances[cell], starts[-1])[place]
        counts = np.bincount(cell, shares, len(names))
        chances = counts / np.bincount(pieces, counts, size)[pieces]
    return pieces, translations, chances


def _find_likeliest(
    pieces: Integers, translations: Integers, chances: Doubles, first: int, size: int
) -> tuple[Integers, Floats]:
    """Return the likeliest translations of the tokens from `first` on, ids `(n, LIKELIEST)`, and their weights."""
    order = np.lexsort((translations, -chances, pieces))
    pieces, translations, chances = pieces[order], translations[order], chances[order]
    ids = np.arange(first, size)
    places = np.searchsorted(pieces, ids)[:, None] + np.arange(LIKELIEST)
    there = places < np.searchsorted(pieces, ids, side="right")[:, None]
    places = np.where(there, places, 0) if len(pieces) else np.zeros_like(places)
    nearest = translations[places] if len(pieces) else places
    weights = np.where(there, chances[places], 0.0) if len(pieces) else np.zeros(places.shape)
    weights = np.where(weights >= LEAST * weights.max(axis=1, keepdims=True), weights, 0.0)
    totals = weights.sum(axis=1, keepdims=True)
    return nearest, (weights / np.where(totals > 0, totals, 1)).astype(np.float32)
