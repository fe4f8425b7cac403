"""The encoder of a bundle as one file of sections, `encoder.bin`: see docs/formats.md.

Rows, kernels and scales are those of the bundle's flatbuffer, bit for bit.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from ...encoders.tokenizer import Tokenizer
from ...errors import ExportError
from ...settings.choices import PASSAGE_SCORES
from ...system.hashes import joint
from ...system.types import Floats, Json
from ..encode import ANSWERABLE
from ..families.registry import family_part, owner
from ..tflite.graph import Graph, Product
from ..tflite.parts import parts_of
from ..tflite.weights import table_in
from ..weights.codecs import MIXED
from ..weights.kernels import LEVELS_OF_4
from .tokenizer_sections import tokenizer_sections

# What a code of 4 bits has more than its number.
ZERO_OF_4 = 8
# Of the list `settings`, and its length.
VERSION, SETTINGS = 1, 16
# The numbers in `settings` of the codecs that a program in C decodes. A table of two parts says itself where they meet.
TABLES = {"float32": 0, "uint8": 1, "int4": 2, **dict.fromkeys(MIXED, 3)}
# Where the numbers of a family begin in `settings`.
FAMILY = 8
# The end of the name of a kernel in 4 bits, and of the tables of places in 8.
PACKED, CODES, SCALES = "packed", "codes", "scales"
# The columns of the section `answerable`, whose rows are the `PASSAGE_SCORES`: these numbers, then so many of `at` and
# of `probability`.
CALIBRATED, POINTS = ("best", "margin", "usual", "threshold", "precision"), 12
Sections = dict[str, np.ndarray]


@dataclass(frozen=True)
class Settings:
    """The list `settings` of a file: see docs/formats.md.

    `family` says what its layers are, and what its `numbers` are; `max_length` is None for texts of any length.
    """

    family: str
    dimension: int
    width: int
    vocabulary: int
    max_length: int | None
    rounded: bool
    table: str
    numbers: tuple[int, ...]

    def as_array(self) -> np.ndarray:
        """The settings as they stand in the file. Raises `ExportError` where it has no room for them."""
        if len(self.numbers) > SETTINGS - FAMILY:
            raise ExportError(
                f"the format c takes {SETTINGS - FAMILY - 2} branches, the student has {len(self.numbers) - 2}"
            )
        part = family_part(self.family, "plain", "an encoder in C or Java")
        numbers = [VERSION, part.NUMBER, self.dimension, self.width, self.vocabulary]
        numbers += [self.max_length or 0, int(self.rounded), TABLES[self.table]]
        numbers += self.numbers
        return np.array(numbers + [0] * (SETTINGS - len(numbers)), dtype=np.int32)

    @classmethod
    def from_array(cls, numbers: np.ndarray) -> Settings:
        """The settings that stand in a file."""
        _, number, dimension, width, vocabulary, most, rounded, table, *rest = numbers.tolist()
        part = owner("plain", lambda family: number == family.NUMBER)
        codec = next(codec for codec, one in TABLES.items() if one == table)
        return cls(part.FAMILY, dimension, width, vocabulary, most or None, bool(rounded), codec, tuple(rest))


def require_table(table: str) -> None:
    """Raise `ExportError` for a table in a format that a program in C does not decode."""
    if table not in TABLES:
        raise ExportError(f"--table: the format c takes {', '.join(TABLES)}, not {table}; export with one of these")


def encoder_sections(content: bytes, tokenizer: Tokenizer, name: str, table: str, max_length: int | None) -> Sections:
    """Return the sections of a bundle's encoder, of the `content` of its flatbuffer with a table in the format `table`.

    Raises `ExportError` for a graph, a table or a tokenizer that a program in C does not take.
    """
    require_table(table)
    graph = Graph(content)
    parts = parts_of(graph)
    last, plain = parts.products[parts.last], family_part(parts.family, "plain", "an encoder in C or Java")
    rounded = any(product.stored.dtype == np.int8 for product in parts.products.values())
    most, numbers = find_shortest(max_length, tokenizer.reading.longest), tuple(plain.numbers_of(parts))
    settings = Settings(
        parts.family, last.outputs, parts.width, len(tokenizer), most, rounded, table, numbers
    ).as_array()
    arrays = table_in(content, len(tokenizer), table)
    return {
        "settings": settings,
        "name": _text(name),
        "fingerprint": _text(fingerprint(content, tokenizer)),
        **tokenizer_sections(tokenizer),
        **{f"table.{place}": array for place, array in enumerate(arrays)},
        **layer_sections(parts.products),
        **plain.sections_of(graph, parts),
    }


def answerable_sections(said: Mapping[str, Json]) -> Sections:
    """Return the section of what a card says of answers, float32 `(3, 29)`; a score that is not in it has zeros.

    Raises `ExportError` where it has more points than the section.
    """
    rows = np.zeros((len(PASSAGE_SCORES), len(CALIBRATED) + 2 * POINTS), dtype=np.float32)
    for name, fields in said["scores"].items():
        lines = [_filled(fields[line]) for line in ("at", "probability")]
        rows[PASSAGE_SCORES.index(name)] = np.concatenate([[fields[field] for field in CALIBRATED], *lines])
    return {ANSWERABLE: rows}


def _filled(line: list[float]) -> Floats:
    """The numbers of a line, the last one as often again as there is room."""
    if not 0 < len(line) <= POINTS:
        raise ExportError(f"the format c takes 1 to {POINTS} points of probability, the card has {len(line)}")
    return np.array([*line, *line[-1:] * (POINTS - len(line))], dtype=np.float32)


def layer_sections(products: Mapping[str, Product]) -> Sections:
    """The sections of dense layers: y = act(x V^T + b) s, with V `(out, in)`; b and s only where there are any."""
    sections = {}
    for name, product in products.items():
        scales = np.ones(product.outputs, np.float32) if product.scales is None else product.scales.reshape(-1)
        # The names of a transformer's layers are longer than those of a section.
        name = name.removeprefix("block_")
        sections |= _kernel_section(name, product.stored)
        if product.stored.dtype == np.int8 or product.scales is not None:
            sections[f"{name}.scales"] = scales * np.float32(product.step)
        if product.added is not None:
            sections[f"{name}.bias"] = product.added / np.float32(product.step)
    return sections


def _kernel_section(name, stored):
    if stored.dtype != np.int8 or stored.shape[1] % 2 or np.abs(stored).max(initial=0) > LEVELS_OF_4:
        return {f"{name}.kernel": stored}
    low, high = np.split((stored + ZERO_OF_4).astype(np.uint8), 2, axis=1)
    return {f"{name}.{PACKED}": low | high << 4}


def unpack(packed: np.ndarray) -> np.ndarray:
    """Return the int8 kernel `(out, in)` of one in 4 bits, uint8 `(out, in / 2)`."""
    return np.concatenate([packed & 15, packed >> 4], axis=1).astype(np.int8) - np.int8(ZERO_OF_4)


def find_shortest(*lengths: int | None) -> int | None:
    """Return the least number of tokens that is not None, None where all are."""
    return min((length for length in lengths if length), default=None)


def fingerprint(content: bytes, tokenizer: Tokenizer) -> str:
    """The identity of the encoder of a flatbuffer and a tokenizer, that of its bundle: 64 hexadecimal digits."""
    spellings = () if tokenizer.spellings is None else (tokenizer.spellings,)
    parts = (content, tokenizer.proto, *spellings, *filter(None, [tokenizer.reading.content()]))
    return joint(hashlib.sha256(part).hexdigest() for part in parts)


def _text(text: str) -> np.ndarray:
    return np.frombuffer(text.encode(), dtype=np.uint8)
