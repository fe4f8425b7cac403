"""The texts that are nearest to a question, by an encoder."""

from __future__ import annotations

from collections.abc import Sequence

from ..encoders.encoder import Encoder
from ..encoders.health import require_finite
from ..system.progress import task
from ..system.types import Floats, Integers
from .exact import top_k


def nearest_texts(encoder: Encoder, question: str, texts: Sequence[str], k: int) -> tuple[Integers, Floats]:
    """Rows `(k,)` of the texts nearest to the question, best first, and their cosines `(k,)`; fewer of fewer texts.

    Raises `EncoderError` for vectors that are no numbers.
    """
    with task("encode passages", len(texts)) as advance:
        documents = encoder.encode(texts, "document", advance)
    query = require_finite(encoder.encode([question], "question"), encoder)
    rows, scores = top_k(query, require_finite(documents, encoder), min(k, len(texts)))
    return rows[0], scores[0]
