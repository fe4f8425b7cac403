"""Compare the spaces of two encoders: in a shared space, questions of one find documents of the other."""

from __future__ import annotations

import numpy as np

from ..errors import EncoderError
from ..system.types import Floats
from .encoder import Encoder, normalise_rows

# The least alignment of two encoders of one space. Of two spaces it is near 0.
SAME = 0.2
# Texts that two encoders are compared by.
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
    """Return the mean cosine of two encoders' vectors of the same texts, each less the mean over all texts.

    The mean is subtracted because it says nothing about the space: two narrow cones may lie anywhere. The vectors of a
    single text are compared as they are. `a` are unit vectors `(n, d)`. `b` are unit vectors `(n, d)`.
    """
    if len(a) > 1:
        a, b = (normalise_rows(vectors - vectors.mean(axis=0)) for vectors in (a, b))
    return float(np.sum(a * b, axis=1).mean())


def require_space(encoder: Encoder, vectors: Floats, names: tuple[str, str]) -> float:
    """Require that an encoder shares its space with another's unit vectors of `PROBES` as questions."""
    asking, made_by = names
    if encoder.dimension != vectors.shape[1]:
        raise EncoderError(
            f"{asking} has {encoder.dimension} dimensions and {made_by} {vectors.shape[1]}: two spaces; "
            "ask with an encoder of one space, such as a student of the same teacher"
        )
    alignment = measure_alignment(np.asarray(encoder.encode(PROBES, "question")), vectors)
    # What is no number is not within.
    if not alignment >= SAME:
        raise EncoderError(
            f"{asking} and {made_by} have two spaces: their vectors of the same {len(PROBES)} texts have a mean "
            f"cosine of {alignment:.2f} without what all have in common, expected at least {SAME}; "
            "ask with an encoder of one space, such as a student of the same teacher"
        )
    return alignment
