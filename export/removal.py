"""Language components in an artefact, so that its `encode.py` removes those of the language that it is told."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from ..errors import InputError
from ..evaluation.bias.removal import LanguageRemoval
from ..system.types import File, Json
from .encode import MODELS, REMOVAL
from .form import Form


def read_removal(path: File, rank: int, form: Form) -> LanguageRemoval:
    """The `LanguageRemoval` for an artefact. Raises `InputError` where its format or rank can have none."""
    if form.format not in MODELS:
        raise InputError(
            f"--removal: encode.py removes, and the format {form.format} has none; "
            f"take {' or '.join(MODELS)}, or fold it in (distill lir fold)"
        )
    return LanguageRemoval.load(path).at(rank)


def write_removal(folder: Path, removal: LanguageRemoval) -> None:
    """Write the components, float32 `(languages, r, d)`."""
    with open(folder / REMOVAL, "wb") as file:
        np.save(file, removal.stacked())


def described(removal: LanguageRemoval) -> dict[str, Json]:
    """The components in a card."""
    return {"languages": list(removal.languages), "rank": removal.rank, "encoder": removal.encoder}
