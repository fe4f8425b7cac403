"""Score passages of a compact index again by their text, which takes their encoder a moment."""

from __future__ import annotations

import numpy as np

from ...encoders.encoder import Encoder
from ...encoders.health import require_finite
from ...system.text import drop_soft_hyphens
from ...system.types import Floats, Integers
from .index_file import Index


class Rescorer:
    """Scores passages as if they were stored in float32, by the encoder of the index."""

    def __init__(self, index: Index, encoder: Encoder, score: str) -> None:
        self.index, self.encoder, self.score = index, encoder, score

    def __call__(self, question: Floats, rows: Integers) -> tuple[Floats, Integers]:
        """Return scores of passages, float32, and the number of each one's best sentence, -1 without sentences."""
        passages = [self.index.text(row) for row in rows.tolist()]
        wholes, best = np.zeros(len(rows), dtype=np.float32), np.zeros(len(rows), dtype=np.float32)
        numbers = np.full(len(rows), -1)
        if self.score != "sentence":
            wholes = self._products(question, passages)
        if self.index.has_sentences:
            best, numbers = self._best_sentences(question, passages, rows)
        return (wholes if self.score == "vector" else wholes + best), numbers

    def _best_sentences(self, question, passages, rows):
        bounds = [self.index.bounds(row).tolist() for row in rows.tolist()]
        products = self._products(
            question, [text[a:b] for text, pairs in zip(passages, bounds, strict=True) for a, b in pairs]
        )
        parts = np.split(products, np.cumsum([len(pairs) for pairs in bounds])[:-1]) if len(rows) else []
        numbers = np.array([part.argmax() for part in parts], dtype=np.int64)
        return np.array([part.max() for part in parts], dtype=np.float32), numbers

    def _products(self, question: Floats, texts: list[bytes]) -> Floats:
        decoded = [drop_soft_hyphens(text.decode("utf-8", "replace")) for text in texts]
        return require_finite(self.encoder.encode(decoded, "document"), self.encoder) @ question
