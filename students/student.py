"""The base class of all students, and the layers that they share."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import ClassVar, TypeAlias, TypeVar

import keras
import numpy as np
from keras import ops

from ..encoders.batching import pack
from ..encoders.compilation import AnyLength
from ..system.types import Floats, IdLists, Json, Tensor

EPSILON = 1e-12


def scale_to_unit(x: Tensor) -> Tensor:
    """Scale the vectors of the last axis to unit length; zeros stay zeros."""
    return x / ops.sqrt(ops.maximum(ops.sum(x * x, axis=-1, keepdims=True), EPSILON))


@keras.saving.register_keras_serializable("distill")
class Segments(keras.layers.Layer):
    """The embeddings of BERT's two segments, added to those of tokens: `(b, t, w)` and ids `(b, t)` -> `(b, t, w)`.

    Devlin et al. (2019), BERT, section 3. Ids from `vocabulary` on are of the second segment.
    """

    def __init__(self, vocabulary: int, **kwargs: Json) -> None:
        super().__init__(**kwargs)
        self.vocabulary = vocabulary

    def build(self, x_shape: Sequence[int], ids_shape: Sequence[int] | None = None) -> None:
        self.embeddings = self.add_weight(shape=(2, x_shape[-1]), initializer="zeros", name="embeddings")

    def call(self, x: Tensor, ids: Tensor) -> Tensor:
        return x + ops.take(self.embeddings, ops.cast(ops.greater_equal(ids, self.vocabulary), "int32"), axis=0)

    def compute_output_shape(
        self, x_shape: Sequence[int | None], ids_shape: Sequence[int | None] | None = None
    ) -> tuple[int | None, ...]:
        return tuple(x_shape)


# The embeddings of tokens and, if texts have contexts, those of segments.
Tables: TypeAlias = "tuple[keras.layers.Embedding, Segments | None]"


def make_tables(vocabulary: int, width: int, segmented: bool) -> Tables:
    """Make the layers that `embed` takes."""
    segments = Segments(vocabulary, name="segments") if segmented else None
    return keras.layers.Embedding(vocabulary, width, name="embedding"), segments


def embed(ids: Tensor, embedding: keras.layers.Embedding, segments: Segments | None = None) -> Tensor:
    """Embed ids `(b, t)` with their segments, if there are any; negative ids count as 0."""
    ids = ops.maximum(ids, 0)
    return segments(embedding(ids % segments.vocabulary), ids) if segments else embedding(ids)


@keras.saving.register_keras_serializable("distill")
class Projection(keras.layers.Layer):
    """A projection behind the head, scaled to unit length: `(b, space)` -> `(b, d)`.

    Axes of the teacher's space are not trained: the labels are the teacher's vectors on the same axes, so the axes must
    not change. A `learned` map into another encoder's space is trained towards that encoder's vectors as they are.
    """

    def __init__(self, dimension: int, learned: bool = False, **kwargs: Json) -> None:
        super().__init__(**kwargs)
        self.dimension, self.learned = dimension, learned

    def build(self, shape: Sequence[int]) -> None:
        self.kernel = self.add_weight(
            shape=(shape[-1], self.dimension), initializer="orthogonal", trainable=self.learned, name="kernel"
        )

    def call(self, x: Tensor) -> Tensor:
        return scale_to_unit(ops.matmul(x, self.kernel))

    def compute_output_shape(self, shape: Sequence[int | None]) -> tuple[int | None, ...]:
        return (shape[0], self.dimension)

    def get_config(self) -> dict[str, Json]:
        return {**super().get_config(), "dimension": self.dimension, "learned": self.learned}


class Student(keras.Model):
    """A functional model that also encodes packed texts, one behind another: the base of every family's network.

    A subclass names its `family` and has a layer `embedding`, and with `space` a layer `projection`. `token_layers` are
    used by `features(x, keep)`, which turns embeddings `(b, t, w)` and a mask `(b, t, 1)` into masked features.
    `pool(summed, counts)` turns the sums of a text's features and their number into vectors; a family without `sums`
    has an `encode_packed` of its own. `gap` is the number of padding ids between packed texts.
    """

    # The name of its folders in `students/` and in `export/families/`.
    family: ClassVar[str]
    # True if a text's vector is computed from a sum over its tokens, by `features` and `pool`.
    sums: ClassVar[bool] = True
    # True if texts have contexts as second segments, whose embedding began with `second_segment` (None: zeros).
    segmented = False
    second_segment: Floats | None = None
    # The origin of the weights, `origin.Origin` as plain values; None for mUSE's.
    origin: dict[str, Json] | None = None
    # True if `pack` is to make arrays of few widths, for a compiler that makes a program of each (`training.trainer`).
    few_widths = False

    @property
    def label_dimension(self) -> int:
        """The dimension of the labels: on axes of the teacher's space they are longer than the student's vectors."""
        return self.dimension if self.foreign else self.space or self.dimension

    @property
    def unprojected(self) -> keras.Model:
        """The model up to the projection, or the whole model without one."""
        return keras.Model(self.input, self.get_layer("projection").input if self.space else self.output)

    @property
    def mixed_layers(self) -> list[keras.layers.Layer]:
        """The layers that compute in 16 bits within a training step of mixed precision."""
        return self.token_layers

    @property
    def rounded_kernels(self) -> list[tuple[keras.Variable, Tensor | None]]:
        """The kernels that an export in int8 rounds, except for the projection's, each with a divisor."""
        kernels = (weight for weight in self.weights if weight.path.endswith("/kernel"))
        return [(kernel, None) for kernel in kernels if kernel.path != "projection/kernel"]

    @property
    def narrow_kernels(self) -> dict[str, int]:
        """The paths of the kernels that an export in int4 stores in 4 bits: in most families all that it rounds.

        The value is the number of inputs, the first ones, that keep 8 bits.
        """
        return {kernel.path: 0 for kernel, _ in self.rounded_kernels}

    def pack(self, rows: IdLists) -> dict[str, np.ndarray]:
        """Pack lists of token ids one behind another, as `encode_packed` takes them."""
        return pack(rows, self.gap)

    def encode_packed(
        self,
        ids: Tensor,
        segments: Tensor,
        counts: Tensor,
        pieces: Tensor,
        table: Callable[[Tensor], Tensor] | None = None,
        rows: Callable[[Tensor], Tensor] | None = None,
    ) -> Tensor:
        """Encode texts that are packed one behind another, so that no time is spent on padding.

        See `encoders.batching.pack`. Returns the same vectors as for padded texts, `(n, dimension)`.

        Args:
            ids: The token ids, int32 `(t,)`, with at least `gap` negative ids between two texts.
            segments: The text of each id, int32 `(t,)`.
            counts: The number of ids of each text, float32 `(n, 1)`.
            pieces: The distinct ids, ascending, int32 `(u,)`.
            table: A function that is applied to the embeddings of the distinct ids, `(1, u, w)`.
            rows: A function that is applied to the embeddings of the texts, `(1, t, w)`.
        """
        x = self.look_up(ids[None], pieces, table, rows)  # (1, t, w)
        keep = ops.cast(ops.greater_equal(ids, 0), x.dtype)[None, :, None]  # (1, t, 1)
        features = ops.cast(self.features(x, keep)[0], "float32")
        vectors = self.pool(sum_texts(features, segments, ops.shape(counts)[0]), counts)
        return self.get_layer("projection")(vectors) if self.space else vectors

    def look_up(
        self,
        ids: Tensor,
        pieces: Tensor,
        table: Callable[[Tensor], Tensor] | None = None,
        rows: Callable[[Tensor], Tensor] | None = None,
    ) -> Tensor:
        """Look up the embeddings `(r, t, w)` of token ids `(r, t)`, those of each distinct id once.

        The gradient of an embedding is thus the sum over the texts before an optimiser sees it. Adam squares it, and
        Keras on TensorFlow would square the gradient of each occurrence.
        """
        x = embed(pieces[None], *self.tables)[0]  # (u, w)
        x = table(x[None])[0] if table else x
        # The ids are flat, along the first axis: otherwise the gradient took a quarter of a step on TensorFlow.
        places = ops.searchsorted(pieces, ops.maximum(ops.reshape(ids, (-1,)), 0))
        x = ops.take(x, ops.reshape(places, ops.shape(ids)), axis=0)
        return rows(x) if rows else x

    @property
    def tables(self) -> Tables:
        """The embeddings of tokens and of segments."""
        return self.get_layer("embedding"), self.get_layer("segments") if self.segmented else None

    def make_predict_function(self, force: bool = False) -> None:
        """Make Keras's function; on TensorFlow make one that is compiled once for texts of all lengths."""
        if keras.backend.backend() != "tensorflow" or self.run_eagerly:
            super().make_predict_function(force)
        elif force or self.predict_function is None:  # type: ignore[has-type]
            step = AnyLength(self.predict_step)
            self.predict_function = lambda batches: step(batches[0])

    @classmethod
    def from_config(cls, config: dict[str, Json], custom_objects: dict[str, type] | None = None) -> Student:
        return cls(**config)


AnyStudent = TypeVar("AnyStudent", bound=Student)


def sum_texts(features: Tensor, segments: Tensor, texts: int) -> Tensor:
    """Sum the features `(t, f)` of each text; `segments`, ascending, is the text of each token.

    If the backend can use that the segments ascend and how many they are, it learns so: threads of a GPU then need not
    add up in random order.
    """
    in_order = keras.backend.backend() != "tensorflow"
    return ops.segment_sum(features, segments, num_segments=texts, sorted=in_order)


def make_windows(x: Tensor, order: int) -> Tensor:
    """Concatenate each token with its neighbours, zeros beyond the ends: `(b, t, c)` -> `(b, t, order * c)`."""
    reach = order - 1
    padded = ops.pad(x, [[0, 0], [reach // 2, reach - reach // 2], [0, 0]])
    # No padded[:, i : …]: on TensorFlow the gradient of such a slice took a third of a training step.
    return ops.concatenate([ops.slice(padded, (0, i, 0), ops.shape(x)) for i in range(order)], axis=-1)


def mask_features(x: Tensor, keep: Tensor | None) -> Tensor:
    """Set the features of padding to zero by a mask `(b, t, 1)`, if there is one."""
    return x if keep is None else x * keep
