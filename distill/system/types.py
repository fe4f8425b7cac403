"""Types that the signatures of several rooms share."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from os import PathLike
from typing import TYPE_CHECKING, Any, Literal, Protocol, TypeAlias, Union

import numpy as np
from numpy.typing import NDArray

if TYPE_CHECKING:
    from keras import KerasTensor as Tensor
    from keras import Model
else:
    # Keras is imported by what computes with it, not by what names its types.
    Tensor, Model = "keras.KerasTensor", "keras.Model"

# To which of two towers a text belongs.
Role: TypeAlias = Literal["question", "document"]
File: TypeAlias = Union[str, "PathLike[str]"]
# What a JSON or TOML file holds. mypy would have every nested value narrowed, which `reading.require_form` has checked.
if TYPE_CHECKING:
    Json: TypeAlias = Any
else:
    Json: TypeAlias = Mapping[str, "Json"] | Sequence["Json"] | str | float | int | bool | None
# float32: unit vectors `(n, d)`, scores `(q, n)`.
Floats: TypeAlias = NDArray[np.float32]
# float64: one score a question, which means and tests are computed of.
Doubles: TypeAlias = NDArray[np.float64]
# int64: rows of another array, ranks, counts.
Integers: TypeAlias = NDArray[np.int64]
Booleans: TypeAlias = NDArray[np.bool_]
# Token ids of texts, a list a text.
IdLists: TypeAlias = Sequence[Sequence[int] | NDArray[np.int32]]


class Progress(Protocol):
    """The function that a long computation calls after each part of its work, as `progress.task` provides it."""

    def __call__(self, steps: int = 1, note: str = "") -> None: ...
