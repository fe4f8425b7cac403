"""Centre an encoder's vectors by the mean of each role, and save and read the folder of a fixed teacher.

The vectors of some encoders lie in a narrow cone. What all of them share says nothing about a text, but a student would
learn it first. Mu and Viswanath (2018), All-but-the-top: simple and effective postprocessing for word representations,
subtract the mean too.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TypedDict

import numpy as np

from .. import __version__
from ..encoders.encoder import Encoder, encode_texts, normalise_rows, takes_context
from ..errors import DataError, EncoderError
from ..system.arrays import read_arrays
from ..system.files import write_aside, write_json
from ..system.input_files import Form, read_json, require_form
from ..system.types import File, Floats, Progress, Role

CARD, MEANS = "teacher.json", "means.npz"
ROLES: tuple[Role, ...] = ("question", "document")
# The keys that a card must have, and their types.
CARD_FORM: Form = {"source": str, "dimension": int, "fingerprint": str, "centred": bool}


class Card(TypedDict):
    """The contents of `teacher.json`: the `source` that loads the encoder, and its `fingerprint` when it was saved."""

    source: str
    dimension: int
    fingerprint: str
    centred: bool


class CentredEncoder:
    """An encoder whose vectors, less the mean of their role, are scaled to unit length again."""

    def __init__(self, encoder: Encoder, means: Mapping[Role, Floats]) -> None:
        self.encoder, self.dimension = encoder, encoder.dimension
        self.means = {role: np.asarray(means[role], dtype=np.float32) for role in ROLES}
        self.name = f"{encoder.name}, centred"

    @property
    def takes_context(self) -> bool:
        return takes_context(self.encoder)

    def encode(
        self,
        texts: Sequence[str],
        role: Role = "question",
        progress: Progress | None = None,
        contexts: Sequence[str] | None = None,
    ) -> Floats:
        """Encode texts, with the mean of the role subtracted, to unit vectors, float32 `(n, dimension)`."""
        return normalise_rows(encode_texts(self.encoder, texts, role, progress, contexts) - self.means[role])


def centre_encoder(
    encoder: Encoder, questions: Sequence[str], documents: Sequence[str], progress: Progress | None = None
) -> CentredEncoder:
    """Centre an encoder by the means of its vectors of some texts."""
    texts = dict(zip(ROLES, (questions, documents), strict=True))
    means = {role: encoder.encode(texts[role], role, progress).mean(axis=0, dtype=np.float64) for role in ROLES}
    return CentredEncoder(encoder, means)


def save_teacher(folder: File, encoder: Encoder, source: str, fingerprint: str) -> None:
    """Write the folder from which `loading.load_encoder` gives the same vectors.

    It contains a card, and the means of a centred encoder. The encoder itself is not copied.
    """
    means = getattr(encoder, "means", None)
    card = {"name": encoder.name, "source": source, "dimension": encoder.dimension, "fingerprint": fingerprint}
    with write_aside(folder) as aside:
        aside.mkdir()
        write_json(aside / CARD, {**card, "centred": means is not None, "distill": __version__})
        if means is not None:
            np.savez(aside / MEANS, **means)


def is_teacher(folder: File) -> bool:
    """Check whether a folder was written by `save_teacher`."""
    return (Path(folder) / CARD).is_file()


def read_teacher(folder: File) -> tuple[Card, Mapping[Role, Floats] | None]:
    """Read the card, and the means of a centred encoder by role, from a folder of `save_teacher`."""
    card: Card = read_json(Path(folder) / CARD)
    require_form(Path(folder) / CARD, card, CARD_FORM)
    return card, _read_means(Path(folder) / MEANS, card["dimension"]) if card["centred"] else None


def _read_means(path: Path, dimension: int) -> Mapping[Role, Floats]:
    try:
        stored = read_arrays(path, ROLES)
    except DataError as error:
        raise EncoderError(f"{error}; repeat the run that wrote it") from error
    if not all(mean.shape == (dimension,) and _is_finite(mean) for mean in stored.values()):
        raise EncoderError(f"{path}: expected means of {dimension} numbers; repeat the run that wrote them")
    return {role: np.asarray(stored[role], np.float32) for role in ROLES}


def _is_finite(mean):
    return mean.dtype.kind == "f" and bool(np.isfinite(mean).all())
