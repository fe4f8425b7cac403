"""Start a static student from an encoder: the vector of each single token, weighted by its rarity, on fewer axes.

The vectors of single tokens are those of Model2Vec (Tulkens and van Dongen, 2024). The weights a / (a + p) and the
subtraction of the common direction are those of Arora, Liang and Ma (2017), A simple but tough-to-beat baseline for
sentence embeddings.
"""

from __future__ import annotations

import numpy as np

from ...encoders.encoder import KerasEncoder, encode_ids
from ...encoders.tokenizer import SPACE, Tokenizer, model_proto
from ...system.types import Doubles
from ..frequencies import SMOOTHING, Frequencies
from ..linear import compute_leading_axes
from .network import StaticEncoder


def make_static(
    encoder: KerasEncoder,
    tokenizer: Tokenizer,
    frequencies: Frequencies,
    width: int = 256,
    hidden: int = 256,
    channels: int = 0,
    order: int = 3,
    seed: int = 0,
) -> StaticEncoder:
    """Make a static student from an encoder.

    The student's networks add nothing at first: a text is the weighted sum of its tokens. `channels` is the number of
    channels of the context layer; 0 for none. `order` is the number of tokens in a window of the context layer.
    """
    first, last = tokenizer.encode([""], None)[0]
    counts = frequencies.counts.copy()
    counts[[first, last]] = 0
    vectors = encode_ids(encoder.model.unprojected, encode_single_tokens(encoder.tokenizer, tokenizer))
    centred = vectors - np.average(vectors, axis=0, weights=counts)
    weighted = compute_weights(counts, frequencies.smoothing)[:, None] * centred
    weighted[[first, last]] = 0
    axes = compute_leading_axes(weighted, width, counts + 1)
    config = {"vocabulary": len(tokenizer), "width": width, "hidden": hidden, "space": encoder.model.space}
    config |= {"channels": channels, "order": order, "foreign": encoder.model.foreign}
    static = StaticEncoder(**config, dimension=encoder.dimension, name=encoder.model.name)
    _fill(static, encoder.model, weighted @ axes, axes, np.random.default_rng(seed))
    return static


def encode_single_tokens(reader: Tokenizer, tokenizer: Tokenizer) -> list[list[int]]:
    """Return each token of a tokenizer as a text of its own, in the ids of another tokenizer."""
    first, last = reader.encode([""], None)[0]
    known = {piece.piece: id for id, piece in enumerate(model_proto(reader).pieces)}
    pieces = [piece.piece for piece in model_proto(tokenizer).pieces]
    missing = [piece for piece in pieces if piece not in known]
    cut = dict(zip(missing, reader.encode([piece.replace(SPACE, " ") for piece in missing], None), strict=True))
    return [cut.get(piece) or [first, known[piece], last] for piece in pieces]


def compute_weights(counts: Doubles, smoothing: float = SMOOTHING) -> Doubles:
    """Compute the weight a / (a + p) of each token (Arora et al., 2017, Equation 1); p is its share of all counts."""
    return smoothing / (smoothing + counts / counts.sum())


def _fill(static, model, table, axes, random):
    static.get_layer("embedding").set_weights([table])
    static.get_layer("residual").lift.set_weights([axes.T])
    for layer in static.layers:
        if hasattr(layer, "second"):
            _silence(layer, random)
    if model.space:
        static.get_layer("projection").set_weights(model.get_layer("projection").get_weights())


def _silence(layer, random):
    """Set random weights in front of zeros: the layer adds nothing, but all of it can learn."""
    kernel = layer.first.kernel.shape
    layer.first.set_weights([random.normal(0, kernel[0] ** -0.5, kernel), np.zeros(kernel[1])])
    layer.second.set_weights([np.zeros(layer.second.kernel.shape)])
