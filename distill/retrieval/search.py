"""The documents or passages that are nearest to questions."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from ..system.types import Floats, Integers
from .blocks import Product
from .units import candidates_of


def first_of(unit: str, questions: Floats, vectors: Mapping[str, Floats], whole_of: Mapping[str, Integers]) -> Integers:
    """Return the document or passage of a unit that is nearest to each question `(q, d)`, int `(q,)`.

    `vectors` by kind of text and `whole_of` as in `units.candidates_of`; the first of equal ones.
    """
    candidates, every = candidates_of(unit, vectors, whole_of), slice(0, None)
    return candidates.scores(questions, every, Product()).argmax(axis=1).astype(np.int64)
