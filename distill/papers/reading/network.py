"""The reader's network in Keras: from token embeddings to where the answer begins and ends.

As in DrQA (Chen et al., 2017, section 3.2), each token of the passage has features of the question and an attention
over the question's tokens, and the ends of the answer are scored by products with the question. In place of recurrent
layers there are residual convolutions of growing reach, as in QANet (Yu et al., 2018), as they need only a few matrix
products for one text on a processor.
"""

from __future__ import annotations

from collections.abc import Sequence

import keras
from keras import ops

from ...system.types import Json, Tensor
from .pieces import FEATURES

FAR = 1e4
# A lower bound of squared lengths: padding has a length of 0, and smaller bounds are 0 in float16.
LEAST = 1e-6
# The factor of the cosines in the attention over the question's tokens; greater is sharper.
SHARPNESS = 10.0


@keras.saving.register_keras_serializable("distill")
class Block(keras.layers.Layer):
    """A residual convolution: x + W2 gelu(W1 [x at -r, 0, +r] + b) of normalised x."""

    def __init__(self, reach: int, dropout: float = 0.0, **kwargs: Json) -> None:
        super().__init__(**kwargs)
        self.reach, self.dropout = reach, dropout
        self.norm = keras.layers.LayerNormalization(name="norm")
        self.drop = keras.layers.Dropout(dropout, seed=reach, name="drop")

    def build(self, shape: Sequence[int]) -> None:
        """Create the weights for inputs `(b, t, c)`."""
        channels = shape[-1]
        self.first = keras.layers.Dense(channels, activation="gelu", name="first")
        self.second = keras.layers.Dense(channels, name="second")
        self.norm.build(shape)
        self.first.build((*shape[:-1], 3 * channels))
        self.second.build(shape)

    def call(self, x: Tensor, keep: Tensor, training: bool = False) -> Tensor:
        """Apply the block. Returns a float tensor `(b, t, c)`.

        Args:
            x: Float tensor `(b, t, c)`.
            keep: Float tensor `(b, t, 1)`, 1 for a token and 0 for padding.
        """
        y = ops.pad(self.norm(x) * keep, [[0, 0], [self.reach, self.reach], [0, 0]])
        sides = [ops.slice(y, (0, place, 0), ops.shape(x)) for place in (0, self.reach, 2 * self.reach)]
        return x + self.second(self.drop(self.first(ops.concatenate(sides, axis=-1)), training=training))

    def compute_output_shape(
        self, shape: Sequence[int | None], *others: Sequence[int | None]
    ) -> tuple[int | None, ...]:
        return tuple(shape)

    def get_config(self) -> dict[str, Json]:
        return {**super().get_config(), "reach": self.reach, "dropout": self.dropout}


@keras.saving.register_keras_serializable("distill")
class ReaderNetwork(keras.Model):
    """Logits `(b, t + 1, 2)` of where an answer begins and ends; the first are those of no answer.

    Its inputs are float32, by name: `passage` `(b, t, width)` and `question` `(b, m, width)`, standardised token
    embeddings; `features` `(b, t, matches.FEATURES)`; `vector` `(b, dimension)`, the question's vector; `passage_keep`
    `(b, t, 1)` and `question_keep` `(b, m, 1)`, 1 for a token and 0 for padding. `reaches` are those of each
    convolution over the passage, in tokens.
    """

    def __init__(
        self,
        width: int = 512,
        dimension: int = 512,
        channels: int = 128,
        reaches: Sequence[int] = (1, 2, 4, 8),
        dropout: float = 0.2,
        **kwargs: Json,
    ) -> None:
        shapes = {
            "passage": (None, width),
            "question": (None, width),
            "features": (None, FEATURES),
            "vector": (dimension,),
            "passage_keep": (None, 1),
            "question_keep": (None, 1),
        }
        inputs = {name: keras.Input(shape, name=name) for name, shape in shapes.items()}
        super().__init__(inputs=inputs, outputs=_logits(inputs, channels, reaches, dropout), **kwargs)
        self.width, self.dimension, self.channels = width, dimension, channels
        self.reaches, self.dropout = tuple(reaches), dropout

    def get_config(self) -> dict[str, Json]:
        sizes = {"width": self.width, "dimension": self.dimension, "channels": self.channels}
        return {"name": self.name, **sizes, "reaches": list(self.reaches), "dropout": self.dropout}

    @classmethod
    def from_config(cls, config: dict[str, Json], custom_objects: dict[str, type] | None = None) -> ReaderNetwork:
        """Create a network from the arguments of the constructor."""
        return cls(**config)


