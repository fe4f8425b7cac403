"""An index on disk: `index.bin` in its folder, a file of sections (docs/formats.md), mapped into memory.

Search, updates and conversions read an `Index`. What other forms store differently, such as fewer bits or packed text,
is read here: `array`, `text`, and the checks of `FORMS`.
"""

from __future__ import annotations

import json
import re
import shlex
import unicodedata
import zlib
from collections.abc import Iterator, Mapping, Sequence
from functools import cached_property, lru_cache
from hashlib import blake2b
from pathlib import Path
from typing import TypeAlias, cast

import numpy as np
from numpy.typing import NDArray

from ...encoders.catalog.bundle import shipped_name
from ...encoders.catalog.identity import locate_encoder
from ...encoders.catalog.kinds import find_kind
from ...errors import DataError, EncoderError, InputError
from ...export.encode import MOST_WEIGHT, PASSAGE_WEIGHT
from ...retrieval.blocks import part_edges
from ...retrieval.codes import FEW, WHOLE, packed_width, unpack
from ...retrieval.units import as_thousandths, from_thousandths
from ...settings.choices import PASSAGE_SCORES
from ...system.sections import read_sections
from ...system.types import Booleans, File, Floats, Integers, Json
from .lexical import CARD as OF_WORD_ENCODER
from .lexical import FOLDING as OF_FOLDING
from .lexical import SECTIONS as OF_WORDS
from .related import BITS as WORD_BITS
from .related import SECTIONS as OF_RELATED_WORDS

FILE, FORMAT = "index.bin", 1
# Documents that are read at once.
AT_ONCE = 4096
# Places in `numbers`.
VERSION, DIMENSION, AXES, BITS, SCORE, PACKED, PER_BLOCK, AGAIN, WEIGHT = range(9)
# Blocks of deflated text that are held as they were.
HELD = 64
# Types of sections, None of codes, and rows and columns by the names of counts: C bytes of the card, N passages, M
# sentences, D documents, B blocks, T and J bytes of the text and of the documents, A bytes of a row.
FORMS: dict[str, tuple[type[np.generic] | None, tuple[str, ...]]] = {
    "card": (np.uint8, ("C",)),
    "passage_vectors": (None, ("N", "A")),
    "passage_scales": (np.float32, ("N",)),
    "sentence_vectors": (None, ("M", "A")),
    "sentence_scales": (np.float32, ("M",)),
    "sentence_starts": (np.uint32, ("N + 1",)),
    "sentence_bounds": (np.uint32, ("M", "2")),
    "text_lengths": (np.uint32, ("N",)),
    "text_blocks": (np.uint64, ("B + 1",)),
    "text": (np.uint8, ("T",)),
    "document_of": (np.uint32, ("N",)),
    "passage_offsets": (np.uint32, ("N",)),
    "document_starts": (np.uint64, ("D + 1",)),
    "documents": (np.uint8, ("J",)),
}
# Sections that an index of the score `vector` does without.
OF_SENTENCES = ("sentence_vectors", "sentence_scales")
# Fields and values of documents: pairs, or a mapping, in which a list has values that are all required.
Value: TypeAlias = str | float | None
Where: TypeAlias = Mapping[str, Value | Sequence[Value]] | Sequence[tuple[str, Value]]
# Fields whose values are codes of languages.
LANGUAGES = ("language", "lang")
# A number as JSON has it. Some programs write 2020 as 2020.0.
NUMBER = re.compile(r"-?(?:0|[1-9]\d{0,99})(?:\.\d{1,99})?(?:[eE][-+]?\d{1,3})?", re.ASCII)
# Those of unit rows are at most 1, but for their rounding.
GREATEST_SCALE = 2
CARD_FIELDS = {
    **dict.fromkeys(("encoder", "fingerprint", "score"), str),
    **dict.fromkeys(("format", "dimension", "documents", "passages", "sentences"), int),
}
# What a card says too, by which documents are added.
CARD_SETTINGS = {"length": int, "overlap": int, "bits": int, "language": str, "hybrid": bool, PASSAGE_WEIGHT: float}
# And the encoder of its questions, where that is another one than its documents'.
QUESTIONS = ("question_encoder", "question_fingerprint")
# And the one by which words have vectors, where they have some.
CARD_SETTINGS |= dict.fromkeys((*QUESTIONS, *OF_WORD_ENCODER), str)


