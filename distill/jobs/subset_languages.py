"""`distill subset` as a function: a bundle of some of an encoder's languages."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from ..catalog.bundle import find_artefact
from ..catalog.identity import describe_origin
from ..errors import InputError
from ..system.backend import start
from ..system.files import require_writable
from ..system.types import File

if TYPE_CHECKING:
    from ..export.subset import Subset


def subset_languages(model: File, output: File, languages: Sequence[str]) -> Subset:
    """Write a bundle of some of an encoder's languages, without data and without training.

    Pieces stay that these languages use, and what all need, such as digits. A text that loses no piece keeps its
    vector, to the last bit.

    Args:
        model: a bundle, a run folder that holds one, or a name such as `released`.
        output: the folder that is made.
        languages: those that stay.

    Returns:
        The numbers of pieces and of bytes, each before and after.

    Raises:
        InputError: for no language, a language that there is not, or where nothing would be left out.
        EncoderError: where `model` names no bundle, or one that does not say which languages use its pieces.

    Example:
        >>> import distill
        >>> smaller = distill.subset_languages("released-small", "small-de", ["de", "en"])
        >>> smaller.pieces[1] < smaller.pieces[0]
        True
    """
    if not languages:
        raise InputError("--languages: expected languages such as de,ru, got none")
    artefact = find_artefact(model)
    require_writable(output)
    start()
    from ..export.subset import write_subset

    return write_subset(artefact, output, languages, str(describe_origin(model)["source"]))
