"""A file of texts to a file of vectors, of any size: block by block, each an encoder's call of its own."""

import os

from ..catalog.identity import fingerprint, own_files
from ..catalog.kinds import folder_of
from ..catalog.loading import load_encoder
from ..encoders.health import require_finite
from ..errors import EncoderError, InputError
from ..system.progress import task
from .vector_file import vector_file


def encode_file(texts, output, source, role, engine=None, restart=False):
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


def require_other(output, read):
    """Raise `InputError` where the vectors would be written in the place of one of the files that are read."""
    if os.path.exists(output) and any(os.path.samefile(output, path) for path in read if os.path.exists(path)):
        raise InputError(f"{output} is read to make the vectors, and would be replaced; choose another name for them")


def _encode(file, texts, role, encoder, engine, advance):
    for number, vectors in _blocks(texts, file.missing, role, encoder, engine, advance):
        # What is written counts as done: never a block of texts that have changed since they were hashed.
        texts.require_unchanged()
        file.write(number, vectors)


def _blocks(texts, numbers, role, encoder, engine, advance):
    if not engine:
        for number in numbers:
            yield number, encode_block(encoder, texts, number, role, advance)
        return
    for number, vectors in engine(texts, numbers, role):
        yield number, vectors
        advance(len(vectors))


def encode_block(encoder, texts, number, role, progress=None):
    """float32 `(rows, d)` of a block of a `TextFile`. Raises `EncoderError`."""
    block = texts.read(number)
    try:
        return require_finite(encoder.encode(block, role, progress), encoder)
    except EncoderError as error:
        if texts.blocks == 1:
            raise
        first = number * texts.block
        raise EncoderError(f"of texts {first} to {first + len(block) - 1}: {error}") from error