class Index:
    """A whole index, its card and its sections by name; raises `DataError` if the file is none."""

    def __init__(self, folder: File) -> None:
        self.path = Path(folder) / FILE
        if not self.path.is_file():
            raise InputError(f"{folder}: no {FILE} in it; give the folder that distill index wrote")
        self.sections = read_sections(self.path)
        self.card = self._card()
        self.numbers = self._numbers()
        self._require_forms()
        self._require_order()
        self._require_texts()
        self._require_scales()
        if self.has_words:
            self._require_words()
        if self.has_related_words:
            self._require_related_words()
        self._block = lru_cache(HELD)(self._inflate_block)

    def _broken_error(self, problem):
        return DataError(f"{self.path}: {problem}; write it again with distill index")

    def _card(self) -> dict[str, Json]:
        try:
            card = json.loads(self.sections["card"].tobytes().decode())
        except (KeyError, ValueError, RecursionError) as error:
            raise self._broken_error("not an index: no card in it") from error
        if not isinstance(card, dict) or card.get("format") != FORMAT:
            raise self._broken_error(f"not an index of format {FORMAT}")
        kinds = CARD_FIELDS | {name: kind for name, kind in CARD_SETTINGS.items() if name in card}
        if wrong := [name for name, kind in kinds.items() if not _has_type(card.get(name), kind)]:
            raise self._broken_error(
                f"its card lacks {', '.join(wrong)}, or has another type there, or a number below 0"
            )
        return card

    def _numbers(self) -> list[int]:
        numbers = self.sections.get("numbers")
        if numbers is None or numbers.shape != (16,) or numbers.dtype != np.int32:
            raise self._broken_error("not an index: no numbers in it that can be")
        said = [int(number) for number in numbers]
        weighs = 0 <= said[WEIGHT] <= as_thousandths(MOST_WEIGHT)
        if not 0 <= said[SCORE] < len(PASSAGE_SCORES) or said[PER_BLOCK] < 1 or said[AGAIN] < 0 or not weighs:
            raise self._broken_error("not an index: no numbers in it that can be")
        can_be = said[BITS] in (WHOLE, *FEW) and said[PACKED] in (0, 1) and said[DIMENSION] == said[AXES] > 0
        if said[VERSION] != FORMAT or not can_be:
            raise self._broken_error(f"numbers of format {said[VERSION]}, expected {FORMAT}")
        numbered = {"score": PASSAGE_SCORES[said[SCORE]], "dimension": said[DIMENSION], "bits": said[BITS]}
        numbered[PASSAGE_WEIGHT] = from_thousandths(said[WEIGHT])
        if other := [name for name, value in numbered.items() if self.card.get(name, value) != value]:
            raise self._broken_error(f"its card and its numbers say another {', '.join(other)}")
        return said

    def _require_forms(self) -> None:
        blocks = -(-self.card["passages"] // self.numbers[PER_BLOCK])
        counts = {"N": self.card["passages"], "M": self.card["sentences"], "D": self.card["documents"]}
        counts |= {"A": packed_width(self.axes, self.bits), "2": 2, "B": blocks, "C": len(self.sections["card"])}
        code = np.int8 if self.bits == WHOLE else np.uint8
        for name, (kind, form) in FORMS.items():
            if not self.has_sentences and name in OF_SENTENCES:
                continue
            shape = tuple(counts[side[0]] + side.endswith("+ 1") for side in form)
            self._require_form(name, np.dtype(kind or code), shape)
            if ends := {"text_blocks": "T", "document_starts": "J"}.get(name):
                counts[ends] = int(self.sections[name][-1])
        if int(self.sections["sentence_starts"][-1]) != counts["M"]:
            raise self._broken_error("section sentence_starts: expected the number of sentences at its end")

    def _require_form(self, name, kind, shape):
        section = self.sections.get(name)
        if section is None or section.dtype != kind or section.shape != shape:
            raise self._broken_error(f"section {name}: expected {kind} of the shape {shape}")

    def _require_order(self) -> None:
        """Check that references ascend and that each passage has a sentence."""
        for name, least in {"sentence_starts": 1, "text_blocks": 0, "document_starts": 0, "document_of": 0}.items():
            self._require_ascending(name, least)
        if self.passages and int(self.sections["document_of"][-1]) >= self.documents:
            raise self._broken_error(f"section document_of: expected numbers below {self.documents}")

    def _require_ascending(self, name: str, least: int) -> None:
        rows = self.sections[name].astype(np.int64)
        if (np.diff(rows) < least).any() or (name != "document_of" and rows[0]):
            raise self._broken_error(f"section {name}: expected rows that ascend from 0")

    def _require_texts(self) -> None:
        """Check that passages fill the text, unless it is deflated, and that sentences are inside their passages."""
        lengths, per = self.sections["text_lengths"].astype(np.int64), self.numbers[PER_BLOCK]
        begins = np.append(part_edges(lengths)[:-1:per], lengths.sum())
        if not self.numbers[PACKED] and not np.array_equal(begins, self.sections["text_blocks"].astype(np.int64)):
            raise self._broken_error("section text_lengths: expected the lengths of the blocks of text")
        bounds = cast(Integers, self.sections["sentence_bounds"])
        most = np.repeat(lengths, np.diff(self.sections["sentence_starts"]))
        if (bounds[:, 0] > bounds[:, 1]).any() or (bounds[:, 1] > most).any():
            raise self._broken_error("section sentence_bounds: expected places in the passages, begin and end")

    def _require_scales(self) -> None:
        for kind in ("passage", "sentence") if self.has_sentences else ("passage",):
            scales = cast(Floats, self.sections[f"{kind}_scales"])
            # What is no number is not within.
            if not ((scales >= 0) & (scales <= GREATEST_SCALE)).all():
                raise self._broken_error(f"section {kind}_scales: expected numbers from 0 to {GREATEST_SCALE}")

    def _require_words(self) -> None:
        for name, kind in OF_WORDS.items():
            if name not in self.sections or self.sections[name].dtype != kind or self.sections[name].ndim != 1:
                raise self._broken_error(f"section {name}: expected {np.dtype(kind)} of one dimension")
        terms, term_starts, starts, rows, weights = (self.sections[name] for name in OF_WORDS)
        whole = min(len(term_starts), len(starts)) > 0
        if not whole or (len(starts), len(terms), len(rows)) != (len(term_starts), term_starts[-1], starts[-1]):
            raise self._broken_error("sections bm25: not whole")
        if len(weights) != len(rows) or int(rows.max(initial=0)) >= max(self.passages, 1):
            raise self._broken_error(
                f"sections bm25: expected as many weights as rows, and these below {self.passages}"
            )
        for name in ("bm25.term_starts", "bm25.starts"):
            self._require_ascending(name, 1)

    def _require_related_words(self) -> None:
        mean, axes = (self.sections.get(name) for name in ("words.mean", "words.axes"))
        if mean is None or axes is None or mean.ndim != 1 or axes.ndim != 2:
            raise self._broken_error("sections words: not whole")
        if missing := [name for name in OF_WORD_ENCODER if not self.card.get(name)]:
            raise self._broken_error(f"its card lacks {', '.join(missing)}")
        words = len(self.sections["bm25.term_starts"]) - 1
        shapes = (len(mean),), (len(mean), axes.shape[1]), (words, packed_width(axes.shape[1], WORD_BITS)), (words,)
        for (name, kind), shape in zip(OF_RELATED_WORDS.items(), shapes, strict=True):
            self._require_form(name, np.dtype(kind), shape)
            if kind == np.float32 and not np.isfinite(self.sections[name]).all():
                raise self._broken_error(f"section {name}: expected numbers")

    @property
    def score(self) -> str:
        """The score of a passage: by its own vector, by its best sentence's, or by both ("sum")."""
        return PASSAGE_SCORES[self.numbers[SCORE]]

    @property
    def passage_weight(self) -> float:
        """The weight of a passage's own vector beside its best sentence in the score "sum"."""
        return from_thousandths(self.numbers[WEIGHT])

    @property
    def has_sentences(self) -> bool:
        """True if sentences have vectors."""
        return self.score != "vector"

    @property
    def axes(self) -> int:
        """The numbers of a stored vector."""
        return self.numbers[AXES]

    @property
    def bits(self) -> int:
        """The bits per number of the vectors."""
        return self.numbers[BITS]

    @property
    def scored_again(self) -> int:
        """The number of best passages of a compact index that are scored again by their text."""
        return self.numbers[AGAIN]

    @property
    def has_words(self) -> bool:
        """True if words are indexed in today's form."""
        return not OF_WORDS.keys().isdisjoint(self.sections) and self.card.get("words") == OF_FOLDING

    @property
    def has_related_words(self) -> bool:
        """True if words have vectors, by which a question's word finds similar ones."""
        return self.has_words and "words.vectors" in self.sections

    @property
    def passages(self) -> int:
        """The number of passages."""
        return len(self.sections["document_of"])

    @property
    def documents(self) -> int:
        """The number of documents."""
        return len(self.sections["document_starts"]) - 1

    @property
    def question_encoder(self) -> str:
        """The name or folder of the encoder of its questions."""
        return self.card.get(QUESTIONS[0]) or self.card["encoder"]

    @property
    def question_fingerprint(self) -> str:
        return self.card.get(QUESTIONS[1]) or self.card["fingerprint"]

    def find_encoder(self) -> str:
        """Return the encoder of its documents; if a program wrote it with a copy, the copied encoder."""
        return find_named(self.card["encoder"], self.card["fingerprint"]) or self.card["encoder"]

    def is_asked_by(self, fingerprint: str) -> bool:
        """Return True if a fingerprint is that of the encoder of its questions or documents."""
        return fingerprint in (self.card["fingerprint"], self.card.get(QUESTIONS[1]))

    def require_asker(self, fingerprint: str, source: File) -> None:
        """Require that an encoder is that of the questions or that of the documents."""
        if self.is_asked_by(fingerprint):
            return
        made_by, other = self.card["encoder"], self._describe_other(fingerprint, source)
        if not self.scored_again and locate_encoder(source) not in (made_by, self.question_encoder):
            words = ["--model", made_by, "--question-model", f"{source}", "--output", f"{self.path.parent}"]
            other += f"; if the two share a space: distill index {shlex.join(words)}"
        raise EncoderError(other)

    def require(self, fingerprint: str, source: File) -> None:
        """Require that an encoder is the one that the index was made by. Raises `EncoderError` if it is another."""
        if fingerprint != self.card["fingerprint"]:
            raise EncoderError(self._describe_other(fingerprint, source))

    def _describe_other(self, fingerprint, source):
        return (
            f"{self.path}: made by {self.card['encoder']} ({self.card['fingerprint'][:12]}), not by "
            f"{source} ({fingerprint[:12]}); give its own as --model, or make another index"
        )

    def array(self, name: str) -> NDArray[np.generic]:
        return self.sections[name]

    def vectors(self, kind: str, rows: slice | Integers) -> Floats:
        """Return stored vectors of a kind, "passage" or "sentence": about of unit length, float32 `(r, d)`."""
        codes, scales = (self.sections[f"{kind}_{part}"][rows] for part in ("vectors", "scales"))
        if self.bits != WHOLE:
            codes = unpack(cast("NDArray[np.uint8]", codes), self.bits, self.axes)
        return cast(Floats, codes.astype(np.float32) * cast(Floats, scales)[:, None])

    def text(self, row: int) -> bytes:
        """Return the text of a passage in UTF-8."""
        per = self.numbers[PER_BLOCK]
        block, first = row // per, row // per * per
        start = int(self.sections["text_lengths"][first:row].sum(dtype=np.int64))
        end = start + int(self.sections["text_lengths"][row])
        if self.numbers[PACKED]:
            return self._block(block)[start:end]
        begin = int(self.sections["text_blocks"][block])
        return self.sections["text"][begin + start : begin + end].tobytes()

    def _inflate_block(self, block: int) -> bytes:
        start, end = self.sections["text_blocks"][block : block + 2].tolist()
        per = self.numbers[PER_BLOCK]
        length = int(self.sections["text_lengths"][block * per : (block + 1) * per].sum(dtype=np.int64))
        try:
            # One more, so that a longer block is seen and not held.
            content = zlib.decompressobj(-zlib.MAX_WBITS).decompress(
                self.sections["text"][start:end].tobytes(), length + 1
            )
        except zlib.error as error:
            raise self._broken_error(f"section text, block {block}: not deflated") from error
        if len(content) != length:
            raise self._broken_error(f"section text, block {block}: expected {length} bytes inflated")
        return content

    def bounds(self, row: int) -> Integers:
        """Return the sentences of a passage, int64 `(m, 2)`, in bytes of its text."""
        start, end = self.sections["sentence_starts"][row : row + 2].tolist()
        return self.sections["sentence_bounds"][start:end].astype(np.int64)

    def fields(self, document: int) -> dict[str, Json]:
        """Return the fields of a document, its id and title among them."""
        return next(self._fields(document, document + 1))

    def _fields(self, first: int, last: int) -> Iterator[dict[str, Json]]:
        starts = self.sections["document_starts"][first : last + 1].tolist()
        content = self.sections["documents"][starts[0] : starts[-1]].tobytes()
        for document in range(first, last):
            start, end = (place - starts[0] for place in starts[document - first : document - first + 2])
            yield self._parse_fields(document, content[start:end])

    def _parse_fields(self, document, content):
        try:
            # What is no JSON was taken by an earlier version.
            fields = json.loads(content, parse_constant=lambda _: None)
        except (ValueError, RecursionError) as error:
            raise self._broken_error(f"document {document}: not JSON") from error
        if not isinstance(fields, dict) or not isinstance(fields.get("id"), str):
            raise self._broken_error(f"document {document}: not an object with an id that is a text")
        return fields

    def all_fields(self) -> Iterator[dict[str, Json]]:
        """Yield the fields of each document, in order."""
        for first in range(0, self.documents, AT_ONCE):
            yield from self._fields(first, min(first + AT_ONCE, self.documents))

    @cached_property
    def document_edges(self) -> Integers:
        """The first passage of each document, and the end, int64 `(D + 1,)`."""
        return part_edges(np.bincount(cast(Integers, self.sections["document_of"]), minlength=self.documents))

    @cached_property
    def ids(self) -> dict[int, int]:
        """The document of each hash of an id."""
        return {hash_id(fields["id"]): document for document, fields in enumerate(self.all_fields())}

    def rows_of(self, id: str, texts: Sequence[bytes], bounds: Sequence[Sequence[tuple[int, int]]]) -> list[int]:
        """Find the rows of a document's passages that have certain texts and sentences, -1 for a new one."""
        document = self.ids.get(hash_id(id))
        if document is None:
            return [-1] * len(texts)
        first, last = self.document_edges[document : document + 2].tolist()
        known = {(self.text(row), tuple(map(tuple, self.bounds(row).tolist()))): row for row in range(first, last)}
        return [known.get((text, tuple(pairs)), -1) for text, pairs in zip(texts, bounds, strict=True)]

    def mask(self, where: Where) -> Booleans:
        """Return the passages whose documents have certain values of fields: bool `(passages,)`.

        A list of a document matches each of its members, so that a field may be named several times. Letters are
        compared in their composed form, language codes in either case, and numbers by their value.
        """
        wanted = [(_compose(name), value) for name, value in list_wanted(where)]
        matching, missing = np.zeros(self.documents, dtype=bool), {name for name, _ in wanted}
        for document, fields in enumerate(self.all_fields()):
            known = {_compose(name): value for name, value in fields.items()}
            missing -= known.keys()
            matching[document] = all(name in known and _is(known[name], value, name) for name, value in wanted)
        if missing and self.documents:
            raise InputError(f"--where {sorted(missing)[0]}: no document of {self.path} has such a field")
        return matching[self.sections["document_of"]]


def find_named(name: str, fingerprint: str) -> str | None:
    """Return the encoder that a card names, or if that is gone the shipped one with its fingerprint, if any."""
    return name if find_kind(name) else shipped_name(fingerprint)


def _has_type(value, kind):
    """Return True for a value of exactly this type; a whole number must not be negative."""
    return type(value) is kind and (kind is not int or value >= 0)


def _is(value, text, name):
    if isinstance(value, list):
        return any(_is(part, text, name) for part in value)
    one, other = _compose(text), _compose(as_text(value))
    if isinstance(value, (int, float)) and not isinstance(value, bool):
        return one == other or (bool(NUMBER.fullmatch(one)) and json.loads(one) == value)
    return one == other or (name in LANGUAGES and one.lower() == other.lower())


def _compose(text):
    return unicodedata.normalize("NFC", text)


def list_wanted(where: Where) -> list[tuple[str, str]]:
    """Return each field and value that is required, a value as text: as it is, or as JSON.

    Raises `InputError` if there is a list without values, or a value that is a list or an object.
    """
    pairs = where.items() if isinstance(where, Mapping) else where
    try:
        listed = [(str(name), _list_values(value)) for name, value in pairs]
    except (TypeError, ValueError) as error:
        raise InputError(f"where: expected fields and their values, such as {{'lang': 'en'}}, got {where!r}") from error
    for name, values in listed:
        if not values or any(isinstance(value, list | tuple | dict) for value in values):
            raise InputError(f"where.{name}: expected a text, a number, true, false or null, or a list of these")
    return [(name, as_text(value)) for name, values in listed for value in values]


def _list_values(value):
    return value if isinstance(value, list | tuple) else [value]


def as_text(value: Json) -> str:
    """Return a field's value as `where` names it: a text as it is, anything else as JSON."""
    return value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)


def hash_id(id: str) -> int:
    """Return 64 bits that identify a document's id."""
    return int.from_bytes(blake2b(id.encode("utf-8", "replace"), digest_size=8).digest(), "little")
