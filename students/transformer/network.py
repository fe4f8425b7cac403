"""A transformer encoder like BERT or ModernBERT as a Keras model: token ids to a vector of unit length.

Embeddings with their positions go through blocks of attention. The vectors of a text's tokens are pooled to one by
their mean, for example (`pooling.py`), and may go through a dense layer. Padding is any negative id, at any place.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

import keras
import numpy as np
from keras import ops

from ...encoders.batching import pack_rows
from ...encoders.compilation import note_longest
from ...system.backend import chosen_backend
from ...system.device import sees_gpu
from ...system.types import IdLists, Json, Tensor
from ..student import Projection, Student, Tables, embed, make_tables, scale_to_unit
from .block import Block, Parts, Positions, split_rows
from .modern import ModernBlock, Rows, make_norm
from .pooling import pool_packed, pool_padded

BLOCKS = ("bert", "modern")
# The sizes of every block, in the order of `Block`'s arguments.
SIZES = ("heads", "head_size", "inner", "epsilon", "activation")


def make_rows(sizes: Mapping[str, Json]) -> Positions | Rows:
    """Make the layer between the table and the first block, `positions`."""
    if sizes["block"] == "modern":
        return Rows(sizes["epsilon"], name="positions")
    return Positions(sizes["positions"], sizes["epsilon"], name="positions")


def make_blocks(sizes: Mapping[str, Json]) -> list[Block]:
    """Make the blocks, the first one first. Raises `ValueError` if `block` is none of `BLOCKS`."""
    if sizes["block"] not in BLOCKS:
        raise ValueError(f"block: expected one of {', '.join(BLOCKS)}, got {sizes['block']!r}")
    same = [sizes[name] for name in SIZES]
    if sizes["block"] == "bert":
        return [Block(*same, name=f"block_{place}") for place in range(sizes["depth"])]
    return [ModernBlock(*same, **_attention(sizes, place), name=f"block_{place}") for place in range(sizes["depth"])]


def make_final_norm(sizes: Mapping[str, Json]) -> keras.layers.LayerNormalization | None:
    """Make the normalisation behind the last block; None for blocks that normalise their sums."""
    return make_norm(sizes["epsilon"], "final_norm") if sizes["block"] == "modern" else None


def _attention(sizes: Mapping[str, Json], place: int) -> dict[str, Json]:
    """Return the arguments of a modern block that depend on its place."""
    near = place in sizes["local"]
    theta, window = (sizes["local_theta"], sizes["window"]) if near else (sizes["global_theta"], None)
    return {"theta": theta, "window": window, "normed": place > 0}


@keras.saving.register_keras_serializable("distill")
class TransformerEncoder(Student):
    """A transformer: token ids `(b, t)` int32, negative for padding, to unit vectors `(b, dimension)` float32.

    Args:
        pooling: One of `pooling.POOLINGS`, or several with "+" between them.
        dense: The activation, or "linear", of a dense layer behind the pooling; None for no layer, where the dimension
            is `width` for each pooling.
        rank: The number of columns of the table, projected to `width`; None for `width` columns.
        space: The dimension in front of a projection to `dimension`; None for no projection.
        foreign: True if the projection is a learned map into another encoder's space.
        block: One of `layers.BLOCKS`.
        local: The places of the modern blocks in which a token attends only to its neighbours.
        global_theta: The base of the angles by which places turn the heads of modern blocks.
        local_theta: The same of the blocks at the places `local`.
        origin: The origin of the weights, as in `Student.origin`.
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
        segmented: bool = False,
        **kwargs: Json,
    ) -> None:
        # config
        sizes: dict[str, Json] = {"vocabulary": vocabulary, "width": width, "depth": depth, "heads": heads}
        sizes |= {"head_size": head_size, "inner": inner, "positions": positions, "pooling": pooling, "dense": dense}
        sizes |= {"dimension": dimension, "rank": rank, "space": space, "foreign": foreign, "epsilon": epsilon}
        sizes |= {"activation": activation, "block": block, "local": tuple(local), "window": window}
        sizes |= {"global_theta": global_theta, "local_theta": local_theta, "origin": origin, "segmented": segmented}

        # layers
        tables = make_tables(vocabulary, rank or width, segmented)
        factor = keras.layers.Dense(width, use_bias=False, name="factor") if rank else None
        placed, blocks, final_norm = make_rows(sizes), make_blocks(sizes), make_final_norm(sizes)

        # functional model
        ids = keras.Input((None,), dtype="int32", name="ids")
        x, there, places = place_tokens(ids, tables, factor, placed)
        x = apply_blocks(x, there[:, None], places, blocks, final_norm)
        vectors = pool_padded(pooling, x, ops.cast(there, "float32")[:, :, None])
        if dense:
            vectors = keras.layers.Dense(space or dimension, activation=dense, name="dense")(vectors)
        vectors = scale_to_unit(vectors)
        vectors = Projection(dimension, foreign, name="projection")(vectors) if space else vectors
        super().__init__(inputs=ids, outputs=vectors, **kwargs)
        for name, value in sizes.items():
            setattr(self, name, value)

    @property
    def blocks(self) -> list[Block]:
        """The blocks, the first one first."""
        return [self.get_layer(f"block_{place}") for place in range(self.depth)]

    @property
    def final_norm(self) -> keras.layers.LayerNormalization | None:
        """The normalisation behind the last block; None for blocks that normalise their sums."""
        return self.get_layer("final_norm") if self.block == "modern" else None

    @property
    def token_layers(self) -> list[keras.layers.Layer]:
        """The dense layers behind the table, which process each token and take most of the time."""
        factor = [self.get_layer("factor")] if self.rank else []
        return [*factor, *(layer for block in self.blocks for layer in block.denses)]

    @property
    def mixed_layers(self) -> list[keras.layers.Layer]:
        """The layers that compute in 16 bits within a training step of mixed precision.

        On a processor only dense layers are faster so. On a GPU a step waits for memory between them, so residuals,
        activations and scores are half as many bytes too; sums of normalisations and of the softmax stay float32.
        """
        if not sees_gpu(chosen_backend()):
            return self.token_layers
        factor = [self.get_layer("factor")] if self.rank else []
        return [*factor, *self.blocks, *([self.final_norm] if self.final_norm else [])]

    @property
    def narrow_kernels(self) -> dict[str, int]:
        """The paths of the kernels that an export in int4 stores in 4 bits.

        They are those of query, key, value and the second feed-forward layer. The value is the number of inputs, the
        first ones, that keep 8 bits. With the two other kinds of kernels in 4 bits an e5 loses retrieval quality.
        """
        looked = {layer.kernel.path: 0 for block in self.blocks for layer in block.qkv_layers}
        return looked | {block.second.kernel.path: block.wide_units for block in self.blocks}

    def pack(self, rows: IdLists) -> dict[str, np.ndarray]:
        """Pack texts for `encode_packed` into rows of ids, each of several whole texts."""
        return pack_rows(rows, longest=note_longest(self, max(map(len, rows))) if self.few_widths else 0)

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
        """Encode packed texts, as `Student.encode_packed`, in rows of ids instead of one sequence.

        A token attends to the tokens of its own text in its row. Everything but attention is computed on one flat list
        of all tokens. Returns the vectors `(n, dimension)`.

        Args:
            ids: The token ids, int32 `(r, w)`.
            segments: The text of each id, int32 `(r, w)`.
            long_ids: The token ids of long texts, int32 `(m, v)`, or None.
            long_segments: The text of each of these, int32 `(m, v)`.
        """
        groups = [(ids, segments)] if long_ids is None else [(ids, segments), (long_ids, long_segments)]
        looks = [_mask_texts(*group) for group in groups]
        parts = zip(*groups, strict=True)
        ids, segments = (ops.concatenate([ops.reshape(one, (-1,)) for one in part]) for part in parts)
        x = ops.squeeze(self.look_up(ids[None], pieces, table, rows), 0)  # (t, width)
        x = ops.cast(self.get_layer("factor")(x) if self.rank else x, "float32")
        places, starts = _find_places(ids, segments, ops.shape(counts)[0])
        x = self.get_layer("positions")(x, places)
        x = ops.cast(self.blocks[0].drop(x), x.dtype) if self.blocks[0].drop else x
        x = apply_blocks(x, looks, split_rows(places, looks), self.blocks, self.final_norm)
        x = ops.cast(x, "float32")
        there = ops.cast(ops.greater_equal(ids, 0), "float32")[:, None]
        return self.finish(pool_packed(self.pooling, x, there, segments, counts, starts))

    def place(self, ids: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        """Compute the inputs of the first block: tokens `(b, t, w)`, their mask `(b, t)` and their places `(b, t)`."""
        factor = self.get_layer("factor") if self.rank else None
        return place_tokens(ids, self.tables, factor, self.get_layer("positions"))

    def encode_through(self, ids: Tensor, places: Sequence[int]) -> Tensor:
        """Compute the vectors of padded ids `(b, t)` through some of the blocks."""
        x, there, order = self.place(ids)
        x = apply_blocks(x, there[:, None], order, [self.blocks[place] for place in places], self.final_norm)
        return self.finish(pool_padded(self.pooling, x, ops.cast(there, "float32")[:, :, None]))

    def finish(self, pooled: Tensor) -> Tensor:
        """Compute the vectors `(n, dimension)` of pooled tokens `(n, width)`."""
        vectors = scale_to_unit(self.get_layer("dense")(pooled) if self.dense else pooled)
        return self.get_layer("projection")(vectors) if self.space else vectors

    def get_config(self) -> dict[str, Json]:
        names = ["name", "vocabulary", "width", "depth", "heads", "head_size", "inner", "positions", "pooling", "dense"]
        names += ["dimension", "rank", "space", "foreign", "epsilon", "activation", "block", "window"]
        names += ["global_theta", "local_theta", "origin", "segmented"]
        return {**{name: getattr(self, name) for name in names}, "local": list(self.local)}


def place_tokens(
    ids: Tensor, tables: Tables, factor: keras.layers.Layer | None, positions: keras.layers.Layer
) -> tuple[Tensor, Tensor, Tensor]:
    """Compute the inputs of the first block.

    These are the tokens `(b, t, w)`, the mask of those that are no padding, bool `(b, t)`, and the place of each in its
    text.
    """
    there = ops.greater_equal(ids, 0)
    x = embed(ids, *tables)
    x = factor(x) if factor else x
    # Padding may come before a text.
    places = ops.maximum(ops.cumsum(ops.cast(there, "int32"), axis=1) - 1, 0)
    return positions(x, places), there, places


def apply_blocks(
    x: Tensor,
    looks: Parts,
    places: Parts,
    blocks: Sequence[Block],
    final_norm: keras.layers.LayerNormalization | None,
) -> Tensor:
    """Apply blocks and their final normalisation, if there is one, to tokens `(b, t, w)`, or flat ones `(t, w)`."""
    for block in blocks:
        x = block(x, looks, places)
    return final_norm(x) if final_norm else x


def _mask_texts(ids, segments):
    """Return the mask of tokens of a row that attend to each other, as they are of one text: bool `(r, w, w)`."""
    # Padding attends to nothing. The softmax then gives the mean of all tokens, which is never used.
    return ops.equal(segments[:, :, None], segments[:, None]) & ops.greater_equal(ids, 0)[:, None]


def _find_places(ids, segments, texts):
    """Return the place of each id in its text, `(t,)`, and the place at which each text begins, `(texts,)`."""
    order = ops.arange(ops.shape(ids)[0], dtype="int32")
    begins = ops.where(ops.greater_equal(ids, 0), -order, -ops.shape(ids)[0])
    starts = ops.maximum(-ops.segment_max(begins, segments, num_segments=texts), 0)
    return ops.maximum(order - ops.take(starts, segments), 0), starts


NETWORK = TransformerEncoder
