"""`distill reduce` as a function: an encoder in another shape, not yet trained."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from ..catalog.loading import load_keras_encoder
from ..data.dataset import Dataset
from ..errors import InputError
from ..system.backend import start
from ..system.files import require_writable
from ..system.types import File

if TYPE_CHECKING:
    from ..students.shape import Shape


@dataclass(frozen=True)
class Reduced:
    """An encoder's numbers of weights, before and after."""

    before: int
    after: int


def reduce_encoder(
    model: File, output: File, shape: Shape, dataset: Dataset, languages: Sequence[str] = (), seed: int = 0
) -> Reduced:
    """Save a copy of an encoder in another shape: sliced, factorised and refitted on a data set, not yet trained.

    Args:
        model: an n-gram encoder with weights of ours, such as `released`.
        output: the folder that is made; train it with `transfer`, as its start.
        shape: the sizes that change.
        dataset: whose passages and train questions it is refitted on.
        languages: those of the questions; empty for all.
        seed: of what is drawn.

    Returns:
        The numbers of weights.

    Raises:
        InputError: for a shape that changes nothing.
        ConfigError: for a shape that is no cut of the encoder.
        DataError: for a language that the data set lacks.
        EncoderError: where `model` names no encoder with weights of ours.

    Example:
        >>> import distill
        >>> shape = distill.Shape(channels=128, convolutions=1)
        >>> shape.whole
        False

        `distill.reduce_encoder("released", "thin", shape, distill.load_dataset("sample"))` then writes it.
    """
    start()
    from ..compression.material import cut_to_shape

    if shape.whole:
        raise InputError("nothing to reduce; give a size, such as --channels 128 or --static")
    require_writable(output)
    chosen = tuple(languages) or dataset.languages
    dataset.require(chosen)
    encoder = load_keras_encoder(model)
    smaller = cut_to_shape(encoder, shape, dataset, chosen, seed)
    smaller.save(output)
    return Reduced(encoder.model.count_params(), smaller.model.count_params())
