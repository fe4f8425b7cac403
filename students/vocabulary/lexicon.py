"""Embeddings of new tokens from translations: a token gets those of its likeliest translations in parallel text.

The probabilities are those of IBM Model 1 (Brown et al., 1993, The mathematics of statistical machine translation,
section 4.2): each old token of a line's translation was chosen by one new token of the line, or by none.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from ...encoders.encoder import KerasEncoder
from ...encoders.tokenizer import Tokenizer
from ...system.types import Doubles, Floats, Integers
from ..embeddings import TABLE
from .new_pieces import compute_mean_embeddings
from .transplant import Transplant

# Rounds of expectation and maximisation; translations per token, and their minimum probability as a share of the best.
ROUNDS, NEAREST, LEAST = 5, 4, 0.1
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
    """Return the likeliest translations of the tokens from `first` on, ids `(n, NEAREST)`, and their weights."""
    order = np.lexsort((translations, -chances, pieces))
    pieces, translations, chances = pieces[order], translations[order], chances[order]
    ids = np.arange(first, size)
    places = np.searchsorted(pieces, ids)[:, None] + np.arange(NEAREST)
    there = places < np.searchsorted(pieces, ids, side="right")[:, None]
    places = np.where(there, places, 0) if len(pieces) else np.zeros_like(places)
    nearest = translations[places] if len(pieces) else places
    weights = np.where(there, chances[places], 0.0) if len(pieces) else np.zeros(places.shape)
    weights = np.where(weights >= LEAST * weights.max(axis=1, keepdims=True), weights, 0.0)
    totals = weights.sum(axis=1, keepdims=True)
    return nearest, (weights / np.where(totals > 0, totals, 1)).astype(np.float32)
