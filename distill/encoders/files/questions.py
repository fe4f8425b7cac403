"""The limits of questions of others, the same wherever they are asked, and the vector of a question.

`distill serve`, `distill mcp`, the extension of SQLite and the page refuse a longer text in the same words. One's own
questions have no limit, and neither have texts that are encoded, and documents.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor

import numpy as np

from ...errors import InputError
from ...export.formats.bundle import Bundle
from ...settings.choices import CHARACTERS
from ...system.text import drop_soft_hyphens, normalized_length
from ...system.types import Floats, Integers, Role
from ..encoder import Encoder, KerasEncoder
from ..health import require_finite

# From this number of tokens on, a text is encoded in a thread of its own, whose memory is released.
LONG_PIECES = 1024
# A character is at most so many tokens, the bytes of UTF-8.
BYTES = 4


def length_problem(text: str, most: int = CHARACTERS) -> str:
    """Return what is wrong with the length of a question, once it is normalised, or an empty text."""
    length = normalized_length(text)
    what = "characters" if length == len(text) else "characters once it is normalised"
    return f"{length} {what}; a text has {most} at most" if length > most else ""


def pieces_problem(pieces: int, most: int) -> str:
    """Return what is wrong with a question of so many tokens, or an empty text."""
    return f"{pieces} pieces; a text has {most} at most" if pieces > most else ""


def size_problem(what: str, most: int) -> str:
    """Return what is wrong with a message that is too large, whatever it holds."""
    return f"{what} is larger than {most} bytes, which are taken at most"


def busy_problem(what: str) -> str:
    """Return the sentence for a question that has to be asked once more."""
    return f"the server is busy: {what}; try again"


def late_problem(seconds: float) -> str:
    """Return the sentence for a question that is not answered in time."""
    return busy_problem(f"no answer within {seconds:g} s")


def require_words(question: str) -> None:
    """Raise `InputError` for a question that is empty, or no text."""
    if not isinstance(question, str):
        raise InputError(f"expected a question, got {type(question).__name__}; give a text")
    if not drop_soft_hyphens(question).strip():
        raise InputError("the question is empty; give a text")


def require_question(question: str) -> None:
    """Raise `InputError` for a question of another that is empty or too long."""
    require_words(question)
    if problem := length_problem(question):
        raise InputError(f"question: {problem}")


def encode_question(encoder: Encoder, question: str, most: int | None = None) -> Floats:
    """Encode a question that is not empty, of at most `most` tokens, to its unit vector.

    An encoder with a limit cuts the text itself. Raises `InputError` if the question has too many tokens.
    """

    def encode(texts: Sequence[str], role: Role) -> Floats:
        return require_finite(encoder.encode(texts, role), encoder)

    question = drop_soft_hyphens(question)
    # The tokens of a short text are not counted.
    if normalized_length(question) * BYTES < LONG_PIECES:
        return encode([question], "question")[0]
    pieces = count_pieces(encoder, [question], "question")
    if most is not None and (problem := pieces_problem(int(pieces[0]), most)):
        raise InputError(f"question: {problem}")
    return encode_apart(encode, [question], "question", pieces)[0]


def encode_apart(
    encode: Callable[[Sequence[str], Role], Floats], texts: Sequence[str], role: Role, pieces: Integers
) -> Floats:
    """Encode texts, long ones in a thread that ends with it, which frees the memory that a runtime keeps for them."""
    if pieces.max() < LONG_PIECES:
        return encode(texts, role)
    with ThreadPoolExecutor(1, "long") as alone:
        return alone.submit(encode, texts, role).result()


def count_pieces(encoder: Encoder, texts: Sequence[str], role: Role) -> Integers:
    """Count the tokens of texts, or the words where an encoder does not show its tokens."""
    one = getattr(encoder, role, encoder)
    return np.array([_count(one, text, role) for text in texts], dtype=np.int64)


def _count(encoder, text, role):
    if isinstance(encoder, KerasEncoder):
        return len(encoder.tokenizer.encode([text], role)[0])
    if isinstance(encoder, Bundle):
        return len(encoder.tokenize(text, role))
    return len(getattr(encoder, "tokenize", str.split)(text))
