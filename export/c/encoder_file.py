"""Write the encoder of a bundle as one file of binary sections, `encoder.bin`: see docs/formats.md.

Embeddings, kernels and scales are those of the bundle's flatbuffer, bit for bit.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from ...encoders.spellings import parse_spellings, serialise_spellings
from ...encoders.tokenizer import Tokenizer, empty_proto, whole_proto
from ...errors import ExportError, InputError
from ...retrieval.units import as_thousandths
from ...settings.choices import PASSAGE_SCORES
from ...system.hashes import join_hashes
from ...system.types import Floats, Json
from ..encode import ANSWERABLE, PASSAGE_WEIGHT, Reading
from ..families.registry import family_part, find_owner
from ..tflite.graph import Graph, Product
from ..tflite.weights import parts_of, table_in
from ..weights.codecs import MIXED_CODECS
from ..weights.kernels import LEVELS_OF_4

# The offset of a code of 4 bits, which stores zero as this.
ZERO_OF_4 = 8
# The version and the length of the list `settings`.
VERSION, SETTINGS = 1, 16
# The numbers in `settings` of the codecs that a program in C decodes. A table of two parts stores where they meet.
TABLES = {"float32": 0, "uint8": 1, "int4": 2, **dict.fromkeys(MIXED_CODECS, 3)}
# The place in `settings` where the numbers of a family begin.
FAMILY = 8
# The suffixes of the names of a kernel in 4 bits, and of position embeddings in 8.
PACKED, CODES, SCALES = "packed", "codes", "scales"
# The columns of the section `answerable`, with a row for each of `PASSAGE_SCORES`, are followed by `POINTS` columns
# of `at` and as many of `probability`.
CALIBRATION_COLUMNS, POINTS = ("best", "margin", "few", "usual", "threshold"), 12
Sections = dict[str, np.ndarray]


@dataclass(frozen=True)
class Settings:
    """The list `settings` of a file: see docs/formats.md.

    Args:
        vocabulary: The number of tokens.
        max_length: The largest number of tokens of a text, or None for texts of any length.
        rounded: True if activations are rounded to 8 bits.
        table: The format of the embedding table, a key of `CODECS`.
        numbers: What the family stores besides.
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
        """Return the settings as the file stores them, int32 `(16,)`."""
        if len(self.numbers) > SETTINGS - FAMILY:
            raise ExportError(
                f"the format c supports {SETTINGS - FAMILY - 2} branches, the student has {len(self.numbers) - 2}"
            )
        part = family_part(self.family, "plain", "an encoder in C or Java")
        numbers = [VERSION, part.NUMBER, self.dimension, self.width, self.vocabulary]
        numbers += [self.max_length or 0, int(self.rounded), TABLES[self.table]]
        numbers += self.numbers
        return np.array(numbers + [0] * (SETTINGS - len(numbers)), dtype=np.int32)

    @classmethod
    def from_array(cls, numbers: np.ndarray) -> Settings:
        """Return the settings that a file stores, int32 `(16,)`."""
        _, number, dimension, width, vocabulary, most, rounded, table, *rest = numbers.tolist()
        part = find_owner("plain", lambda family: number == family.NUMBER)
        codec = next(codec for codec, one in TABLES.items() if one == table)
        return cls(part.FAMILY, dimension, width, vocabulary, most or None, bool(rounded), codec, tuple(rest))


def require_table(table: str) -> None:
    """Raise `InputError` if a program in C cannot decode a table of this format."""
    if table not in TABLES:
        raise InputError(f"--table: the format c supports {', '.join(TABLES)}, got {table}; export with one of these")


def encoder_sections(content: bytes, tokenizer: Tokenizer, name: str, table: str, max_length: int | None) -> Sections:
    """Return the sections of a bundle's encoder; raise `ExportError` for what a program in C does not support."""
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
        "fingerprint": _text(compute_fingerprint(content, tokenizer)),
        **tokenizer_sections(tokenizer),
        **{f"table.{place}": array for place, array in enumerate(arrays)},
        **layer_sections(parts.products),
        **plain.sections_of(graph, parts),
    }


def answerable_sections(said: Mapping[str, Json], weight: float = 1.0) -> Sections:
    """Return the sections with what a card says of scores: the calibration of answers, float32 `(3, 29)`, with zeros
    for a missing score, and a passage's weight in new indexes, int32 `(1)` in thousandths, unless it is 1.
    """
    rows = np.zeros((len(PASSAGE_SCORES), len(CALIBRATION_COLUMNS) + 2 * POINTS), dtype=np.float32)
    for name, fields in said["scores"].items():
        lines = [_pad_line(fields[line]) for line in ("at", "probability")]
        rows[PASSAGE_SCORES.index(name)] = np.concatenate([[fields[field] for field in CALIBRATION_COLUMNS], *lines])
    number = as_thousandths(weight)
    return {ANSWERABLE: rows, **({PASSAGE_WEIGHT: np.array([number], dtype=np.int32)} if number else {})}


def _pad_line(line: list[float]) -> Floats:
    """Return a line padded to the fixed length by repeating its last number."""
    if not 0 < len(line) <= POINTS:
        raise ExportError(f"the format c supports 1 to {POINTS} points of probability, the card has {len(line)}")
    return np.array([*line, *line[-1:] * (POINTS - len(line))], dtype=np.float32)


