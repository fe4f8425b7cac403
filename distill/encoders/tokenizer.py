"""The tokenizer: SentencePiece as mUSE uses it, or BERT's WordPiece in the same container; ids are bos, tokens, eos."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from itertools import groupby
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from ..errors import EncoderError, InputError, first_line
from ..system.text import drop_soft_hyphens, make_well_formed
from .spellings import FILE, Expansions, Spelling, pack_spellings, serialise_spellings

if TYPE_CHECKING:
    from google.protobuf.message import Message

    from ..export.encode import Reading
    from ..system.types import File, Role


# The file beside a tokenizer that defines prompts by role and the largest number of ids of a text.
READING = "reading.json"


class Tokenizer:
    """A tokenizer of text to ids.

    `spellings` is the content of a file of aliases, the model's last tokens, which are replaced by the ids they stand
    for. `reading` are the prompts by role, the largest number of ids, and whether the tokens are BERT's, with its own
    rules. Raises `EncoderError` if the bytes are no SentencePiece model, it has no bos or eos, or the aliases are of
    another model.
    """

    def __init__(
        self,
        proto: bytes,
        source: str = "the tokenizer",
        spellings: bytes | None = None,
        reading: Reading | None = None,
    ) -> None:
        self._proto, self.source, self.spellings = proto, source, spellings
        self.reading = reading or parse_reading(b"{}", source)
        pieces = self._processor.get_piece_size()
        self._expansions = None if spellings is None else Expansions.of(pieces, spellings, source)
        self._size = self._expansions.first if self._expansions else pieces
        if min(self._processor.bos_id(), self._processor.eos_id()) < 0:
            raise EncoderError(f"{source}: the SentencePiece model has no bos or eos piece; train it with both")

    @classmethod
    def load(cls, path: File) -> Tokenizer:
        """Load a tokenizer from a file, with its aliases and reading if these files lie beside it."""
        path = Path(path)
        spellings, reading = path.with_name(FILE), path.with_name(READING)
        try:
            proto = path.read_bytes()
            stored = spellings.read_bytes() if spellings.is_file() else None
            options = parse_reading(reading.read_bytes(), str(reading)) if reading.is_file() else None
        except OSError as error:
            raise EncoderError(f"{path}: cannot be read: {error.strerror}") from error
        return cls(proto, str(path), stored, options)

    @property
    def proto(self) -> bytes:
        """The serialised SentencePiece model."""
        return self._proto

    @cached_property
    def _processor(self):
        import sentencepiece

        if not self.proto:  # SentencePiece takes it for "load nothing"
            raise EncoderError(f"{self.source}: not a SentencePiece model: it is empty")
        try:
            return sentencepiece.SentencePieceProcessor(model_proto=self.proto)
        except (RuntimeError, TypeError) as error:
            raise EncoderError(f"{self.source}: not a SentencePiece model") from error

    def __len__(self) -> int:
        return self._size

    @property
    def unknown(self) -> int:
        return int(self._processor.unk_id())

    @property
    def stored_bytes(self) -> int:
        """The number of bytes of the files that `save` writes."""
        return len(self.proto) + len(self.spellings or b"") + len(self.reading.content())

    def save(self, path: File) -> None:
        """Write the file that `load` reads, and beside it those of the aliases and the reading, if there are any."""
        Path(path).write_bytes(self.proto)
        if self.spellings is not None:
            Path(path).with_name(FILE).write_bytes(self.spellings)
        if content := self.reading.content():
            Path(path).with_name(READING).write_bytes(content)

    def encode(self, texts: Sequence[str], role: Role | None = "question") -> list[list[int]]:
        """Tokenize texts. Lone surrogates become U+FFFD, and soft hyphens are left out.

        `role` is the role, whose prompt comes first. None gives only the tokens of the text, all of them. Returns the
        ids of each text: bos, tokens, eos. Tokens beyond the limit of the reading are cut off before eos.
        """
        if isinstance(texts, str):
            raise InputError(f"expected a list of texts, got one text; give [{texts[:20]!r}]")
        _require_role(role)
        if not texts:
            return []
        prompt = self.reading.prompts.get(role or "", "")
        rows = self._rows([drop_soft_hyphens(prompt + make_well_formed(text)) for text in texts])
        rows = [self._expansions.expand(row) for row in rows] if self._expansions else rows
        return [self._shorten(ids) for ids in rows] if role else rows

    def _shorten(self, ids):
        from ..export.encode import shortened

        return shortened(ids, self.reading.longest)

    def _rows(self, texts):
        if self._words:
            return [self._words.encode(text) for text in texts]
        return self._processor.encode(texts, add_bos=True, add_eos=True)

    @cached_property
    def _words(self):
        from ..export.encode import WordPieces

        return WordPieces.of(self._processor, self.reading.wordpiece)

    @property
    def unexpanded(self) -> Tokenizer:
        """The tokenizer whose ids include those of the aliases."""
        return self.with_proto(self.proto)

    def with_proto(self, proto: bytes, spellings: bytes | None = None) -> Tokenizer:
        """Return a tokenizer with other tokens, and perhaps aliases, that reads texts as this one does."""
        return Tokenizer(proto, self.source, spellings, self.reading)

    def places(self, text: str) -> tuple[list[int], list[tuple[int, int]]]:
        """Return the ids of a text's tokens, without bos and eos, and their places; ids of an alias share its place."""
        pieces = self._place_pieces(make_well_formed(text))
        if self._expansions:
            pieces = [(other, place) for id, place in pieces for other in self._expansions.expand([id])]
        return [id for id, _ in pieces], [place for _, place in pieces]

    def _place_pieces(self, text):
        if self._words:
            return list(_placed_words(self._words, text))
        if hasattr(self._processor, "encode_as_offset_mapping"):
            mapping = self._processor.encode_as_offset_mapping(text)
            return list(zip(mapping["ids"], map(tuple, mapping["offsets"]), strict=True))
        pieces = self._processor.encode(text, out_type="immutable_proto").pieces  # before SentencePiece 0.2.1
        return [(piece.id, (piece.begin, piece.end)) for piece in pieces]

    def normalize(self, texts: Sequence[str]) -> list[str]:
        """Return each text as it is cut into tokens: normalised, with U+2581 for a space."""
        texts = [drop_soft_hyphens(make_well_formed(text)) for text in texts]
        if self._words:
            return ["".join(SPACE + word for word in self._words.words(text)) for text in texts]
        return [self._processor.normalize(text) for text in texts]


