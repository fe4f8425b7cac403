"""Compare an encoder of fewer tokens with the encoder that it was cut from, as a question and as a document."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

import numpy as np

from ...encoders.tokenizer import Tokenizer, model_proto
from ...errors import EncoderError
from ...system.types import Floats, Role

ROLES: tuple[Role, ...] = ("question", "document")
# The least cosine to the encoder before of a text that loses no token, and the number of texts that are compared.
LEAST, MOST_TEXTS = 0.999, 32


class TokenEncoder(Protocol):
    """An encoder with its tokenizer."""

    @property
    def tokenizer(self) -> Tokenizer: ...

    def encode(self, texts: Sequence[str], role: Role = "question") -> Floats: ...


def require_kept_vectors(whole: TokenEncoder, cut: TokenEncoder, texts: Sequence[str]) -> dict[Role, float]:
    """Require that texts that lose no token keep their vectors, prompts and all.

    Args:
        texts: The texts, of which some are compared, evenly spread.

    Returns:
        The least cosine between both encoders by role, over all the compared texts.

    Raises:
        EncoderError: If a text that loses no token has another vector.
    """
    some, least = list(texts)[:: max(1, -(-len(texts) // MOST_TEXTS))], {}
    alike = np.array([one == other for one, other in zip(*(_cut(each, some) for each in (whole, cut)), strict=True)])
    for role in ROLES:
        cosines = np.sum(whole.encode(some, role) * cut.encode(some, role), axis=1)
        for place in np.flatnonzero(alike & ~(cosines >= LEAST)):
            raise EncoderError(
                f"{some[place]!r} loses no token, but its vector as a {role} has cosine {cosines[place]:.4f} to that "
                f"of the encoder before, expected {LEAST}; keep all tokens, and report this"
            )
        least[role] = float(min(cosines, default=1.0))
    return least


def _cut(encoder, texts):
    """Return the tokens of each text alone, as strings."""
    pieces = [piece.piece for piece in model_proto(encoder.tokenizer).pieces]
    return [[pieces[id] for id in row] for row in encoder.tokenizer.encode(texts, None)]