def layer_sections(products: Mapping[str, Product]) -> Sections:
    """Return the sections of dense layers, y = act(x V^T + b) s with V `(out, in)`; a missing b or s has none."""
    sections = {}
    for name, product in products.items():
        scales = np.ones(product.outputs, np.float32) if product.scales is None else product.scales.reshape(-1)
        # The name of a section has no room for the full names of a transformer's layers.
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


def unpack_kernel(packed: np.ndarray) -> np.ndarray:
    """Unpack a kernel of 4 bits, uint8 `(out, in / 2)`, to int8 `(out, in)`."""
    return np.concatenate([packed & 15, packed >> 4], axis=1).astype(np.int8) - np.int8(ZERO_OF_4)


def find_shortest(*lengths: int | None) -> int | None:
    """Return the smallest of the lengths that are not None, or None if there are none."""
    return min((length for length in lengths if length), default=None)


def compute_fingerprint(content: bytes, tokenizer: Tokenizer) -> str:
    """Compute the identity of an encoder, which is also that of its bundle: 64 hexadecimal digits."""
    spellings = () if tokenizer.spellings is None else (tokenizer.spellings,)
    parts = (content, tokenizer.proto, *spellings, *filter(None, [tokenizer.reading.content()]))
    return join_hashes(hashlib.sha256(part).hexdigest() for part in parts)


def _text(text: str) -> np.ndarray:
    return np.frombuffer(text.encode(), dtype=np.uint8)


UNKNOWN, CONTROL, BYTE, UNIGRAM = 2, 3, 6, 1
# The section with the ids that spellings stand for.
SPELLINGS = "spellings"
# The prefix of the names of prompt sections, which end in a role.
PROMPT = "prompt."
# The flags in the list `tokenizer`, which follow the ids of the unknown piece, of bos and of eos.
FLAGS = ("add_dummy_prefix", "remove_extra_whitespaces", "escape_whitespaces")


def tokenizer_sections(tokenizer: Tokenizer) -> dict[str, np.ndarray]:
    """Return the sections of a tokenizer: spellings follow its pieces, and the ids of each end with -1."""
    proto = whole_proto(tokenizer)
    trainer, normalizer = proto.trainer_spec, proto.normalizer_spec
    if tokenizer.reading.wordpiece:
        raise ExportError(
            f"{tokenizer.source}: the format c needs SentencePiece's tokenizer, not BERT's; export a bundle"
        )
    if trainer.model_type != UNIGRAM or trainer.byte_fallback:
        kind = "one with byte_fallback" if trainer.byte_fallback else f"model_type {trainer.model_type}"
        raise ExportError(f"{tokenizer.source}: the format c needs a unigram SentencePiece model, not {kind}")
    pieces = [piece.piece.encode() for piece in proto.pieces]
    types = np.array([piece.type for piece in proto.pieces], dtype=np.uint8)
    names = [trainer.bos_piece, trainer.eos_piece]
    ids = [int(np.flatnonzero(types == UNKNOWN)[0]), *(pieces.index(name.encode()) for name in names)]
    flags = [getattr(normalizer, name) for name in FLAGS] + [trainer.treat_whitespace_as_suffix, trainer.byte_fallback]
    return {
        "tokenizer": np.array([*ids, *flags], dtype=np.int32),
        "pieces": np.frombuffer(b"".join(pieces), dtype=np.uint8),
        "piece_starts": np.cumsum([0, *map(len, pieces)]).astype(np.uint32),
        "piece_scores": np.array([piece.score for piece in proto.pieces], dtype=np.float32),
        "piece_types": types,
        "charsmap": np.frombuffer(normalizer.precompiled_charsmap, dtype=np.uint8),
        **(
            {SPELLINGS: parse_spellings(tokenizer.spellings, tokenizer.source)}
            if tokenizer.spellings is not None
            else {}
        ),
        **{
            f"{PROMPT}{role}": np.frombuffer(prompt.encode(), dtype=np.uint8)
            for role, prompt in tokenizer.reading.prompts.items()
            if prompt
        },
    }


def tokenizer_of(sections: Mapping[str, np.ndarray]) -> Tokenizer:
    """Return the tokenizer that some sections describe."""
    proto, content, starts = empty_proto(), sections["pieces"].tobytes(), sections["piece_starts"].tolist()
    spans = zip(
        starts[:-1], starts[1:], sections["piece_scores"].tolist(), sections["piece_types"].tolist(), strict=True
    )
    for start, end, score, kind in spans:
        proto.pieces.add(piece=content[start:end].decode(), score=score, type=kind)
    _, bos, eos, *flags, suffix, _ = sections["tokenizer"].tolist()
    proto.trainer_spec.model_type, proto.trainer_spec.treat_whitespace_as_suffix = UNIGRAM, bool(suffix)
    proto.trainer_spec.bos_piece, proto.trainer_spec.eos_piece = proto.pieces[bos].piece, proto.pieces[eos].piece
    for name, value in zip(FLAGS, flags, strict=True):
        setattr(proto.normalizer_spec, name, bool(value))
    proto.normalizer_spec.precompiled_charsmap = sections["charsmap"].tobytes()
    spellings = serialise_spellings(sections[SPELLINGS]) if SPELLINGS in sections else None
    return Tokenizer(proto.SerializeToString(), spellings=spellings, reading=_reading_of(sections))


def _reading_of(sections):
    prompts = {name.removeprefix(PROMPT): name for name in sections if name.startswith(PROMPT)}
    return Reading({role: sections[name].tobytes().decode() for role, name in prompts.items()})
