"""How much a server takes: of one request, of one batch, and of all that wait."""

from __future__ import annotations

from dataclasses import dataclass

# Of one pass of the encoder: small, so that a text does not wait long behind others. Characters are those of normalised
# texts, which have hardly fewer of them than pieces.
BATCH_TEXTS, BATCH_CHARACTERS = 64, 8192
# Pieces of a text from which on its encoding takes memory that is given back.
LONG_PIECES = 1024
# Seconds of a search's work at once, behind which others have their turn.
LOT_SECONDS = 0.05
# Fields of `where`.
MOST_FIELDS = 100
# Passages of one question.
MOST_HITS = 1000
# Those of all questions of a request.
MOST_HITS_TOGETHER = 20_000
# Bodies that are held at a time, in the largest that one may be.
BODIES = 16
# Seconds in which a request's head and its body have to be there, and its answer to be taken.
HEAD_SECONDS, BODY_SECONDS, ANSWER_SECONDS = 10.0, 30.0, 60.0
# Requests that are in the server at a time, those that are still being read among them.
MOST_REQUESTS = 8192
# Seconds after which a client that was sent away may try again.
AGAIN_SECONDS = 1


@dataclass(frozen=True)
class Limits:
    """The most `texts` of a request, `characters` of a text, bytes of a `body`, texts that are `waiting` together.

    Characters are those of the normalised text. `seconds` are what a request may take once it is read; `pieces` are
    those of a text as the encoder cuts it.
    """

    texts: int = 2048
    characters: int = 20_000
    body: int = 8_000_000
    waiting: int = 20_000
    seconds: float = 30.0
    pieces: int = 16_384
