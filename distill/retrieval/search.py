"""Search for the documents or passages that are nearest to questions."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from ..system.types import Floats, Integers
from .blocks import Product
from .units import candidates_of


def nearest_units(
    unit: str, questions: Floats, vectors: Mapping[str, Floats], whole_of: Mapping[str, Integers]
) -> Integers:
    """Return the document or passage that is nearest to each question; the first of equal ones.

    Args:
        unit: Name of the unit.
        questions: Float array `(q, d)`.
        vectors: `{kind of text: vectors}`, float arrays `(n, d)`.
        whole_of: `{"passage": document of each passage, "sentence": passage of each sentence}`.

    Returns:
        Integer array `(q,)`.
    """
    candidates, every = candidates_of(unit, vectors, whole_of), slice(0, None)
    return candidates.scores(questions, every, Product()).argmax(axis=1).astype(np.int64)