def _placed_words(words, text):
    """Yield the id of each token and its place; for an unknown word that of the whole word."""
    from ..export.encode import WITHIN

    read = [(sign, place) for place, one in enumerate(text) for sign in words.signs[ord(one)]]
    for is_blank, group in groupby(read, key=lambda pair: pair[0].isspace()):
        signs, places = zip(*group, strict=True)
        first = 0
        for id in () if is_blank else words.ids("".join(signs)):
            length = len(words.pieces[id].removeprefix(WITHIN) if first else words.pieces[id])
            last = len(signs) if id == words.unknown else first + length
            yield id, (places[first], places[last - 1] + 1)
            first = last


SPACE = "\u2581"  # SentencePiece's mark for a space


def model_proto(tokenizer: Tokenizer) -> Message:
    """Return a copy of a tokenizer's `ModelProto` without its aliases."""
    proto = _parse_proto(tokenizer.proto)
    if tokenizer.spellings is not None:
        del proto.pieces[len(tokenizer) :]
        proto.trainer_spec.vocab_size = len(tokenizer)
    return proto


def whole_proto(tokenizer: Tokenizer) -> Message:
    """Return a copy of a tokenizer's `ModelProto` with its aliases."""
    return _parse_proto(tokenizer.proto)


def without_spellings(tokenizer: Tokenizer) -> Tokenizer:
    if tokenizer.spellings is None:
        return tokenizer
    return tokenizer.with_proto(model_proto(tokenizer).SerializeToString())


def list_spellings(tokenizer: Tokenizer) -> list[Spelling]:
    """Return the aliases of a tokenizer. Most have none."""
    if tokenizer.spellings is None:
        return []
    pieces = _parse_proto(tokenizer.proto).pieces
    expansions = Expansions.of(len(pieces), tokenizer.spellings, tokenizer.source)
    rows = zip(pieces[len(tokenizer) :], range(len(expansions)), strict=True)
    return [Spelling(piece.piece, piece.score, tuple(expansions[place])) for piece, place in rows]


