"""A transformer encoder of BERT's kind, as a Keras model: token ids -> a vector of unit length.

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
from .block import FAR, Block, Positions

POOLINGS = ("mean", "first", "max")


@keras.saving.register_keras_serializable("distill")
class TransformerEncoder(Student):
    """Token ids `(b, t)` int32, negative where padded -> float32 `(b, dimension)`, rows of unit length.

    `vocabulary` rows of `width` numbers, or of `rank` numbers and a product to `width`; `depth` blocks of `heads`
    heads of `head_size`, and `inner` hidden units; at most `positions` tokens of a text. `pooling` is one of
    `POOLINGS`. With `dense`, the name of an activation or "linear", a layer behind the pooling has `dimension` units;
    without it the dimension is the width. With `space` that is the dimension in front of a projection to `dimension`,
    which is learned, into another encoder's space, where it is `foreign`. `origin` is `Student.origin`.
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
        origin: dict[str, Json] | None = None,
        **kwargs: Json,
    ) -> None:
        # config
        sizes: dict[str, Json] = {"vocabulary": vocabulary, "width": width, "depth": depth, "heads": heads}
        sizes |= {"head_size": head_size, "activation": activation, "origin": origin}
        sizes |= {"inner": inner, "positions": positions, "pooling": pooling, "dense": dense, "dimension": dimension}
        sizes |= {"rank": rank, "space": space, "foreign": foreign, "epsilon": epsilon}

        # layers
        embedding = keras.layers.Embedding(vocabulary, rank or width, name="embedding")
        placed = Positions(positions, epsilon, name="positions")
        blocks = [Block(heads, head_size, inner, epsilon, activation, name=f"block_{i}") for i in range(depth)]

        # functional model
        ids = keras.Input((None,), dtype="int32", name="ids")
        factor = keras.layers.Dense(width, use_bias=False, name="factor") if rank else None
        x, there = place_tokens(ids, embedding, factor, placed)
        for block in blocks:
            x = block(x, there[:, None])
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
    def token_layers(self) -> list[keras.layers.Layer]:
        """The layers behind the table that see each token and take the time, the dense ones."""
        factor = [self.get_layer("factor")] if self.rank else []
        return [*factor, *(layer for block in self.blocks for layer in block.denses)]

    @property
    def narrow_kernels(self) -> set[str]:
        """The paths of the kernels that an export in int4 stores in 4 bits, those of the blocks."""
        return {layer.kernel.path for block in self.blocks for layer in block.denses}

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
    ) -> Tensor:
        """Encode texts laid side by side, `Student.encode_packed`, of ids and segments `(r, w)`.

        A token looks at those of its own text in its row.
        """
        x = self.looked_up(ids, pieces, table, rows)  # (r, w, width)
        x = ops.cast(self.get_layer("factor")(x) if self.rank else x, "float32")
        there = ops.greater_equal(ids, 0)  # (r, w)
        # A row of padding alone looks at itself: its mean is of nothing else, and nobody reads it.
        same = ops.equal(segments[:, :, None], segments[:, None]) & there[:, None]
        places, starts = _places(ops.reshape(ids, (-1,)), ops.reshape(segments, (-1,)), ops.shape(counts)[0])
        x = self.get_layer("positions")(x, ops.reshape(places, ops.shape(ids)))
        for block in self.blocks:
            x = block(x, same)
        x = ops.reshape(x, (-1, self.width))
        there = ops.cast(ops.reshape(there, (-1, 1)), "float32")
        return self.finished(PACKED[self.pooling](x, there, ops.reshape(segments, (-1,)), counts, starts))

    def placed(self, ids: Tensor) -> tuple[Tensor, Tensor]:
        """Return the tokens `(b, t, w)` before the first block, of padded ids `(b, t)`, and which are there."""
        factor = self.get_layer("factor") if self.rank else None
        return place_tokens(ids, self.get_layer("embedding"), factor, self.get_layer("positions"))

    def through(self, ids: Tensor, places: Sequence[int]) -> Tensor:
        """Return the vectors `(b, dimension)` of padded ids `(b, t)` by the blocks at these places alone."""
        x, there = self.placed(ids)
        for place in places:
            x = self.blocks[place](x, there[:, None])
        return self.finished(PADDED[self.pooling](x, ops.cast(there, "float32")[:, :, None]))

    def finished(self, pooled: Tensor) -> Tensor:
        """Return the vectors `(n, dimension)` of the pooled tokens `(n, width)`."""
        vectors = unit(self.get_layer("dense")(pooled) if self.dense else pooled)
        return self.get_layer("projection")(vectors) if self.space else vectors

    def get_config(self) -> dict[str, Json]:
        names = ["name", "vocabulary", "width", "depth", "heads", "head_size", "inner", "positions", "pooling", "dense"]
        names += ["dimension", "rank", "space", "foreign", "epsilon", "activation", "origin"]
        return {name: getattr(self, name) for name in names}


def place_tokens(
    ids: Tensor, embedding: keras.layers.Layer, factor: keras.layers.Layer | None, positions: Positions
) -> tuple[Tensor, Tensor]:
    """Return the rows of padded ids `(b, t)` with their positions, `(b, t, w)`, and which are no padding, `(b, t)`."""
    there = ops.greater_equal(ids, 0)
    x = embedding(ops.maximum(ids, 0))
    x = factor(x) if factor else x
    # Padding may stand before a text.
    return positions(x, ops.maximum(ops.cumsum(ops.cast(there, "int32"), axis=1) - 1, 0)), there


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
