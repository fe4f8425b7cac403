"""Convert a SentencePiece model to sections of a file and back."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np

from ...encoders.spellings import parse_spellings, serialise_spellings
from ...encoders.tokenizer import Tokenizer, empty_proto, whole_proto
from ...errors import ExportError
from ..encode import Reading

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
