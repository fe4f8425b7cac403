"""A file of texts to a file of vectors, of any size: block by block, each an encoder's call of its own."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path
from typing import TypeAlias

from ..catalog.identity import fingerprint, own_files
from ..catalog.kinds import folder_of
from ..catalog.loading import load_encoder
from ..encoders.encoder import Encoder
from ..encoders.health import require_finite
from ..errors import EncoderError, InputError
from ..system.progress import task
from ..system.types import File, Floats, Progress, Role
from .left_out import LeftOut
from .text_file import TextFile
from .vector_file import vector_file

# Encodes the blocks of a file that are given by their numbers, for one role, in any order.
Engine: TypeAlias = Callable[[TextFile, Sequence[int], Role], Iterator[tuple[int, Floats]]]


def encode_file(
    texts: TextFile, output: File, source: File, role: Role, engine: Engine | None = None, restart: bool = False
) -> tuple[int, int]:
    """Write the vectors of a `TextFile` by the encoder that `source` names to `output`; returns their shape.

    `engine(texts, numbers, role)` yields blocks, (number, float32 (rows, d)), in any order; without it this process
    encodes them. The vectors are the same, since the blocks are. Raises `EncoderError`, and what `VectorFile` raises.
    """
    encoder = load_encoder(source)
    require_other(output, [texts.path, *(own_files(folder) if (folder := folder_of(source)) else ())])
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
    whole = vector_file(output, shape, texts.block, made_of, names, restart)
    with whole as file, task("encode", shape[0]) as advance:
        advance(file.written)
        _encode(file, texts, role, encoder, engine, advance)
    return shape


def require_other(output: File, read: Iterable[Path]) -> None:
    """Raise `InputError` where the vectors would be written in the place of one of the files that are read."""
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
    """Return float32 `(rows, d)` of a block of a `TextFile`. Raises `EncoderError`."""
    block = texts.read(number)
    try:
        return require_finite(encoder.encode(block, role, progress), encoder)
    except EncoderError as error:
        if texts.blocks == 1:
            raise
        first = number * texts.block
        raise EncoderError(f"of texts {first} to {first + len(block) - 1}: {error}") from error
