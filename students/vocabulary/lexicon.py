"""Rows for new pieces by translations: a piece is what stands across from it in parallel text.

IBM Model 1 (Brown et al., 1993, The mathematics of statistical machine translation, section 4.2): each old piece of a
line's translation was chosen by one new piece of the line, or by none.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from ...encoders.encoder import KerasEncoder
from ...encoders.tokenizer import Tokenizer
from ...system.types import Doubles, Floats, Integers
from ..rows import TABLE
from .new_pieces import mean_rows
from .transplant import Transplant

# Rounds of expectation and maximisation; translations of a piece, and the share of the likeliest that the least has.
ROUNDS, NEAREST, LEAST = 5, 4, 0.1
# Of a longer line the first pieces count.
LONGEST = 64
# Stands in each line for what chooses a piece that no other does.
NONE = 0


def translated(encoder: KerasEncoder, larger: Tokenizer, pairs: Sequence[tuple[str, str]]) -> Transplant:
    """Return a `Transplant` of the pieces that `larger` has behind the encoder's, by pairs `(text, translation)`.

    A row is the mean of the rows of its likeliest translations, weighted by their probabilities; one that no pair
    holds is that of `mean_rows`, with weights of zero.
    """
    before = len(encoder.tokenizer)
    texts, others = zip(*pairs, strict=True) if pairs else ((), ())
    lines = [np.array([NONE, *ids[1:-1][:LONGEST]]) for ids in larger.encode(list(texts), None)]
    across = [np.array(ids[1:-1][:LONGEST], dtype=np.int64) for ids in encoder.tokenizer.encode(list(others), None)]
    nearest, weights = _likeliest(*lexicon(lines, across, len(larger)), before, len(larger))
    table = encoder.model.get_layer(TABLE).get_weights()[0]
    rows = np.einsum("nk,nkw->nw", weights, table[nearest]).astype(table.dtype)
    known = weights.max(axis=1, keepdims=True) > 0
    return Transplant(np.where(known, rows, mean_rows(encoder, larger)), nearest, weights)


def lexicon(
    lines: Sequence[Integers], across: Sequence[Integers], size: int, rounds: int = ROUNDS
) -> tuple[Integers, Integers, Doubles]:
    """Return `(pieces, translations, probabilities)`, of each piece of the lines that of each piece across from it.

    Ids are below `size`; the probabilities of a piece sum to one.
    """
    many = np.array([len(line) for line in lines]), np.array([len(line) for line in across])
    first = np.concatenate([np.repeat(a, len(b)) for a, b in zip(lines, across, strict=True)] or [np.zeros(0, int)])
    second = np.concatenate([np.tile(b, len(a)) for a, b in zip(lines, across, strict=True)] or [np.zeros(0, int)])
    # The place of each translated piece among all of them.
    starts = np.cumsum([0, *many[1]])
    places = [np.tile(np.arange(b) + start, a) for a, b, start in zip(*many, starts[:-1], strict=True)]
    place = np.concatenate(places or [np.zeros(0, int)])
    names, cell = np.unique(first * size + second, return_inverse=True)
    pieces, translations = names // size, names % size
    chances = np.ones(len(names))
    for _ in range(rounds):
        shares = chances[cell] / np.bincount(place, chances[cell], starts[-1])[place]
        counts = np.bincount(cell, shares, len(names))
        chances = counts / np.bincount(pieces, counts, size)[pieces]
    return pieces, translations, chances


def _likeliest(
    pieces: Integers, translations: Integers, chances: Doubles, first: int, size: int
) -> tuple[Integers, Floats]:
    """Ids `(n, NEAREST)` of the likeliest translations of the pieces from `first` on, and their weights."""
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
