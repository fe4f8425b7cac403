"""The space of two encoders: in one, the questions of one find what the other has encoded."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from ..errors import EncoderError
from ..system.types import Floats, Role
from .encoder import Encoder, unit_rows

# The least alignment of two encoders of one space. Of two spaces it is near 0.
SAME = 0.2
# Texts that two encoders are compared by where nothing else is at hand.
PROBES = (
    "Where does the Danube end?",
    "Who painted the ceiling of the chapel?",
    "How many bones does an adult have?",
    "Which company built the first electric car?",
    "When was the treaty signed?",
    "The cathedral was finished in the fourteenth century.",
    "Water boils at a lower temperature on a mountain.",
    "The parliament elects a president every five years.",
    "Bread is baked of flour, water and yeast.",
    "His second album sold a million copies.",
    "The virus spreads through contact and small drops.",
    "Reset the password in the settings of your account.",
    "The team lost the final after extra time.",
    "Whales feed their young with milk.",
    "Interest rates rose again last autumn.",
    "A telescope on the island found a new planet.",
)


def measure_alignment(a: Floats, b: Floats) -> float:
    """Return the mean cosine of two encoders' vectors of the same texts, each less the mean of all of them.

    What all vectors of an encoder have in common says nothing of its space: two narrow cones may lie anywhere. The
    vectors of a single text are compared as they are.

    Args:
        a, b: unit rows, `(n, d)`.
    """
    if len(a) > 1:
        a, b = (unit_rows(vectors - vectors.mean(axis=0)) for vectors in (a, b))
    return float(np.sum(a * b, axis=1).mean())


def require_space(
    encoder: Encoder, vectors: Floats, names: tuple[str, str], texts: Sequence[str] = PROBES, role: Role = "question"
) -> float:
    """Return the alignment of an encoder with another one's vectors of the same texts.

    Args:
        encoder: the one that is to ask.
        vectors: the other's, unit rows, `(n, d)`.
        names: what to call the two.
        texts: the n texts.
        role: that of the texts.

    Raises:
        EncoderError: where the dimensions differ, or the alignment is below `SAME`.
    """
    asking, made_by = names
    if encoder.dimension != vectors.shape[1]:
        raise EncoderError(
            f"{asking} has {encoder.dimension} dimensions and {made_by} {vectors.shape[1]}: two spaces; "
            "ask with an encoder of one space, such as a student of the same teacher"
        )
    alignment = measure_alignment(np.asarray(encoder.encode(texts, role)), vectors)
    # What is no number is not within.
    if not alignment >= SAME:
        raise EncoderError(
            f"{asking} and {made_by} have two spaces: their vectors of the same {len(texts)} texts have a mean "
            f"cosine of {alignment:.2f} without what all have in common, expected at least {SAME}; "
            "ask with an encoder of one space, such as a student of the same teacher"
        )
    return alignment
