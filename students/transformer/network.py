"""A transformer encoder of BERT's or ModernBERT's kind, as a Keras model: token ids -> a vector of unit length.

Rows of the table, with their positions, go through blocks of attention; the vectors of a text's tokens become one by
their mean, their largest values or the first token's vector, and go through a dense layer where there is one. Padding
is any negative id, wherever it stands. Reimers and Gurevych (2019), Sentence-BERT, section 3, for the poolings.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import keras
import numpy as np
from keras import ops

from ...encoders.batching import pack_rows
from ...system.types import IdLists, Json, Tensor
from ..student import Projection, Student, unit
from .block import FAR, Block, Parts, split_rows
from .layers import make_blocks, make_final_norm, make_rows

POOLINGS = ("mean", "first", "max")


@keras.saving.register_keras_serializable("distill")
class TransformerEncoder(Student):
    """Token ids `(b, t)` int32, negative where padded -> float32 `(b, dimension)`, rows of unit length.

    `vocabulary` rows of `width` numbers, or of `rank` numbers and a product to `width`; `depth` blocks of `heads`
    heads of `head_size`, and `inner` hidden units; at most `positions` tokens of a text. `pooling` is one of
    `POOLINGS`. With `dense`, the name of an activation or "linear", a layer behind the pooling has `dimension` units;
    without it the dimension is the width. With `space` that is the dimension in front of a projection to `dimension`,
    which is learned, into another encoder's space, where it is `foreign`. `block` is one of `layers.BLOCKS`: in
    "modern" ones places turn the heads, by `global_theta`, and those at the places `local` look at `window` tokens on
    each side alone, turned by `local_theta`. `origin` is `Student.origin`.
    """

    family = "transformer"
    sums = False
    gap = 0

    def __init__(
        self,
        vocabulary: int = 250_037,
        width: int = 384,
        depth: int = 12,
        heads: int = 12,
        head_size: int = 32,
        inner: int = 1536,
        positions: int = 512,
        pooling: str = "mean",
        dense: str | None = None,
        dimension: int = 384,
        rank: int | None = None,
        space: int | None = None,
        foreign: bool = False,
        epsilon: float = 1e-12,
        activation: str = "gelu",
        block: str = "bert",
        local: Sequence[int] = (),
        window: int = 64,
        global_theta: float = 160_000.0,
        local_theta: float = 10_000.0,
        origin: dict[str, Json] | None = None,
        **kwargs: Json,
    ) -> None:
        # config
        sizes: dict[str, Json] = {"vocabulary": vocabulary, "width": width, "depth": depth, "heads": heads}
        sizes |= {"head_size": head_size, "inner": inner, "positions": positions, "pooling": pooling, "dense": dense}
        sizes |= {"dimension": dimension, "rank": rank, "space": space, "foreign": foreign, "epsilon": epsilon}
        sizes |= {"activation": activation, "block": block, "local": tuple(local), "window": window}
        sizes |= {"global_theta": global_theta, "local_theta": local_theta, "origin": origin}

        # layers
        embedding = keras.layers.Embedding(vocabulary, rank or width, name="embedding")
        factor = keras.layers.Dense(width, use_bias=False, name="factor") if rank else None
        placed, blocks, final_norm = make_rows(sizes), make_blocks(sizes), make_final_norm(sizes)

        # functional model
        ids = keras.Input((None,), dtype="int32", name="ids")
        x, there, places = place_tokens(ids, embedding, factor, placed)
        x = apply_blocks(x, there[:, None], places, blocks, final_norm)
        vectors = PADDED[pooling](x, ops.cast(there, "float32")[:, :, None])
        if dense:
            vectors = keras.layers.Dense(space or dimension, activation=dense, name="dense")(vectors)
        vectors = unit(vectors)
        if space:
            vectors = Projection(dimension, foreign, name="projection")(vectors)
        super().__init__(inputs=ids, outputs=vectors, **kwargs)
        for name, value in sizes.items():
            setattr(self, name, value)

    @property
    def blocks(self) -> list[Block]:
        """The blocks, the first one first."""
        return [self.get_layer(f"block_{place}") for place in range(self.depth)]

    @property
    def final_norm(self) -> keras.layers.LayerNormalization | None:
        """The normalisation behind the last block, None where its sums are normalised."""
        return self.get_layer("final_norm") if self.block == "modern" else None

    @property
    def token_layers(self) -> list[keras.layers.Layer]:
        """The layers behind the table that see each token and take the time, the dense ones."""
        factor = [self.get_layer("factor")] if self.rank else []
        return [*factor, *(layer for block in self.blocks for layer in block.denses)]

    @property
    def narrow_kernels(self) -> dict[str, int]:
        """The paths of the kernels that an export in int4 stores in 4 bits.

        They are those of query, key and value and those behind the hidden units. Beside each stands how many of its
        inputs, the first, keep 8 bits. Of an e5 the two other kinds of kernels lose retrieval in 4 bits.
        """
        looked = {layer.kernel.path: 0 for block in self.blocks for layer in block.look_layers}
        return looked | {block.second.kernel.path: block.wide_units for block in self.blocks}

    def pack(self, rows: IdLists) -> dict[str, np.ndarray]:
        """Return texts for `encode_packed`: rows of ids, each of several whole texts."""
        return pack_rows(rows)

    def encode_packed(
        self,
        ids: Tensor,
        segments: Tensor,
        counts: Tensor,
        pieces: Tensor,
        table: Callable[[Tensor], Tensor] | None = None,
        rows: Callable[[Tensor], Tensor] | None = None,
        long_ids: Tensor | None = None,
        long_segments: Tensor | None = None,
    ) -> Tensor:
        """Encode texts laid side by side, `Student.encode_packed`, of ids and segments `(r, w)` and long ones `(m, v)`.

        A token looks at those of its own text in its row. All but that is computed of the tokens of both as one list.
        """
        groups = [(ids, segments)] if long_ids is None else [(ids, segments), (long_ids, long_segments)]
        looks = [_same(*group) for group in groups]
        parts = zip(*groups, strict=True)
        ids, segments = (ops.concatenate([ops.reshape(one, (-1,)) for one in part]) for part in parts)
        x = ops.squeeze(self.look_up(ids[None], pieces, table, rows), 0)  # (t, width)
        x = ops.cast(self.get_layer("factor")(x) if self.rank else x, "float32")
        places, starts = _places(ids, segments, ops.shape(counts)[0])
        x = self.get_layer("positions")(x, places)
        x = apply_blocks(x, looks, split_rows(places, looks), self.blocks, self.final_norm)
        there = ops.cast(ops.greater_equal(ids, 0), "float32")[:, None]
        return self.finish(PACKED[self.pooling](x, there, segments, counts, starts))

    def place(self, ids: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        """Return the tokens `(b, t, w)` before the first block, which are there and their places, of ids `(b, t)`."""
        factor = self.get_layer("factor") if self.rank else None
        return place_tokens(ids, self.get_layer("embedding"), factor, self.get_layer("positions"))

    def encode_through(self, ids: Tensor, places: Sequence[int]) -> Tensor:
        """Return the vectors `(b, dimension)` of padded ids `(b, t)` by the blocks at these places alone."""
        x, there, order = self.place(ids)
        x = apply_blocks(x, there[:, None], order, [self.blocks[place] for place in places], self.final_norm)
        return self.finish(PADDED[self.pooling](x, ops.cast(there, "float32")[:, :, None]))

    def finish(self, pooled: Tensor) -> Tensor:
        """Return the vectors `(n, dimension)` of the pooled tokens `(n, width)`."""
        vectors = unit(self.get_layer("dense")(pooled) if self.dense else pooled)
        return self.get_layer("projection")(vectors) if self.space else vectors

    def get_config(self) -> dict[str, Json]:
        names = ["name", "vocabulary", "width", "depth", "heads", "head_size", "inner", "positions", "pooling", "dense"]
        names += ["dimension", "rank", "space", "foreign", "epsilon", "activation", "block", "window"]
        names += ["global_theta", "local_theta", "origin"]
        return {**{name: getattr(self, name) for name in names}, "local": list(self.local)}


def place_tokens(
    ids: Tensor, embedding: keras.layers.Layer, factor: keras.layers.Layer | None, positions: keras.layers.Layer
) -> tuple[Tensor, Tensor, Tensor]:
    """Return the rows of padded ids `(b, t)` as the first block takes them, `(b, t, w)`.

    Beside them which are no padding, bool `(b, t)`, and the place of each in its text, int32 `(b, t)`.
    """
    there = ops.greater_equal(ids, 0)
    x = embedding(ops.maximum(ids, 0))
    x = factor(x) if factor else x
    # Padding may stand before a text.
    places = ops.maximum(ops.cumsum(ops.cast(there, "int32"), axis=1) - 1, 0)
    return positions(x, places), there, places


def apply_blocks(
    x: Tensor,
    looks: Parts,
    places: Parts,
    blocks: Sequence[Block],
    final_norm: keras.layers.LayerNormalization | None,
) -> Tensor:
    """Return the tokens `(b, t, w)`, or of packed texts `(t, w)`, behind the blocks and their normalisation."""
    for block in blocks:
        x = block(x, looks, places)
    return final_norm(x) if final_norm else x


def _same(ids, segments):
    """Pairs of tokens of a row of which one looks at the other, those of one text: `(r, w)` -> bool `(r, w, w)`."""
    # Padding looks at nothing, which the softmax makes a mean of all, and nobody reads it.
    return ops.equal(segments[:, :, None], segments[:, None]) & ops.greater_equal(ids, 0)[:, None]


def _places(ids, segments, texts):
    """The place of each id in its text, `(t,)`, and where in the ids each text begins, `(texts,)`."""
    order = ops.arange(ops.shape(ids)[0], dtype="int32")
    begins = ops.where(ops.greater_equal(ids, 0), -order, -ops.shape(ids)[0])
    starts = ops.maximum(-ops.segment_max(begins, segments, num_segments=texts), 0)
    return ops.maximum(order - ops.take(starts, segments), 0), starts


def _mean_padded(x, there):
    return ops.sum(x * there, axis=1) / ops.maximum(ops.sum(there, axis=1), 1)


def _first_padded(x, there):
    return ops.take_along_axis(x, ops.argmax(there, axis=1)[:, None], axis=1)[:, 0]


def _max_padded(x, there):
    return ops.max(x + (1 - there) * FAR, axis=1)


# Tokens `(b, t, w)` and which of them are there, `(b, t, 1)` -> `(b, w)`.
PADDED = {"mean": _mean_padded, "first": _first_padded, "max": _max_padded}
# Tokens of packed texts, `(t, w)`, which of them are there `(t, 1)`, their texts `(t,)`, these texts' numbers of tokens
# `(n, 1)` and where each begins `(n,)` -> `(n, w)`.
PACKED = {
    "mean": lambda x, there, segments, counts, starts: (
        ops.segment_sum(x * there, segments, num_segments=ops.shape(counts)[0]) / counts
    ),
    "first": lambda x, there, segments, counts, starts: ops.take(x, starts, axis=0),
    "max": lambda x, there, segments, counts, starts: ops.segment_max(
        x + (1 - there) * FAR, segments, num_segments=ops.shape(counts)[0]
    ),
}
NETWORK = TransformerEncoder
