"""Make a bundle of some of an encoder's languages: `distill subset` as a function."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from ..encoders.catalog.bundle import find_artefact
from ..encoders.catalog.identity import describe_origin
from ..errors import InputError
from ..system.backend import start
from ..system.files import require_writable
from ..system.types import File

if TYPE_CHECKING:
    from ..export.subset import Subset


def subset_languages(model: File, output: File, languages: Sequence[str]) -> Subset:
    """Write a bundle of some of an encoder's languages, without data and without training.

    Tokens that these languages use stay, and so do those that every language needs, such as digits. A text that loses
    no token keeps its vector to the last bit.

    Args:
        model: A bundle, a run folder that holds one, or a name such as `multi12-ngram`.
        output: The folder to make.
        languages: The languages to keep.

    Returns:
        The numbers of tokens and of bytes, each before and after.

    Raises:
        InputError: If there are no languages, if the encoder lacks one, or if nothing would be left out.
        EncoderError: If `model` names no bundle, or one that does not say which languages use its tokens.

    Example:
        >>> import distill
        >>> smaller = distill.subset_languages("my-run", "german", ["de"])
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
