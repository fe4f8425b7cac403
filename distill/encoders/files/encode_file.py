"""Encode a file of texts of any size to a file of vectors, block by block."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path
from typing import TypeAlias

from ...errors import EncoderError, InputError
from ...export.formats.bundle import Bundle
from ...export.languages import CARD_KEY
from ...system.progress import say, task
from ...system.types import File, Floats, Json, Progress, Role
from ..catalog.identity import fingerprint, own_files
from ..catalog.kinds import find_folder
from ..catalog.loading import load_encoder
from ..encoder import Encoder
from ..health import require_finite
from .text_file import TextFile, make_rereadable
from .vector_file import open_vector_file

# The share of `<unk>` among the pieces of some texts from which on it is said; of a language that is kept it is near 0.
MOST = 0.02


class LeftOut:
    """Watches the texts of a bundle that leaves out languages until some have too many unknown tokens."""

    def __init__(self, encoder: Encoder) -> None:
        card: dict[str, Json] = {**encoder.card} if isinstance(encoder, Bundle) else {}
        pieces = card.get(CARD_KEY, {})
        self.missing = [name for name in pieces.get("kept", ()) if name not in pieces["languages"]]
        self.bundle = encoder if isinstance(encoder, Bundle) and self.missing else None

    @property
    def is_looking(self) -> bool:
        """True if the encoder leaves out languages and no warning was given yet."""
        return self.bundle is not None

    def look(self, texts: Sequence[str], first: int = 0) -> None:
        """Check texts, and warn once."""
        if self.bundle is None:
            return
        unknown, rows = self.bundle.tokenizer.unk_id(), [self.bundle.tokenize(text, None) for text in texts]
        share = sum(row.count(unknown) for row in rows) / max(1, sum(len(row) - 2 for row in rows))
        if share > MOST:
            last = first + len(texts) - 1
            missing, name = ", ".join(self.missing), self.bundle.name
            say(f"{100 * share:.1f} % of the tokens of texts {first} to {last} are <unk>: {name} leaves out {missing}")
            self.bundle = None


# Encodes the blocks of a file that are given by their numbers, for one role, in any order.
Engine: TypeAlias = Callable[[TextFile, Sequence[int], Role], Iterator[tuple[int, Floats]]]


def encode_file(
    texts: TextFile | File,
    output: File,
    source: File,
    role: Role = "document",
    engine: Engine | None = None,
    restart: bool = False,
) -> tuple[int, int]:
    """Write the vectors of the texts in a JSON Lines file of any size, block by block.

    If a call was stopped, the same call continues it.

    Args:
        texts: The path of a file or a pipe of {"id", "text"} lines, or a `TextFile`.
        output: The `.npy` file to make: float32 `(n, d)`, of unit length, in the order of the lines.
        source: The encoder, by any name that `load_encoder` takes.
        role: "question" or "document".
        engine: A function such as that of `ray_engine`: `engine(texts, numbers, role)` yields the number of each block
            and its vectors, float32 `(rows, d)`, in any order. None encodes in this process. The vectors are the same
            either way.
        restart: If True, what a stopped call wrote is discarded.

    Returns:
        The shape `(n, d)` of the vectors.

    Raises:
        DataError: If a line is wrong. The message names it.
        EncoderError: If `source` names no encoder, or if vectors hold NaN or infinity.
        InputError: If `output` is a file that is read, or if another encoder has begun to write it.

    Example:
        >>> import distill, pathlib
        >>> _ = pathlib.Path("texts.jsonl").write_text('{"id": "1", "text": "Where does the Danube end?"}')
        >>> distill.encode_file("texts.jsonl", "texts.npy", "multi12-static", "question")
        (1, 512)
    """
    if not isinstance(texts, TextFile):
        with make_rereadable(texts) as path:
            return encode_file(TextFile(path), output, source, role, engine, restart)
    encoder = load_encoder(source)
    require_other_file(output, [texts.path, *(own_files(folder) if (folder := find_folder(source)) else ())])
    shape = (len(texts), encoder.dimension)
    made_of = {
        "input": texts.sha256,
        "model": fingerprint(source, encoder),
        "role": role,
        "texts": shape[0],
        "dimension": shape[1],
        "block": texts.block,
    }
    names = {"input": str(texts.path), "model": str(source)}
    whole = open_vector_file(output, shape, texts.block, made_of, names, restart)
    with whole as file, task("encode", shape[0]) as advance:
        advance(file.written)
        _encode(file, texts, role, encoder, engine, advance)
    return shape


def require_other_file(output: File, read: Iterable[Path]) -> None:
    """Refuse to write vectors over a file that is read."""
    if os.path.exists(output) and any(os.path.samefile(output, path) for path in read if os.path.exists(path)):
        raise InputError(f"{output} is read to make the vectors, and would be replaced; choose another name for them")


def _encode(file, texts, role, encoder, engine, advance):
    left_out = LeftOut(encoder)
    for number, vectors in _blocks(texts, file.missing, role, encoder, engine, advance):
        # What is written counts as done: never a block of texts that have changed since they were hashed.
        texts.require_unchanged()
        file.write(number, vectors)
        if left_out.is_looking:
            left_out.look(texts.read(number), number * texts.block)


def _blocks(texts, numbers, role, encoder, engine, advance):
    if not engine:
        for number in numbers:
            yield number, encode_block(encoder, texts, number, role, advance)
        return
    for number, vectors in engine(texts, numbers, role):
        yield number, vectors
        advance(len(vectors))


def encode_block(
    encoder: Encoder, texts: TextFile, number: int, role: Role, progress: Progress | None = None
) -> Floats:
    """Encode a block of texts, float32 `(rows, d)`; `EncoderError` if a vector is not finite."""
    block = texts.read(number)
    try:
        return require_finite(encoder.encode(block, role, progress), encoder)
    except EncoderError as error:
        if texts.blocks == 1:
            raise
        first = number * texts.block
        raise EncoderError(f"of texts {first} to {first + len(block) - 1}: {error}") from error
