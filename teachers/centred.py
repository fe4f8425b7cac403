"""An encoder with what all texts of a role have in common taken off, and the folder that a fixed teacher leaves.

Some encoders' vectors lie in a narrow cone: what all share tells nothing of a text, and is what a student would learn
first. Mu and Viswanath (2018), All-but-the-top: simple and effective postprocessing for word representations, take the
mean off too.
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
from ..system.reading import Form, read_json, require_form
from ..system.types import File, Floats, Progress, Role

CARD, MEANS = "teacher.json", "means.npz"
ROLES: tuple[Role, ...] = ("question", "document")
# The keys that a card has to have, and of which type.
NEEDED: Form = {"source": str, "dimension": int, "fingerprint": str, "centred": bool}


class Card(TypedDict):
    """The contents of `teacher.json`: `source` loads the encoder, whose `fingerprint` it was."""

    source: str
    dimension: int
    fingerprint: str
    centred: bool


class CentredEncoder:
    """An `Encoder`'s vectors minus their role's mean, at unit length again. `means`: `{role: (d,)}`."""

    def __init__(self, encoder: Encoder, means: Mapping[Role, Floats]) -> None:
        self.encoder, self.dimension = encoder, encoder.dimension
        self.means = {role: np.asarray(means[role], dtype=np.float32) for role in ROLES}
        self.name = f"{encoder.name}, centred"

    @property
    def takes_context(self) -> bool:
        """True where the encoder takes one."""
        return takes_context(self.encoder)

    def encode(
        self,
        texts: Sequence[str],
        role: Role = "question",
        progress: Progress | None = None,
        contexts: Sequence[str] | None = None,
    ) -> Floats:
        """Return float32 `(n, dimension)` without the role's mean."""
        return normalise_rows(encode_texts(self.encoder, texts, role, progress, contexts) - self.means[role])


def centred(
    encoder: Encoder, questions: Sequence[str], documents: Sequence[str], progress: Progress | None = None
) -> CentredEncoder:
    """Return a `CentredEncoder` by the means of an encoder's vectors of these texts."""
    texts = dict(zip(ROLES, (questions, documents), strict=True))
    means = {role: encoder.encode(texts[role], role, progress).mean(axis=0, dtype=np.float64) for role in ROLES}
    return CentredEncoder(encoder, means)


def save_teacher(folder: File, encoder: Encoder, source: str, fingerprint: str) -> None:
    """Write the folder from which `loading.load_encoder` gives the same vectors: a card, and the means if centred.

    The encoder itself is not copied: `source` is what loads it, and `fingerprint` tells whether it is still the same.
    """
    means = getattr(encoder, "means", None)
    card = {"name": encoder.name, "source": source, "dimension": encoder.dimension, "fingerprint": fingerprint}
    with write_aside(folder) as aside:
        aside.mkdir()
        write_json(aside / CARD, {**card, "centred": means is not None, "distill": __version__})
        if means is not None:
            np.savez(aside / MEANS, **means)


def is_teacher(folder: File) -> bool:
    """Return True for a folder that `save_teacher` wrote."""
    return (Path(folder) / CARD).is_file()


def read_teacher(folder: File) -> tuple[Card, Mapping[Role, Floats] | None]:
    """Return `(card, means)` of what `save_teacher` wrote; means `{role: (d,)}`, None where it is not centred.

    Raises `DataError` for a broken card, `EncoderError` for broken means.
    """
    card: Card = read_json(Path(folder) / CARD)
    require_form(Path(folder) / CARD, card, NEEDED)
    return card, _read_means(Path(folder) / MEANS, card["dimension"]) if card["centred"] else None


def _read_means(path: Path, dimension: int) -> Mapping[Role, Floats]:
    try:
        stored = read_arrays(path, ROLES)
    except DataError as error:
        raise EncoderError(f"{error}; repeat the run that wrote it") from error
    if not all(mean.shape == (dimension,) and _finite(mean) for mean in stored.values()):
        raise EncoderError(f"{path}: expected means of {dimension} numbers; repeat the run that wrote them")
    return {role: np.asarray(stored[role], np.float32) for role in ROLES}


def _finite(mean):
    return mean.dtype.kind == "f" and bool(np.isfinite(mean).all())
