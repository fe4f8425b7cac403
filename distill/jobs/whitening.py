"""Whiten the vectors of an encoder, so that they differ more evenly over the directions of its space."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from ..data.corpus import sample_texts
from ..encoders.encoder import Encoder, KerasEncoder
from ..encoders.health import require_finite
from ..system.progress import task
from ..system.types import Role

# The greatest number of texts per language, and of passages, that whitening is fitted on.
SAMPLED = 1000


def whiten_encoder(
    encoder: KerasEncoder,
    texts: Mapping[str, Sequence[str]],
    passages: Sequence[str],
    power: float,
    vectors_by: Encoder | None = None,
    seed: int = 0,
) -> KerasEncoder:
    """Copy an encoder and whiten its vectors, see `students.linear.compute_whitening`. The copy has another space.

    Args:
        texts: Texts by language that are like later questions. Texts that are also passages are left out.
        passages: Passages that are like those of later use.
        power: 0 leaves the vectors as they are, 0.5 gives each direction the same energy.
        vectors_by: A faster encoder with the same weights, such as their bundle; None for the encoder itself.

    Raises:
        EncoderError: If a vector of the encoder holds a value that is not a number.
    """
    from ..students.project import whiten

    vectors_by = vectors_by or encoder
    known = set(passages)
    others = ([text for text in lines if text not in known] for lines in texts.values())
    questions = [text for lines in others for text in sample_texts(lines, SAMPLED, seed)]
    of_roles: dict[Role, list[str]] = {"question": questions, "document": sample_texts(list(passages), SAMPLED, seed)}
    with task("vectors to whiten", sum(map(len, of_roles.values()))) as advance:
        vectors = np.concatenate([vectors_by.encode(lines, role, advance) for role, lines in of_roles.items() if lines])
    require_finite(vectors, encoder)
    return KerasEncoder(whiten(encoder.model, vectors, power), encoder.tokenizer, encoder.name)
