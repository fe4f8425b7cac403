"""Decide where each shape is a program, and compile functions of arrays of any length, which Keras offers no way to."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, TypeAlias, Union
from weakref import WeakKeyDictionary

import numpy as np

from ..system.backend import chosen_backend

if TYPE_CHECKING:
    from ..system.types import Model, Tensor

# The length of the longest text that a model got or will get: its wide rows are as wide, whatever a batch has.
_LONGEST: WeakKeyDictionary[Model, int] = WeakKeyDictionary()

# Arrays, nested as a step takes them.
Arrays: TypeAlias = Union[np.ndarray, "Sequence[Arrays]", "Mapping[str, Arrays]"]


def compiles_each_shape(by_xla: bool = False) -> bool:
    """Return True where a program is compiled for each shape of arrays, so that few may occur: by XLA, always on JAX.

    TensorFlow and PyTorch compute what they are given, without paddings.
    """
    return by_xla or chosen_backend() == "jax"


def note_longest(model: Model, length: int) -> int:
    """Note the length of a text that a model gets, and return that of the longest one that was noted."""
    _LONGEST[model] = max(length, _LONGEST.get(model, 0))
    return _LONGEST[model]


class AnyLength:
    """A function of one argument of nested arrays that TensorFlow compiles once for all lengths.

    Left to itself, TensorFlow compiles for each of the first shapes, until it has seen which axes differ. Floats are
    features after the first axis, whose number is fixed. Arrays with other names are compiled once more.
    """

    def __init__(self, step: Callable[[Arrays], Tensor]) -> None:
        import keras
        import tensorflow as tf

        self.map_arrays = keras.tree.map_structure
        self.compiled = tf.function(step, autograph=False, reduce_retracing=True)
        self.ready: set[str] = set()

    def __call__(self, data: Arrays) -> Tensor:
        import tensorflow as tf

        data = self.map_arrays(tf.convert_to_tensor, data)
        kinds = str(self.map_arrays(lambda array: array.shape.rank, data))
        if kinds not in self.ready:
            self.compiled.get_concrete_function(self.map_arrays(_of_any_length, data))
            self.ready.add(kinds)
        return self.compiled(data)


def fuse_adam(
    gradient: Tensor,
    variable: Tensor,
    moments: tuple[Tensor, Tensor],
    powers: tuple[Tensor, Tensor],
    rates: tuple[Tensor, float, float, float],
) -> None:
    """Take a step of Adam on TensorFlow in one operation; rows that a sparse gradient lacks have a gradient of zero.

    `moments` are the running means of the gradient and of its square, variables as well, `powers` the betas to the
    power of the step's number, from 1, and `rates` the learning rate, both betas and epsilon.
    """
    import tensorflow as tf

    tf.raw_ops.ResourceApplyAdam(
        var=variable.handle,
        m=moments[0].handle,
        v=moments[1].handle,
        beta1_power=powers[0],
        beta2_power=powers[1],
        lr=rates[0],
        beta1=rates[1],
        beta2=rates[2],
        epsilon=rates[3],
        grad=tf.convert_to_tensor(gradient),
    )


def _of_any_length(array):
    import tensorflow as tf

    sizes = [None, *array.shape[1:]] if array.dtype.is_floating else [None] * array.shape.rank
    return tf.TensorSpec(sizes[: array.shape.rank], array.dtype)
