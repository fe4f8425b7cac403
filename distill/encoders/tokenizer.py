"""SentencePiece as mUSE uses it, and BERT's WordPiece in the same container: bos, the pieces, eos."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cached_property
from itertools import groupby
from pathlib import Path
from typing import TYPE_CHECKING

from ..errors import EncoderError, InputError
from ..system.text import well_formed
from .reading import FILE as READING
from .reading import reading_of
from .spellings import FILE, Expansions, Spelling, content_of, stored

if TYPE_CHECKING:
    from google.protobuf.message import Message

    from ..export.encode import Reading
    from ..system.types import File, Role


class Tokenizer:
    """Text -> ids. `proto` is a serialised SentencePiece model.

    Its last pieces stand for others where there is the content of a file of `spellings`; they are none of its ids.
    A `reading` has the prompts that stand before a text by its role, the most ids of a text, and whether the pieces are
    BERT's, which are cut by its own rules.
    Raises `EncoderError` when the bytes are no SentencePiece model, it has no bos and eos, or other spellings.
    """

    def __init__(
        self,
        proto: bytes,
        source: str = "the tokenizer",
        spellings: bytes | None = None,
        reading: Reading | None = None,
    ) -> None:
        self.proto, self.source, self.spellings = proto, source, spellings
        self.reading = reading or reading_of(b"{}", source)
        pieces = self._processor.get_piece_size()
        self._expansions = None if spellings is None else Expansions.of(pieces, spellings, source)
        self._size = self._expansions.first if self._expansions else pieces
        if min(self._processor.bos_id(), self._processor.eos_id()) < 0:
            raise EncoderError(f"{source}: the SentencePiece model has no bos or eos piece; train it with both")

    @classmethod
    def load(cls, path: File) -> Tokenizer:
        """Return the tokenizer in a file, with the spellings and the reading beside it if there are any.

        Raises `EncoderError` where one cannot be read or holds none.
        """
        path = Path(path)
        spellings, reading = path.with_name(FILE), path.with_name(READING)
        try:
            proto = path.read_bytes()
            stored = spellings.read_bytes() if spellings.is_file() else None
            options = reading_of(reading.read_bytes(), str(reading)) if reading.is_file() else None
        except OSError as error:
            raise EncoderError(f"{path}: cannot be read: {error.strerror}") from error
        return cls(proto, str(path), stored, options)

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
        """The id of the unknown piece."""
        return int(self._processor.unk_id())

    @property
    def stored_bytes(self) -> int:
        """Bytes of the files that `save` writes."""
        return len(self.proto) + len(self.spellings or b"") + len(self.reading.content())

    def save(self, path: File) -> None:
        """Write the file that `load` reads, and beside it those of its spellings and its reading if there are any."""
        Path(path).write_bytes(self.proto)
        if self.spellings is not None:
            Path(path).with_name(FILE).write_bytes(self.spellings)
        if content := self.reading.content():
            Path(path).with_name(READING).write_bytes(content)

    def encode(self, texts: Sequence[str], role: Role | None = "question") -> list[list[int]]:
        """Return the ids of each text, bos + pieces + eos, with the prompt of its role before it.

        More than the `reading` takes are cut off before eos. With the role None a text is its pieces alone, all of
        them. Lone surrogates become U+FFFD.
        """
        if isinstance(texts, str):
            raise InputError(f"expected a list of texts, got one text; give [{texts[:20]!r}]")
        if not texts:
            return []
        from ..export.encode import shortened

        prompt = self.reading.prompts.get(role or "", "")
        rows = self._rows([prompt + well_formed(text) for text in texts])
        rows = [self._expansions.expanded(row) for row in rows] if self._expansions else rows
        return [shortened(ids, self.reading.longest) for ids in rows] if role else rows

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
        """The tokenizer whose ids are those of the spellings too."""
        return self.with_proto(self.proto)

    def with_proto(self, proto: bytes, spellings: bytes | None = None) -> Tokenizer:
        """Return a tokenizer of other pieces, without spellings or with others, that reads texts as this one."""
        return Tokenizer(proto, self.source, spellings, self.reading)

    def places(self, text: str) -> tuple[list[int], list[tuple[int, int]]]:
        """Return the ids of a text's pieces, without bos and eos, and the place of each in it, in characters.

        Ids that one piece stands for all have its place.
        """
        pieces = self._placed(well_formed(text))
        if self._expansions:
            pieces = [(other, place) for id, place in pieces for other in self._expansions.expanded([id])]
        return [id for id, _ in pieces], [place for _, place in pieces]

    def _placed(self, text):
        if self._words:
            return list(_placed_words(self._words, text))
        if hasattr(self._processor, "encode_as_offset_mapping"):
            told = self._processor.encode_as_offset_mapping(text)
            return list(zip(told["ids"], map(tuple, told["offsets"]), strict=True))
        pieces = self._processor.encode(text, out_type="immutable_proto").pieces  # before SentencePiece 0.2.1
        return [(piece.id, (piece.begin, piece.end)) for piece in pieces]

    def normalize(self, texts: Sequence[str]) -> list[str]:
        """Return each text as it is cut into pieces: normalised, a space as U+2581."""
        if self._words:
            return ["".join(SPACE + word for word in self._words.words(well_formed(text))) for text in texts]
        return [self._processor.normalize(well_formed(text)) for text in texts]


def _placed_words(words, text):
    """Yield the id of each piece and its place, of an unknown word the whole word's."""
    from ..export.encode import WITHIN

    read = [(sign, place) for place, one in enumerate(text) for sign in words.signs[ord(one)]]
    for is_blank, group in groupby(read, key=lambda pair: pair[0].isspace()):
        signs, places = zip(*group, strict=True)
        first = 0
        for id in () if is_blank else words.ids("".join(signs)):
            many = len(words.pieces[id].removeprefix(WITHIN) if first else words.pieces[id])
            last = len(signs) if id == words.unknown else first + many
            yield id, (places[first], places[last - 1] + 1)
            first = last


