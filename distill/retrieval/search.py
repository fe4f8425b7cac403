"""The passages that are nearest to a question, by an encoder."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from ..encoders.encoder import Encoder
from ..encoders.health import require_finite
from ..system.progress import task
from ..system.types import Floats, Integers
from .blocks import Product, head
from .units import candidates_of


def first_of(unit: str, questions: Floats, vectors: Mapping[str, Floats], whole_of: Mapping[str, Integers]) -> Integers:
    """Return the document or passage of a unit that is nearest to each question `(q, d)`, int `(q,)`.

    `vectors` by kind of text and `whole_of` as in `units.candidates_of`; the first of equal ones.
    """
    candidates, every = candidates_of(unit, vectors, whole_of), slice(0, None)
    return candidates.scores(questions, every, Product()).argmax(axis=1).astype(np.int64)


def nearest(
    encoder: Encoder,
    question: str,
    texts: Mapping[str, Sequence[str]],
    whole_of: Mapping[str, Integers],
    unit: str,
    k: int,
) -> tuple[Integers, Floats]:
    """Rows `(k,)` of the candidates of a unit that are nearest to the question, best first, and their scores `(k,)`.

    `texts` by the kinds that the unit is scored by, `whole_of` as in `units.candidates_of`; fewer of fewer candidates.
    Raises `EncoderError` for vectors that are no numbers.
    """
    with task("encode passages", sum(map(len, texts.values()))) as advance:
        vectors = {
            kind: require_finite(encoder.encode(part, "document", advance), encoder) for kind, part in texts.items()
        }
    query = require_finite(encoder.encode([question], "question"), encoder)
    candidates = candidates_of(unit, vectors, whole_of)
    scores = candidates.scores(query, slice(0, len(candidates.vectors)), Product())[0]
    rows = head(scores, k)
    return rows, scores[rows]
