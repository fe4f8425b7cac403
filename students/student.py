"""The base of all students, and the layers that they share."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import ClassVar, TypeVar

import keras
import numpy as np
from keras import ops

from ..encoders.batching import pack
from ..encoders.compiled import AnyLength
from ..system.types import IdLists, Json, Tensor

EPSILON = 1e-12


def unit(x: Tensor) -> Tensor:
    """Return the vectors of the last axis at unit length; zeros stay."""
    return x / ops.sqrt(ops.maximum(ops.sum(x * x, axis=-1, keepdims=True), EPSILON))


@keras.saving.register_keras_serializable("distill")
class Projection(keras.layers.Layer):
    """A product behind the head, at unit length: `(b, space)` -> `(b, d)`.

    Axes of the teacher's space do not train: the teacher's vectors on the same axes are the labels, so that these stay
    what they were. A `learned` map into another encoder's space trains towards that encoder's vectors as they are.
    """

    def __init__(self, dimension: int, learned: bool = False, **kwargs: Json) -> None:
        super().__init__(**kwargs)
        self.dimension, self.learned = dimension, learned

    def build(self, shape: Sequence[int]) -> None:
        self.kernel = self.add_weight(
            shape=(shape[-1], self.dimension), initializer="orthogonal", trainable=self.learned, name="kernel"
        )

    def call(self, x: Tensor) -> Tensor:
        return unit(ops.matmul(x, self.kernel))

    def compute_output_shape(self, shape: Sequence[int | None]) -> tuple[int | None, ...]:
        return (shape[0], self.dimension)

    def get_config(self) -> dict[str, Json]:
        return {**super().get_config(), "dimension": self.dimension, "learned": self.learned}


class Student(keras.Model):
    """A functional model that texts laid one after another can go through, too: the base of every family's network.

    A network names its `family`. It has a layer `embedding`; `features(x, keep)`, rows of the table `(b, t, w)` and
    mask `(b, t, 1)` to masked features, by the `token_layers`; `pooled(summed, counts)`, their sums and numbers to
    vectors, or an `encode_packed` of its own where it `sums` nothing; `gap`; and with `space` a layer `projection`.
    """

    # The folder of its parts, in `students/` and in `export/families/`.
    family: ClassVar[str]
    # Whether a text's vector comes of a sum over its pieces, by `features` and `pooled`.
    sums: ClassVar[bool] = True
    # Whose weights it began with, `origin.Origin` as plain values; None for mUSE's.
    origin: dict[str, Json] | None = None

    @property
    def label_dimension(self) -> int:
        """The dimension of the vectors that it learns: on axes of its teacher's space they are longer than its own."""
        return self.dimension if self.foreign else self.space or self.dimension

    @property
    def unprojected(self) -> keras.Model:
        """The model of the vectors in front of the projection, where it has one."""
        return keras.Model(self.input, self.get_layer("projection").input if self.space else self.output)

    @property
    def rounded_kernels(self) -> list[tuple[keras.Variable, Tensor | None]]:
        """The kernels that an export in int8 rounds, but the projection's, each with what it is divided by before.

        The divisor `(in, 1)` is None where there is none; `training.fake_quantisation` rounds the quotient.
        """
        kernels = (weight for weight in self.weights if weight.path.endswith("/kernel"))
        return [(kernel, None) for kernel in kernels if kernel.path != "projection/kernel"]

    @property
    def narrow_kernels(self) -> dict[str, int]:
        """The paths of the kernels that an export in int4 stores in 4 bits: all that it rounds, of most families.

        Beside each how many of its inputs, the first, keep 8 bits.
        """
        return {kernel.path: 0 for kernel, _ in self.rounded_kernels}

    def pack(self, rows: IdLists) -> dict[str, np.ndarray]:
        """Return lists of token ids laid one after another, as `encode_packed` takes them."""
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
        """Encode texts laid one after another, so that nothing is spent on padding: the same vectors, `(n, dimension)`.

        `ids` int32 `(t,)`, at least `gap` negative ids between two texts; `segments` int32 `(t,)`, the text of
        each id; `counts` float32 `(n, 1)`, its number of ids; `pieces` int32 `(u,)`, the distinct ids, ascending. See
        `encoders.batching.pack`. `table` is applied to the rows of the pieces, `(1, u, w)`, and `rows` to those of the
        texts, `(1, t, w)`.
        """
        x = self.look_up(ids[None], pieces, table, rows)  # (1, t, w)
        keep = ops.cast(ops.greater_equal(ids, 0), x.dtype)[None, :, None]  # (1, t, 1)
        features = ops.cast(self.features(x, keep)[0], "float32")
        vectors = self.pooled(sum_texts(features, segments, ops.shape(counts)[0]), counts)
        return self.get_layer("projection")(vectors) if self.space else vectors

    def look_up(
        self,
        ids: Tensor,
        pieces: Tensor,
        table: Callable[[Tensor], Tensor] | None = None,
        rows: Callable[[Tensor], Tensor] | None = None,
    ) -> Tensor:
        """Return the rows of the table `(r, t, w)` of ids `(r, t)`, each of the distinct `pieces` looked up once.

        So its gradient is the sum over the texts before an optimiser sees it. Adam squares it, and Keras on TensorFlow
        would square what each occurrence adds.
        """
        x = self.get_layer("embedding")(pieces[None])[0]  # (u, w)
        x = table(x[None])[0] if table else x
        # Flat, and along the first axis: on TensorFlow the gradient of the other took a quarter of a step.
        places = ops.searchsorted(pieces, ops.maximum(ops.reshape(ids, (-1,)), 0))
        x = ops.take(x, ops.reshape(places, ops.shape(ids)), axis=0)
        return rows(x) if rows else x

    def make_predict_function(self, force: bool = False) -> None:
        """Make Keras's own; on TensorFlow one that is compiled once for texts of all lengths."""
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
    """Sum the features `(t, f)` of each of so many texts, whose tokens stand together: `(texts, f)`.

    `segments` int32 `(t,)` rise, and where the backend takes that along with the number of texts it is told so: threads
    of a GPU need not add up by chance.
    """
    told = keras.backend.backend() != "tensorflow"
    return ops.segment_sum(features, segments, num_segments=texts, sorted=told)


def windows(x: Tensor, order: int) -> Tensor:
    """Lay each token with its neighbours side by side, zeros beyond the ends: `(b, t, c)` -> `(b, t, order * c)`."""
    reach = order - 1
    padded = ops.pad(x, [[0, 0], [reach // 2, reach - reach // 2], [0, 0]])
    # Not padded[:, i : …]: on TensorFlow the gradient of such a slice took a third of a training step.
    return ops.concatenate([ops.slice(padded, (0, i, 0), ops.shape(x)) for i in range(order)], axis=-1)


def masked(x: Tensor, keep: Tensor | None) -> Tensor:
    """Return `x` `(b, t, c)` with zeros where the mask `(b, t, 1)` has them, and as it is without a mask."""
    return x if keep is None else x * keep
