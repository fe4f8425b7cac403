"""Limits of a server: of one request, of one batch, and of all that wait."""

from __future__ import annotations

from dataclasses import dataclass

from ...settings import choices

# Limits of one pass of the encoder. They are small, so that a text does not wait long behind others. Characters are
# counted in normalised texts, which hardly have fewer characters than tokens.
BATCH_TEXTS, BATCH_CHARACTERS = 64, 8192
# Seconds of a search's work at a time, before other searches have their turn.
LOT_SECONDS = 0.05
# The greatest number of fields of `where`.
MOST_FIELDS = 100
# The greatest number of passages for one question.
MOST_HITS = 1000
# The greatest number of passages for all questions of a request.
MOST_HITS_TOGETHER = 20_000
# The memory for bodies, as a multiple of the largest body.
BODIES = 16
# Seconds within which the head and the body of a request have to arrive, and its answer has to be taken.
HEAD_SECONDS, BODY_SECONDS, ANSWER_SECONDS = 10.0, 30.0, 60.0
# The greatest number of requests in the server at a time, including those that are still being read.
MOST_REQUESTS = 8192
# Seconds after which a refused client may try again.
AGAIN_SECONDS = 1


@dataclass(frozen=True)
class Limits:
    """The limits of a server.

    Args:
        texts: The greatest number of texts in a request.
        characters: The greatest number of characters of a text, once it is normalised.
        body: The greatest number of bytes of a body.
        waiting: The greatest number of texts of all requests that wait to be encoded.
        seconds: The time in which a request is answered once its body is read.
        pieces: The greatest number of tokens of a text.

    Example:
        >>> import distill
        >>> limits = distill.Limits(texts=16, seconds=5.0)
        >>> limits.texts, limits.pieces
        (16, 16384)
    """

    texts: int = choices.TEXTS
    characters: int = choices.CHARACTERS
    body: int = 8_000_000
    waiting: int = 20_000
    seconds: float = choices.SECONDS
    pieces: int = choices.PIECES
