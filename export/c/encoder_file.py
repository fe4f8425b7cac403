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
from .tokenizer_sections import tokenizer_sections

# Of the list `settings`, and its length.
VERSION, SETTINGS = 1, 16
# The numbers in `settings` of the codecs that a program in C decodes. A table of two parts says itself where they meet.
TABLES = {"float32": 0, "uint8": 1, "int4": 2, **dict.fromkeys(MIXED, 3)}
# Where the orders of the branches begin in `settings`.
ORDERS = 10
# The columns of the section `answerable`, whose rows are the `PASSAGE_SCORES`: these numbers, then so many of `at` and
# of `probability`.
CALIBRATED, POINTS = ("best", "margin", "usual", "threshold", "precision"), 12
Sections = dict[str, np.ndarray]


@dataclass(frozen=True)
class Settings:
    """The list `settings` of a file: see docs/formats.md.

    `family` says what its layers are; `orders` are the tokens of its windows; `max_length` is None for texts of any
    length.
    """

    family: str
    dimension: int
    width: int
    vocabulary: int
    max_length: int | None
    rounded: bool
    table: str
    orders: tuple[int, ...]

    def as_array(self) -> np.ndarray:
        """The settings as they stand in the file. Raises `ExportError` where it has no room for them."""
        if len(self.orders) > SETTINGS - ORDERS:
            raise ExportError(f"the format c takes {SETTINGS - ORDERS} branches, the student has {len(self.orders)}")
        part = family_part(self.family, "plain", "an encoder in C or Java")
        numbers = [VERSION, part.NUMBER, self.dimension, self.width, self.vocabulary]
        numbers += [self.max_length or 0, int(self.rounded), TABLES[self.table]]
        numbers += part.numbers_of(self.orders)
        return np.array(numbers + [0] * (SETTINGS - len(numbers)), dtype=np.int32)

    @classmethod
    def from_array(cls, numbers: np.ndarray) -> Settings:
        """The settings that stand in a file."""
        _, number, dimension, width, vocabulary, most, rounded, table, *windows = numbers.tolist()
        part = owner("plain", lambda family: number == family.NUMBER)
        orders = tuple(order for order in part.orders_in(windows) if order)
        codec = next(codec for codec, one in TABLES.items() if one == table)
        return cls(part.FAMILY, dimension, width, vocabulary, most or None, bool(rounded), codec, orders)


def require_table(table: str) -> None:
    """Raise `ExportError` for a table in a format that a program in C does not decode."""
    if table not in TABLES:
        raise ExportError(f"--table: the format c takes {', '.join(TABLES)}, not {table}; export with one of these")


def encoder_sections(content: bytes, tokenizer: Tokenizer, name: str, table: str, max_length: int | None) -> Sections:
    """Return the sections of a bundle's encoder, of the `content` of its flatbuffer with a table in the format `table`.

    Raises `ExportError` for a graph, a table or a tokenizer that a program in C does not take.
    """
    require_table(table)
    parts = parts_of(Graph(content))
    last = parts.products[parts.last]
    rounded = any(product.stored.dtype == np.int8 for product in parts.products.values())
    settings = Settings(
        parts.family, last.outputs, parts.width, len(tokenizer), max_length, rounded, table, parts.orders
    ).as_array()
    arrays = table_in(content, len(tokenizer), table)
    return {
        "settings": settings,
        "name": _text(name),
        "fingerprint": _text(fingerprint(content, tokenizer)),
        **tokenizer_sections(tokenizer),
        **{f"table.{place}": array for place, array in enumerate(arrays)},
        **layer_sections(parts.products),
        **{name: np.asarray(vector, dtype=np.float32).reshape(-1) for name, vector in parts.vectors.items()},
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
        sections[f"{name}.kernel"] = product.stored
        if product.stored.dtype == np.int8 or product.scales is not None:
            sections[f"{name}.scales"] = scales * np.float32(product.step)
        if product.added is not None:
            sections[f"{name}.bias"] = product.added / np.float32(product.step)
    return sections


def fingerprint(content: bytes, tokenizer: Tokenizer) -> str:
    """The identity of the encoder of a flatbuffer and a tokenizer, a SHA-256 of both: 64 hexadecimal digits."""
    parts = (content, tokenizer.proto, *((tokenizer.spellings,) if tokenizer.spellings is not None else ()))
    return joint(hashlib.sha256(part).hexdigest() for part in parts)


def _text(text: str) -> np.ndarray:
    return np.frombuffer(text.encode(), dtype=np.uint8)
