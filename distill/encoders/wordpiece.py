"""BERT's tokens in the container of all others: a SentencePiece model holds their order and types."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, NamedTuple

from ..errors import EncoderError
from .tokenizer import Tokenizer, empty_proto

if TYPE_CHECKING:
    from ..export.encode import Reading


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
    """Make a tokenizer of BERT's tokens.

    Args:
        pieces: The tokens in their order, with `##` before those within a word. Of equal ones the last counts, as in
            Hugging Face's tokenizers.
        others: Further tokens that stand for no text.

    Raises:
        EncoderError: If the unknown token, bos or eos is missing.
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
