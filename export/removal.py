"""Put language components into an artefact, so that its `encode.py` can remove those of a given language."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from ..encoders.language_removal import LanguageRemoval
from ..errors import InputError
from ..system.types import File, Json
from .encode import MODELS, REMOVAL
from .form import Form


def read_removal(path: File, rank: int, form: Form) -> LanguageRemoval:
    """Load the `LanguageRemoval` for an artefact.

    `path` is the file that `fit_removal` wrote. `rank` is the number of directions that are removed for each language.
    Raises `InputError` if the format cannot remove components, or the file has no such rank.
    """
    if form.format not in MODELS:
        raise InputError(
            f"--removal: the format {form.format} has no encode.py, which removes components; "
            f"use {' or '.join(MODELS)}, or fold them in with distill lir fold"
        )
    return LanguageRemoval.load(path).at(rank)


def write_removal(folder: Path, removal: LanguageRemoval) -> None:
    """Write the components into an artefact as a float32 array `(languages, r, d)`."""
    with open(folder / REMOVAL, "wb") as file:
        np.save(file, removal.stack())


def removal_entry(removal: LanguageRemoval) -> dict[str, Json]:
    """Return the entry of a card about the components."""
    return {"languages": list(removal.languages), "rank": removal.rank, "encoder": removal.encoder}
