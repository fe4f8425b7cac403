"""Rows for new pieces by meaning: an encoder that knows their languages tells which old pieces are near.

A row is made of rows of the base's own table, so it lies in the space that the layers above it know.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import numpy as np

from ...encoders.encoder import Encoder, KerasEncoder, normalise_rows
from ...encoders.tokenizer import SPACE, Tokenizer, model_proto
from ...errors import EncoderError
from ...retrieval.exact import top_k
from ...system.progress import task
from ...system.types import Floats, Integers
from ..rows import TABLE, with_table
from .new_pieces import mean_rows, new_pieces
from .pieces import used_pieces
from .scripts import SHARED, scripts_of

ANCHORS, NEAREST, TEMPERATURE = 9000, 8, 0.1
# A script with fewer pieces has no mean to speak of.
FEW = 20
WORD = re.compile(f"{SPACE}[A-Za-z]{{3,}}")
# Of so many pieces a person is shown so many anchors.
SHOWN, SHOWN_ANCHORS = 12, 3


@dataclass(frozen=True)
class Transplant:
    """`rows` float32 `(new, width)`; `nearest` and `weights` `(new, k)`: ids of old pieces and what each counts.

    A piece without letters has the row that it has otherwise, a new one that of `mean_rows`, and weights of zero.
    """

    rows: Floats
    nearest: Integers
    weights: Floats


def transplant(encoder: KerasEncoder, larger: Tokenizer, aligner: Encoder, most: int = ANCHORS) -> Transplant:
    """Return a `Transplant` of the pieces that `larger` has behind those of the `KerasEncoder`.

    `aligner`, any `Encoder`, is asked for the new pieces and for `most` words among the old ones. A row is the mean of
    its `NEAREST` anchors' rows, weighted by the softmax of cosine / `TEMPERATURE`.
    Raises `EncoderError` when the base has no words in Latin letters.
    """
    return aligned(encoder, new_pieces(encoder.tokenizer, larger), mean_rows(encoder, larger), aligner, most)


def aligned(
    encoder: KerasEncoder, pieces: Sequence[str], others: Floats, aligner: Encoder, most: int = ANCHORS
) -> Transplant:
    """Return a `Transplant` of any pieces, as `transplant` does; `others` `(n, width)` are rows for want of letters."""
    anchors = anchor_pieces(encoder.tokenizer, most)
    table = encoder.model.get_layer(TABLE).get_weights()[0]
    known, vectors = _vectors(aligner, encoder.tokenizer, anchors, pieces)
    written = np.array([bool(letters(piece)) for piece in pieces])[:, None]  # (new, 1)
    moved, known = centred(known, vectors, map(letters, pieces))
    places, cosines = top_k(moved, known, min(NEAREST, len(anchors)))
    nearest, weights = anchors[places], written * softmax(cosines / TEMPERATURE)
    rows = sum(weights[:, [k]] * table[nearest[:, k]] for k in range(nearest.shape[1]))
    return Transplant(np.where(written, rows, others), nearest, weights)


def rare_pieces(encoder: KerasEncoder, texts: Sequence[str], below: int, known: Iterable[str]) -> Integers:
    """Return `(n,)`: ids of the normal pieces that occur fewer than `below` times in the texts and are not `known`."""
    frequent, left = used_pieces(encoder.tokenizer, texts, below), set(known)
    pieces = enumerate(model_proto(encoder.tokenizer).pieces)
    rare = [id for id, one in pieces if one.type == one.NORMAL and id not in frequent and one.piece not in left]
    return np.array(rare, dtype=np.int64)


def realigned(
    encoder: KerasEncoder, ids: Integers, base: KerasEncoder, aligner: Encoder, most: int = ANCHORS
) -> KerasEncoder:
    """Return the encoder with rows by meaning for these of its pieces, made of rows of `base`, of the same width."""
    table = encoder.model.get_layer(TABLE).get_weights()[0].copy()
    pieces = model_proto(encoder.tokenizer).pieces
    table[ids] = aligned(base, [pieces[id].piece for id in ids], table[ids], aligner, most).rows
    return KerasEncoder(with_table(encoder.model, table), encoder.tokenizer, encoder.name)


def anchor_pieces(tokenizer: Tokenizer, most: int = ANCHORS) -> Integers:
    """Return `(n,)`: ids of the likeliest old pieces that are words of three Latin letters without accents or more."""
    pieces = model_proto(tokenizer).pieces
    known = [id for id, piece in enumerate(pieces) if piece.type == piece.NORMAL and WORD.fullmatch(piece.piece)]
    if not known:
        raise EncoderError(f"{tokenizer.source}: no words in Latin letters that new pieces could be aligned with")
    return np.array(sorted(known, key=lambda id: (-pieces[id].score, id))[:most])


def _vectors(aligner, tokenizer, anchors, pieces):
    """The aligner's vectors of the anchors and of the new pieces."""
    old = model_proto(tokenizer).pieces
    with task("align", len(anchors) + len(pieces)) as advance:
        parts = [old[id].piece for id in anchors], pieces
        return [aligner.encode(_plain(part), "question", advance) for part in parts]


def _plain(pieces):
    return [piece.replace(SPACE, " ").strip() for piece in pieces]


def letters(piece: str) -> frozenset[str]:
    """Return the scripts of a piece's letters, none of digits and punctuation."""
    return frozenset(scripts_of(piece) - SHARED)


def centred(known: Floats, vectors: Floats, scripts: Iterable[frozenset[str]]) -> tuple[Floats, Floats]:
    """Return `(vectors, known)` of unit length: `known` `(n, d)` less its mean, `vectors` `(m, d)` less their script's.

    Vectors of one script lie together in a multilingual encoder's space, whatever they mean. A script with fewer than
    `FEW` vectors takes the mean of `known`.
    """
    scripts, mean, moved = list(scripts), known.mean(axis=0), np.empty_like(vectors)
    for script in set(scripts):
        rows = [row for row, written in enumerate(scripts) if written == script]
        moved[rows] = vectors[rows] - (vectors[rows].mean(axis=0) if len(rows) >= FEW else mean)
    return normalise_rows(moved), normalise_rows(known - mean)


def softmax(values: Floats) -> Floats:
    """Return the softmax over the last axis."""
    powers = np.exp(values - values.max(axis=-1, keepdims=True))
    return powers / powers.sum(axis=-1, keepdims=True)


def shown(
    tokenizer: Tokenizer, larger: Tokenizer, moved: Transplant, count: int = SHOWN
) -> dict[str, list[list[str | float]]]:
    """Return `{piece: [[anchor, weight]]}` of some new pieces that begin a word, the likely and the rare ones alike."""
    pieces, old = new_pieces(tokenizer, larger), model_proto(tokenizer).pieces
    words = [row for row, piece in enumerate(pieces) if piece.startswith(SPACE) and moved.weights[row].any()]
    some = [words[place] for place in np.unique(np.linspace(0, len(words) - 1, count).astype(int))] if words else []
    pairs = {row: zip(moved.nearest[row], moved.weights[row], strict=True) for row in some}
    return {
        pieces[row]: [[old[id].piece, float(weight)] for id, weight in list(anchors)[:SHOWN_ANCHORS]]
        for row, anchors in pairs.items()
    }
