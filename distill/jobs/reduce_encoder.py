"""Give an encoder a smaller shape, without training: `distill reduce` as a function."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from ..data.dataset import Dataset
from ..encoders.catalog.loading import load_keras_encoder
from ..errors import InputError
from ..system.backend import start
from ..system.files import require_writable
from ..system.types import File

if TYPE_CHECKING:
    from ..students.shape import Shape


@dataclass(frozen=True)
class ReducedSize:
    """The number of weights of an encoder before and after."""

    before: int
    after: int


def reduce_encoder(
    model: File, output: File, shape: Shape, dataset: Dataset, languages: Sequence[str] = (), seed: int = 0
) -> ReducedSize:
    """Save a copy of an encoder in another shape: sliced, factorised and refitted on a data set, but not yet trained.

    Args:
        model: The n-gram encoder, with weights of distill's own, such as `multi12-ngram`.
        output: The folder to make. Train it with `transfer`, as the start of a student.
        shape: The sizes to change.
        dataset: The data set on whose passages and train questions the copy is refitted.
        languages: The languages of the questions; empty for all.
        seed: The seed of all random draws.

    Returns:
        The numbers of weights before and after.

    Raises:
        InputError: If the shape changes nothing.
        ConfigError: If the shape cannot be cut out of the encoder.
        DataError: If the data set lacks a language.
        EncoderError: If `model` names no encoder with weights of distill's own.

    Example:
        >>> import distill
        >>> shape, data = distill.Shape(channels=4), distill.load_dataset("my-data")
        >>> size = distill.reduce_encoder("my-ngram-encoder", "thin", shape, data)
        >>> size.after < size.before
        True
    """
    start()
    from .compression.material import cut_to_shape

    if shape.whole:
        raise InputError("nothing to reduce; give a size, such as --channels 128 or --static")
    require_writable(output)
    chosen = tuple(languages) or dataset.languages
    dataset.require(chosen)
    encoder = load_keras_encoder(model)
    smaller = cut_to_shape(encoder, shape, dataset, chosen, seed)
    smaller.save(output)
    return ReducedSize(encoder.model.count_params(), smaller.model.count_params())
