"""Whitening of an encoder: its vectors differ more evenly over the directions of its space, which is then another."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from ..data.corpus import sample_texts
from ..encoders.encoder import Encoder, KerasEncoder
from ..encoders.health import require_finite
from ..system.progress import task
from ..system.types import Role

# Texts of a language, and passages, whose vectors are looked at.
SAMPLED = 1000


def whiten_encoder(
    encoder: KerasEncoder,
    texts: Mapping[str, Sequence[str]],
    passages: Sequence[str],
    power: float,
    vectors_by: Encoder | None = None,
    seed: int = 0,
) -> KerasEncoder:
    """Return a copy of an encoder with whitened vectors, see `students.linear.compute_whitening`.

    Args:
        encoder: any of weights of ours.
        texts: by language, such as will be asked; those that are passages are left out.
        passages: such as will be searched.
        power: 0 leaves the vectors as they are, 0.5 gives each direction the same energy.
        vectors_by: gives the vectors of the same weights sooner, such as their bundle; None for the encoder itself.
        seed: of the texts that are looked at.

    Returns:
        The copy, with a projection into its new space.

    Raises:
        EncoderError: where the encoder gives vectors that are no numbers.
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