SPACE = "\u2581"  # SentencePiece's mark for a space


def model_proto(tokenizer: Tokenizer) -> Message:
    """Return the `ModelProto` of a `Tokenizer`, a copy, without its spellings."""
    proto = _parsed(tokenizer.proto)
    if tokenizer.spellings is not None:
        del proto.pieces[len(tokenizer) :]
        proto.trainer_spec.vocab_size = len(tokenizer)
    return proto


def whole_proto(tokenizer: Tokenizer) -> Message:
    """Return the `ModelProto` of a `Tokenizer`, a copy, its spellings among the pieces."""
    return _parsed(tokenizer.proto)


def plain(tokenizer: Tokenizer) -> Tokenizer:
    """Return the tokenizer without its spellings."""
    if tokenizer.spellings is None:
        return tokenizer
    return tokenizer.with_proto(model_proto(tokenizer).SerializeToString())


def spellings_of(tokenizer: Tokenizer) -> list[Spelling]:
    """Return the spellings of a tokenizer, none of most."""
    if tokenizer.spellings is None:
        return []
    pieces = _parsed(tokenizer.proto).pieces
    expansions = Expansions.of(len(pieces), tokenizer.spellings, tokenizer.source)
    rows = zip(pieces[len(tokenizer) :], range(len(expansions)), strict=True)
    return [Spelling(piece.piece, piece.score, tuple(expansions[place])) for piece, place in rows]


def with_spellings(tokenizer: Tokenizer, spellings: Sequence[Spelling]) -> Tokenizer:
    """Return the tokenizer with these spellings in place of those that it has; one that is a piece is left out.

    None scores below the pieces, as SentencePiece counts <unk> from the lowest score of all. Raises `EncoderError` for
    other pieces than a unigram model's, which takes the best path through all.
    """
    proto = model_proto(tokenizer)
    lowest = min((piece.score for piece in proto.pieces if piece.type == piece.NORMAL), default=0.0)
    known = {piece.piece for piece in proto.pieces}
    free = [one for one in spellings if one.piece not in known]
    if not free:
        return plain(tokenizer)
    if proto.trainer_spec.model_type != proto.trainer_spec.UNIGRAM:
        raise EncoderError(f"{tokenizer.source}: only the pieces of a unigram model can have spellings beside them")
    for one in free:
        proto.pieces.add(piece=one.piece, score=max(lowest, one.score))
    proto.trainer_spec.vocab_size = len(proto.pieces)
    return tokenizer.with_proto(proto.SerializeToString(), content_of(stored(free)))


def empty_proto() -> Message:
    """Return a `ModelProto` without pieces, to be filled."""
    return _parsed(b"")


def _parsed(proto):
    from sentencepiece import sentencepiece_model_pb2

    return sentencepiece_model_pb2.ModelProto.FromString(proto)  # type: ignore[attr-defined]
