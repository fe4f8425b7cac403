"""A file of texts to a file of vectors, of any size: block by block, each an encoder's call of its own."""

from .errors import EncoderError
from .loading import fingerprint, load_encoder
from .progress import task
from .vector_file import vector_file


def encode_file(texts, output, source, role, engine=None, restart=False):
    """Write the vectors of a `TextFile` by the encoder that `source` names to `output`; returns their shape.

    `engine(texts, numbers, role)` yields blocks, (number, float32 (rows, d)), in any order; without it this process
    encodes them. The vectors are the same, since the blocks are. Raises `EncoderError`, and what `VectorFile` raises.
    """
    encoder = load_encoder(source)
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
    with vector_file(output, shape, texts.block, made_of, names, restart) as file:
        with task("encode", shape[0]) as advance:
            advance(file.written)
            _encode(file, texts, role, encoder, engine, advance)
        texts.require_unchanged()
    return shape


def _encode(file, texts, role, encoder, engine, advance):
    if not engine:
        for number in file.missing:
            file.write(number, encode_block(encoder, texts, number, role, advance))
        return
    for number, vectors in engine(texts, file.missing, role):
        file.write(number, vectors)
        advance(len(vectors))


def encode_block(encoder, texts, number, role, progress=None):
    """float32 `(rows, d)` of a block of a `TextFile`. Raises `EncoderError`."""
    block = texts.read(number)
    try:
        return encoder.encode(block, role, progress)
    except EncoderError as error:
        if texts.blocks == 1:
            raise
        first = number * texts.block
        raise EncoderError(f"of texts {first} to {first + len(block) - 1}: {error}") from error
