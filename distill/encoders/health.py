"""Detect a collapsed encoder, whose vectors are nearly equal whatever the text, and compare the spaces of two.

In a shared space, questions of one encoder find documents of the other.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from ..errors import EncoderError, TrainingError
from ..system.types import Floats, Integers
from .encoder import Encoder, normalise_rows

if TYPE_CHECKING:
    from .encoder import Encoder

# Above it two questions are less than 8 degrees apart on average: what tells texts apart is then no larger than what 8
# bits round off. Healthy encoders stay well below: mUSE has 0.2, E5, which lies in a narrow cone, about 0.8, and an
# untrained network about 0.9.
LIMIT = 0.99
# Of fewer questions a mean says little: they may well be alike.
LEAST = 8
TRY = "try a lower learning rate, a larger margin or temperature, or other hard negatives"
KEY = "collapsed"


def mean_cosine(vectors: Floats, ids: Sequence[str] | Integers) -> float | None:
    """Compute the mean cosine of two vectors with different ids.

    Vectors of one id, such as a question in several languages, should be similar and are not compared. Equal vectors
    count as 1, even zeros. The sum over all pairs of a · b is |sum|², so this takes O(n d). `vectors` are unit vectors
    `(n, d)`. `ids` are their ids `(n,)`. Returns the mean, or None for fewer than `LEAST` ids.
    """
    _, group, counts = np.unique(ids, return_inverse=True, return_counts=True)
    if len(counts) < LEAST:
        return None
    exact = np.asarray(vectors, dtype=np.float64)
    sums = np.zeros((len(counts), exact.shape[1]))
    np.add.at(sums, group, exact)
    size = len(exact)
    pairs = size**2 - np.sum(counts**2)
    products = np.sum(sums.sum(axis=0) ** 2) - np.sum(sums**2)
    squares = 2 * np.sum(np.sum(exact**2, axis=1) * (size - counts[group]))
    # |a - b|² = 2 - 2 a · b
    return float(1 - (squares - 2 * products) / pairs / 2)


def find_collapse(vectors: Floats, ids: Sequence[str], texts: Sequence[str]) -> float | None:
    """Return the mean cosine, above `LIMIT`, of an encoder that has collapsed, else None; each text counts once."""
    first = {" ".join(text.casefold().split()): row for row, text in reversed([*enumerate(texts)])}
    rows = sorted(first.values())
    cosine = mean_cosine(vectors[rows], [ids[row] for row in rows])
    return round(cosine, 6) if cosine is not None and cosine > LIMIT else None


def collapse_warning(name: str, cosine: float) -> str:
    """Write the warning about a collapsed encoder."""
    return (
        f"WARNING: {name} has collapsed: its vectors of two questions have a mean cosine of {cosine:.4f}, "
        f"so it hardly tells texts apart"
    )


def require_finite(vectors: Floats, encoder: Encoder) -> Floats:
    """Raise `EncoderError` if vectors are not finite numbers, or return them."""
    broken = np.flatnonzero(~np.isfinite(vectors).all(axis=1))
    if len(broken):
        raise EncoderError(
            f"{encoder.name}: {len(broken)} of {len(vectors)} vectors are not finite numbers, the first of text "
            f"{broken[0]}; the encoder is broken, train or export it again"
        )
    return vectors


def _finite(vectors, what):
    broken = np.flatnonzero(~np.isfinite(vectors).all(axis=1))
    if len(broken):
        raise TrainingError(
            f"dev: {len(broken)} of {len(vectors)} vectors of {what} are not finite numbers: its weights are broken; "
            "try a lower learning rate, and float32 where precision is mixed"
        )
    return vectors


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