def _logits(inputs, channels, reaches, dropout):
    passage, question = inputs["passage"], inputs["question"]
    keep, question_keep = inputs["passage_keep"], inputs["question_keep"]
    enter = keras.layers.Dense(channels, name="enter")
    x, q = (_drop_out(enter(rows), dropout, name) for rows, name in ((passage, "passage"), (question, "question")))
    for reach in (1, 2):
        q = Block(reach, dropout, name=f"question_{reach}")(q, question_keep)
    summary = _summary(q, question_keep, inputs["vector"], channels, dropout)
    x = _join_tokens(x, q, passage, question, question_keep, inputs["features"], channels)
    x = x + keras.layers.Dense(channels, name="asked")(summary)[:, None]
    for number, reach in enumerate(reaches):
        x = Block(reach, dropout, name=f"passage_{number}")(x, keep)
    return _ends(keras.layers.LayerNormalization(name="norm")(x) * keep, summary, keep, channels)


def _drop_out(x, rate, name):
    return keras.layers.Dropout(rate, name=f"drop_{name}")(x)


def _unit(x):
    return x / ops.sqrt(ops.maximum(ops.sum(x * x, axis=-1, keepdims=True), LEAST))


def _summary(q, question_keep, vector, channels, dropout):
    """Return a weighted sum of the question's tokens plus its vector, `(b, c)`; DrQA, the equation of q."""
    weights = ops.softmax(keras.layers.Dense(1, name="weigh")(q) - FAR * (1 - question_keep), axis=1)
    return ops.sum(weights * q, axis=1) + keras.layers.Dense(channels, name="of_vector")(
        _drop_out(vector, dropout, "vector")
    )


def _join_tokens(x, q, passage, question, question_keep, features, channels):
    """Return the passage's tokens joined with the question's tokens that they align to, `(b, t, c)`; DrQA, f_align."""
    hidden = ops.transpose(1 - question_keep, (0, 2, 1))  # (b, 1, m)
    plain = ops.matmul(_unit(passage), ops.transpose(_unit(question), (0, 2, 1))) - 2 * hidden
    align = keras.layers.Dense(channels, use_bias=False, name="align")
    cosines = ops.matmul(_unit(align(passage)), ops.transpose(_unit(align(question)), (0, 2, 1)))
    weights = ops.softmax(SHARPNESS * cosines - FAR * hidden, axis=-1)
    like = ops.matmul(weights, q)
    best = [ops.max(plain, axis=-1, keepdims=True), ops.max(cosines - 2 * hidden, axis=-1, keepdims=True)]
    mean = ops.sum(weights * cosines, axis=-1, keepdims=True)
    return keras.layers.Dense(channels, name="join")(
        ops.concatenate([x, like, x * like, features, *best, mean], axis=-1)
    )


def _ends(x, summary, keep, channels):
    """Return the logits of beginning and end, with those of no answer first, `(b, t + 1, 2)`."""
    pooled = ops.max(x - FAR * (1 - keep), axis=1)
    none = keras.layers.Dense(2, name="none")(ops.concatenate([pooled, summary], axis=-1))[:, None]  # (b, 1, 2)
    ends = [_end(x, summary, channels, name) for name in ("start", "end")]
    return ops.concatenate([none, ops.concatenate(ends, axis=-1) - FAR * (1 - keep)], axis=1)


def _end(x, summary, channels, name):
    hidden = keras.layers.Dense(channels, activation="gelu", name=f"{name}_hidden")(x)
    wanted = keras.layers.Dense(channels, name=f"{name}_asked")(summary)[:, None]
    product = ops.sum(hidden * wanted, axis=-1, keepdims=True) / channels**0.5
    # TFLite's converter would take a plain sum of the two for a bias of channels.
    both = ops.concatenate([product, keras.layers.Dense(1, name=f"{name}_bias")(hidden)], axis=-1)
    return ops.sum(both, axis=-1, keepdims=True)
