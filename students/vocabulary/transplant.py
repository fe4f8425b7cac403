"""Embeddings of new tokens by meaning: another encoder, which knows their languages, finds the nearest old tokens.

An embedding is a mean of embeddings of the base's own table, so it lies in the space that the layers above know.
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
from ..embeddings import TABLE, replace_table
from .fertility import SHARED, find_scripts
from .new_pieces import compute_mean_embeddings, list_new_tokens
from .pieces import find_used_tokens

ANCHORS, NEAREST, TEMPERATURE = 9000, 8, 0.1
# The mean of a script with fewer tokens is unreliable.
MIN_TOKENS = 20
WORD = re.compile(f"{SPACE}[A-Za-z]{{3,}}")
# The number of tokens in the examples, and of anchors per token.
EXAMPLES, EXAMPLE_ANCHORS = 12, 3


@dataclass(frozen=True)
class Transplant:
    """The embeddings of new tokens, and the old tokens that they are made from.

    A token without letters has weights of zero, and the embedding of `compute_mean_embeddings` if it is new.

    Attributes:
        rows: The embeddings, float32 `(new, width)`.
        nearest: The ids of old tokens, int64 `(new, k)`.
        weights: The weight of each of them, `(new, k)`.
    """

    rows: Floats
    nearest: Integers
    weights: Floats


def transplant(encoder: KerasEncoder, larger: Tokenizer, aligner: Encoder, most: int = ANCHORS) -> Transplant:
    """Make embeddings by meaning for the tokens that a tokenizer has behind an encoder's.

    The aligner encodes the new tokens and words among the old ones, the anchors. An embedding is the mean of those of
    the `NEAREST` anchors, weighted by the softmax of cosine / `TEMPERATURE`. Raises `EncoderError` if the encoder has
    no words in Latin letters.
    """
    return transplant_tokens(
        encoder, list_new_tokens(encoder.tokenizer, larger), compute_mean_embeddings(encoder, larger), aligner, most
    )


def transplant_tokens(
    encoder: KerasEncoder, pieces: Sequence[str], others: Floats, aligner: Encoder, most: int = ANCHORS
) -> Transplant:
    """Make embeddings by meaning for any tokens, as `transplant` does for new ones."""
    anchors = find_anchors(encoder.tokenizer, most)
    table = encoder.model.get_layer(TABLE).get_weights()[0]
    known, vectors = _encode_tokens(aligner, encoder.tokenizer, anchors, pieces)
    written = np.array([bool(find_letter_scripts(piece)) for piece in pieces])[:, None]  # (new, 1)
    moved, known = centre_by_script(known, vectors, map(find_letter_scripts, pieces))
    places, cosines = top_k(moved, known, min(NEAREST, len(anchors)))
    nearest, weights = anchors[places], written * compute_softmax(cosines / TEMPERATURE)
    rows = sum(weights[:, [k]] * table[nearest[:, k]] for k in range(nearest.shape[1]))
    return Transplant(np.where(written, rows, others), nearest, weights)


def find_rare_tokens(encoder: KerasEncoder, texts: Sequence[str], below: int, known: Iterable[str]) -> Integers:
    """Find the normal tokens that texts use rarely. Returns the ids, int64 `(n,)`."""
    frequent, left = find_used_tokens(encoder.tokenizer, texts, below), set(known)
    pieces = enumerate(model_proto(encoder.tokenizer).pieces)
    rare = [id for id, one in pieces if one.type == one.NORMAL and id not in frequent and one.piece not in left]
    return np.array(rare, dtype=np.int64)


def realign(
    encoder: KerasEncoder, ids: Integers, base: KerasEncoder, aligner: Encoder, most: int = ANCHORS
) -> KerasEncoder:
    """Return an encoder with embeddings by meaning for some of its tokens, made from embeddings of a base encoder."""
    table = encoder.model.get_layer(TABLE).get_weights()[0].copy()
    pieces = model_proto(encoder.tokenizer).pieces
    table[ids] = transplant_tokens(base, [pieces[id].piece for id in ids], table[ids], aligner, most).rows
    return KerasEncoder(replace_table(encoder.model, table), encoder.tokenizer, encoder.name)


def find_anchors(tokenizer: Tokenizer, most: int = ANCHORS) -> Integers:
    """Find the ids of the likeliest tokens that are words of at least three Latin letters without accents."""
    pieces = model_proto(tokenizer).pieces
    known = [id for id, piece in enumerate(pieces) if piece.type == piece.NORMAL and WORD.fullmatch(piece.piece)]
    if not known:
        raise EncoderError(f"{tokenizer.source}: no words in Latin letters that new pieces could be aligned with")
    return np.array(sorted(known, key=lambda id: (-pieces[id].score, id))[:most])


def _encode_tokens(aligner, tokenizer, anchors, pieces):
    """Encode the anchors and the new tokens with the aligner."""
    old = model_proto(tokenizer).pieces
    with task("align", len(anchors) + len(pieces)) as advance:
        parts = [old[id].piece for id in anchors], pieces
        return [aligner.encode(_as_texts(part), "question", advance) for part in parts]


def _as_texts(pieces):
    return [piece.replace(SPACE, " ").strip() for piece in pieces]


def find_letter_scripts(piece: str) -> frozenset[str]:
    """Return the scripts of a token's letters, an empty set for digits and punctuation."""
    return frozenset(find_scripts(piece) - SHARED)


def centre_by_script(known: Floats, vectors: Floats, scripts: Iterable[frozenset[str]]) -> tuple[Floats, Floats]:
    """Subtract the mean from the anchors' vectors, and from each new token's vector that of its script.

    Vectors of one script lie together in a multilingual encoder's space, whatever they mean. For a script with fewer
    than `FEW` vectors the mean of the anchors is taken. Returns `(vectors, known)`, scaled to unit length.
    """
    scripts, mean, moved = list(scripts), known.mean(axis=0), np.empty_like(vectors)
    for script in set(scripts):
        rows = [row for row, written in enumerate(scripts) if written == script]
        moved[rows] = vectors[rows] - (vectors[rows].mean(axis=0) if len(rows) >= MIN_TOKENS else mean)
    return normalise_rows(moved), normalise_rows(known - mean)


def compute_softmax(values: Floats) -> Floats:
    """Compute the softmax over the last axis."""
    powers = np.exp(values - values.max(axis=-1, keepdims=True))
    return powers / powers.sum(axis=-1, keepdims=True)


def list_examples(
    tokenizer: Tokenizer, larger: Tokenizer, moved: Transplant, count: int = EXAMPLES
) -> dict[str, list[list[str | float]]]:
    """Return the nearest old tokens of some frequent and rare new ones that begin a word, with their weights."""
    pieces, old = list_new_tokens(tokenizer, larger), model_proto(tokenizer).pieces
    words = [row for row, piece in enumerate(pieces) if piece.startswith(SPACE) and moved.weights[row].any()]
    some = [words[place] for place in np.unique(np.linspace(0, len(words) - 1, count).astype(int))] if words else []
    pairs = {row: zip(moved.nearest[row], moved.weights[row], strict=True) for row in some}
    return {
        pieces[row]: [[old[id].piece, float(weight)] for id, weight in list(anchors)[:EXAMPLE_ANCHORS]]
        for row, anchors in pairs.items()
    }