def with_spellings(tokenizer: Tokenizer, spellings: Sequence[Spelling]) -> Tokenizer:
    """Replace the aliases of a tokenizer. One that is a token already is left out.

    Scores below those of the tokens are raised, because SentencePiece derives the score of <unk> from the lowest one.
    """
    proto = model_proto(tokenizer)
    lowest = min((piece.score for piece in proto.pieces if piece.type == piece.NORMAL), default=0.0)
    known = {piece.piece for piece in proto.pieces}
    free = [one for one in spellings if one.piece not in known]
    if not free:
        return without_spellings(tokenizer)
    if proto.trainer_spec.model_type != proto.trainer_spec.UNIGRAM:
        raise EncoderError(f"{tokenizer.source}: only the pieces of a unigram model can have spellings beside them")
    for one in free:
        proto.pieces.add(piece=one.piece, score=max(lowest, one.score))
    proto.trainer_spec.vocab_size = len(proto.pieces)
    return tokenizer.with_proto(proto.SerializeToString(), serialise_spellings(pack_spellings(free)))


def empty_proto() -> Message:
    """Return a `ModelProto` without tokens, to be filled."""
    return _parse_proto(b"")


def _parse_proto(proto):
    from sentencepiece import sentencepiece_model_pb2

    return sentencepiece_model_pb2.ModelProto.FromString(proto)  # type: ignore[attr-defined]


def _require_role(role):
    from ..export.encode import ROLES

    if role not in (None, *ROLES):
        raise InputError(f"expected the role {' or '.join(ROLES)}, got {role!r}")


def parse_reading(content: bytes, source: str) -> Reading:
    """Parse a file of prompts by role and the largest number of ids of a text."""
    # The script of each bundle has it, which imports SentencePiece.
    from ..export.encode import Reading

    try:
        return Reading.of(content)
    except (ValueError, RecursionError) as error:
        raise EncoderError(f"{source}: says nothing of how texts are read: {first_line(error)}") from error


class Special(NamedTuple):
    """The names of BERT's special tokens."""

    unknown: str = "[UNK]"
    bos: str = "[CLS]"
    eos: str = "[SEP]"
    padding: str = "[PAD]"
    mask: str = "[MASK]"


def wordpiece_tokenizer(
    pieces: Sequence[str],
    reading: Reading,
    special: Special | None = None,
    source: str = "the tokenizer",
    others: Sequence[str] = (),
) -> Tokenizer:
    """Make a tokenizer of BERT's tokens. Raises `EncoderError` if the unknown token, bos or eos is missing.

    `pieces` are in their order, with `##` before those within a word. Of equal ones the last counts, as in Hugging
    Face's tokenizers.
    """
    special = special or Special()
    if missing := [name for name in special[:3] if name not in pieces]:
        raise EncoderError(f"{source}: {', '.join(missing)} missing among {len(pieces)} pieces; give BERT's vocab.txt")
    proto, last = empty_proto(), {piece: id for id, piece in enumerate(pieces) if piece}
    types = dict.fromkeys([*special, *others], proto.SentencePiece.CONTROL) | {
        special.unknown: proto.SentencePiece.UNKNOWN
    }
    for id, piece in enumerate(pieces):
        if last.get(piece) == id:
            proto.pieces.add(piece=piece, score=0.0, type=types.get(piece, proto.SentencePiece.NORMAL))
        else:
            # SentencePiece takes none twice.
            proto.pieces.add(piece=f"<unused {id}>", score=0.0, type=proto.SentencePiece.UNUSED)
    trainer = proto.trainer_spec
    trainer.model_type, trainer.vocab_size = trainer.WORD, len(pieces)
    trainer.unk_piece, trainer.bos_piece, trainer.eos_piece, trainer.pad_piece = special[:4]
    trainer.unk_id, trainer.bos_id, trainer.eos_id = (last[name] for name in special[:3])
    trainer.pad_id = last.get(special.padding, -1)
    return Tokenizer(proto.SerializeToString(), source, reading=reading)
