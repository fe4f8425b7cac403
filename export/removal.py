"""Language components in an artefact, so that its `encode.py` removes those of the language that it is told."""

import numpy as np

from ..errors import InputError
from ..evaluation.bias.removal import LanguageRemoval
from .encode import MODELS, REMOVAL


def read_removal(path, rank, form):
    """The `LanguageRemoval` for an artefact. Raises `InputError` where its format or rank can have none."""
    if form.format not in MODELS:
        raise InputError(
            f"--removal: encode.py removes, and the format {form.format} has none; "
            f"take {' or '.join(MODELS)}, or fold it in (distill lir fold)"
        )
    return LanguageRemoval.load(path).at(rank)


def write_removal(folder, removal):
    """Write the components, float32 `(languages, r, d)`, and return what the card says of them."""
    with open(folder / REMOVAL, "wb") as file:
        np.save(file, removal.stacked())
    return {"removal": {"languages": list(removal.languages), "rank": removal.rank, "encoder": removal.encoder}}
