"""The fastest student: a weighted sum of token embeddings, and a small residual network; and its start from an encoder.

The vectors of single tokens are those of Model2Vec (Tulkens and van Dongen, 2024). The weights a / (a + p) and the
subtraction of the common direction are those of Arora, Liang and Ma (2017), A simple but tough-to-beat baseline for
sentence embeddings. The weights are multiplied into the embeddings, where they go on learning.
"""

from __future__ import annotations

from collections.abc import Sequence

import keras
import numpy as np
from keras import ops

from ...encoders.encoder import KerasEncoder, encode_ids
from ...encoders.tokenizer import SPACE, Tokenizer, model_proto
from ...system.progress import task
from ...system.types import Doubles, Json, Tensor
from ..frequencies import SMOOTHING, Frequencies
from ..linear import compute_leading_axes
from ..student import Projection, Student, embed, make_tables, make_windows, scale_to_unit


@keras.saving.register_keras_serializable("distill")
class Context(keras.layers.Layer):
    """A residual network over windows of `order` tokens: x + W2 max(0, W1 [x and its neighbours] + b), `(b, t, w)`."""

    def __init__(self, order: int, channels: int, **kwargs: Json) -> None:
        super().__init__(**kwargs)
        self.order, self.channels = order, channels
        self.first = keras.layers.Dense(channels, activation="relu", name="first")

    def build(self, shape: Sequence[int]) -> None:
        self.second = keras.layers.Dense(shape[-1], use_bias=False, name="second")
        self.first.build((*shape[:-1], self.order * shape[-1]))
        self.second.build((*shape[:-1], self.channels))

    def call(self, x: Tensor) -> Tensor:
        return x + self.second(self.first(make_windows(x, self.order)))

    def compute_output_shape(self, shape: Sequence[int | None]) -> tuple[int | None, ...]:
        return tuple(shape)

    def get_config(self) -> dict[str, Json]:
        return {**super().get_config(), "order": self.order, "channels": self.channels}


@keras.saving.register_keras_serializable("distill")
class Residual(keras.layers.Layer):
    """A residual network, x + W2 max(0, W1 x + b), and a product into the teacher's space: `(b, w)` -> `(b, d)`."""

    def __init__(self, hidden: int, dimension: int, **kwargs: Json) -> None:
        super().__init__(**kwargs)
        self.hidden, self.dimension = hidden, dimension
        self.first = keras.layers.Dense(hidden, activation="relu", name="first")
        self.lift = keras.layers.Dense(dimension, use_bias=False, name="lift")

    def build(self, shape: Sequence[int]) -> None:
        self.second = keras.layers.Dense(shape[-1], use_bias=False, name="second")
        self.first.build(shape)
        self.second.build((shape[0], self.hidden))
        self.lift.build(shape)

    def call(self, x: Tensor) -> Tensor:
        return scale_to_unit(self.lift(x + self.second(self.first(x))))

    def compute_output_shape(self, shape: Sequence[int | None]) -> tuple[int | None, ...]:
        return (shape[0], self.dimension)

    def get_config(self) -> dict[str, Json]:
        return {**super().get_config(), "hidden": self.hidden, "dimension": self.dimension}


@keras.saving.register_keras_serializable("distill")
class StaticEncoder(Student):
    """A static encoder: token ids `(b, t)` int32, negative for padding, to unit vectors `(b, dimension)` float32.

    The embeddings of a text's tokens are summed, scaled to unit length, and go through a residual network into the
    teacher's space. With `channels` each token is first changed by its neighbours, so the encoder is not static.

    Args:
        space: The dimension in front of a projection to `dimension`; None for no projection.
        channels: The number of channels of the context layer; 0 for none.
        foreign: True if the projection is a learned map into another space, the teacher's; otherwise it is fixed.
    """

    family = "static"

    def __init__(
        self,
        vocabulary: int = 128_000,
        width: int = 256,
        hidden: int = 256,
        dimension: int = 512,
        space: int | None = None,
        channels: int = 0,
        order: int = 3,
        foreign: bool = False,
        segmented: bool = False,
        **kwargs: Json,
    ) -> None:
        # layers
        tables = make_tables(vocabulary, width, segmented)
        residual = Residual(hidden, space or dimension, name="residual")

        # functional model
        ids = keras.Input((None,), dtype="int32", name="ids")
        keep = ops.expand_dims(ops.cast(ops.greater_equal(ids, 0), "float32"), -1)  # (b, t, 1)
        x = embed(ids, *tables) * keep
        if channels:
            x = Context(order, channels, name="context")(x) * keep
        vectors = residual(scale_to_unit(ops.sum(x, axis=1)))
        if space:
            vectors = Projection(dimension, foreign, name="projection")(vectors)
        super().__init__(inputs=ids, outputs=vectors, **kwargs)

        # config
        self.vocabulary, self.width, self.hidden = vocabulary, width, hidden
        self.dimension, self.space, self.channels, self.order = dimension, space, channels, order
        self.foreign, self.segmented = foreign, segmented

    @property
    def token_layers(self) -> list[keras.layers.Layer]:
        """The layers behind the table that process each token."""
        return [self.get_layer("context")] if self.channels else []

    @property
    def gap(self) -> int:
        """The number of padding ids that separate two neighbouring texts of a packed sequence."""
        return self.order // 2 if self.channels else 0

    def features(self, x: Tensor, keep: Tensor) -> Tensor:
        """Compute the masked features `(b, t, w)` of embeddings, with a mask `(b, t, 1)`."""
        x = x * keep
        return self.get_layer("context")(x) * keep if self.channels else x

    def pool(self, summed: Tensor, counts: Tensor) -> Tensor:
        """Compute the vectors `(b, d)` of texts from summed features `(b, w)`, whatever their number of tokens."""
        return self.get_layer("residual")(scale_to_unit(summed))

    def get_config(self) -> dict[str, Json]:
        return {
            "name": self.name,
            "vocabulary": self.vocabulary,
            "width": self.width,
            "hidden": self.hidden,
            "dimension": self.dimension,
            "space": self.space,
            "channels": self.channels,
            "order": self.order,
            "foreign": self.foreign,
            "segmented": self.segmented,
        }


NETWORK = StaticEncoder


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
    tokens = encode_single_tokens(encoder.tokenizer, tokenizer)
    with task("encoding tokens", len(tokens)) as advance:
        vectors = encode_ids(encoder.model.unprojected, tokens, advance)
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
