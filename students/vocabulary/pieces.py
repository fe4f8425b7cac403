"""Reduce a vocabulary to some of its tokens, in the SentencePiece model and in the encoder's table.

Tokens keep their order, so the new id of a token is its place among the kept ones. `require_kept_vectors`
compares the smaller encoder with the one that it was cut from, as a question and as a document.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Protocol

import numpy as np

from ...encoders.encoder import KerasEncoder
from ...encoders.spellings import renumber_spellings
from ...encoders.tokenizer import SPACE, Tokenizer, list_spellings, model_proto, with_spellings
from ...errors import EncoderError
from ...export.encode import WITHIN
from ...system.types import Doubles, Floats, Integers, Role
from ..embeddings import TABLE, replace_table

if TYPE_CHECKING:
    from google.protobuf.message import Message

ROLES: tuple[Role, ...] = ("question", "document")
# The least cosine to the encoder before of a text that loses no token, and the number of texts that are compared.
LEAST, MOST_TEXTS = 0.999, 32


def find_used_tokens(tokenizer: Tokenizer, texts: Sequence[str], least: int = 1) -> set[int]:
    """Find the tokens that occur at least `least` times in some texts, without bos and eos."""
    return set(np.flatnonzero(count_tokens(tokenizer, texts) >= least).tolist())


def count_tokens(tokenizer: Tokenizer, texts: Sequence[str]) -> Integers:
    """Count how often texts use each token, without bos, eos, and the tokens of the prompts.

    A prompt that ends without a blank changes how the text behind it is cut, so a token counts by the role that uses it
    most.
    """
    counts = _count(tokenizer, list(texts))
    for prompt in list_prompts(tokenizer):
        behind = _count(tokenizer, [prompt + text for text in texts]) - len(texts) * _count(tokenizer, [prompt])
        counts = np.maximum(counts, behind)
    return counts


def _count(tokenizer, texts):
    ids = (id for row in tokenizer.encode(texts, None) for id in row[1:-1])
    return np.bincount(np.fromiter(ids, dtype=np.int64), minlength=len(tokenizer))


def list_prompts(tokenizer: Tokenizer) -> list[str]:
    """Return the distinct prompts that the tokenizer puts before texts, by any role."""
    return [prompt for prompt in dict.fromkeys(tokenizer.reading.prompts.values()) if prompt]


def find_prompt_tokens(tokenizer: Tokenizer) -> set[int]:
    """Find the tokens of the prompts, without which every text would have another vector."""
    return {id for row in tokenizer.encode(list_prompts(tokenizer), None) for id in row[1:-1]}


def find_added_tokens(before: Tokenizer, after: Tokenizer) -> Integers:
    """Find the tokens of a tokenizer that another one lacks. Returns their ids in `after`, int64 `(n,)`."""
    known = {piece.piece for piece in model_proto(before).pieces}
    return np.array([id for id, piece in enumerate(model_proto(after).pieces) if piece.piece not in known], np.int64)


def prune_tokenizer(
    tokenizer: Tokenizer, kept_ids: Iterable[int], always: Iterable[int] | None = None
) -> tuple[Tokenizer, Integers]:
    """Reduce a tokenizer to some of its tokens.

    The tokens of its prompts are kept too, and those from which a BPE model merges the kept ones. A text all of whose
    tokens are in `kept_ids` is cut into the same tokens as before. `always` are the ids of tokens that are kept in
    addition; by default those of `find_required_tokens`. Returns the smaller tokenizer, and the old id of each of its
    tokens, int64 `(tokens,)`. Raises `EncoderError` if there is no token with one of the ids.
    """
    proto = model_proto(tokenizer)
    kept = {int(id) for id in kept_ids}
    if kept and not 0 <= min(kept) <= max(kept) < len(proto.pieces):
        raise EncoderError(f"{tokenizer.source}: it has {len(proto.pieces)} pieces, no id {min(kept)} or {max(kept)}")
    kept |= find_required_tokens(proto) if always is None else set(always)
    kept |= find_prompt_tokens(tokenizer)
    if proto.trainer_spec.model_type == proto.trainer_spec.BPE:
        kept |= find_merge_parts(proto, kept)
    old_ids = np.array(sorted(kept), dtype=np.int64)
    return _select_tokens(tokenizer, proto, old_ids), old_ids


def prune_encoder(encoder: KerasEncoder, kept_ids: Iterable[int]) -> KerasEncoder:
    """Reduce an encoder to some of its tokens and their embeddings. Texts of these tokens keep their vectors."""
    return replace_tokenizer(encoder, *prune_tokenizer(encoder.tokenizer, kept_ids))


def replace_tokenizer(encoder: KerasEncoder, tokenizer: Tokenizer, old_ids: Integers) -> KerasEncoder:
    """Return an encoder with the tokenizer and the old ids that `prune_tokenizer` returned."""
    table = encoder.model.get_layer(TABLE).get_weights()[0]
    return KerasEncoder(replace_table(encoder.model, table[old_ids]), tokenizer, encoder.name)


def sort_by_use(encoder: KerasEncoder, use: Doubles) -> KerasEncoder:
    """Return the encoder with its normal tokens ordered by use, the most used first.

    The embeddings are reordered too, and all other tokens keep their places at the front. Texts keep their tokens and
    vectors, since a unigram model and BERT's rules cut texts regardless of ids; an encoder with another kind of model
    is returned unchanged.
    """
    if not has_free_order(encoder.tokenizer):
        return encoder
    pieces = model_proto(encoder.tokenizer).pieces
    places = np.array([id for id, piece in enumerate(pieces) if piece.type == piece.NORMAL], dtype=np.int64)
    old_ids = np.arange(len(pieces))
    old_ids[places] = places[np.argsort(-use[places], kind="stable")]
    return reorder_encoder(encoder, old_ids)


def has_free_order(tokenizer: Tokenizer) -> bool:
    """Check whether the order of the tokens does not matter: for a unigram model and for BERT's rules."""
    spec = model_proto(tokenizer).trainer_spec
    return spec.model_type in (spec.UNIGRAM, spec.WORD)


def reorder_encoder(encoder: KerasEncoder, old_ids: Integers) -> KerasEncoder:
    """Return the encoder with its tokens and their embeddings in another order, given by the old id of each."""
    return replace_tokenizer(encoder, reorder_tokenizer(encoder.tokenizer, old_ids), old_ids)


def reorder_tokenizer(tokenizer: Tokenizer, old_ids: Integers) -> Tokenizer:
    """Return the tokenizer with its tokens in another order."""
    return _select_tokens(tokenizer, model_proto(tokenizer), old_ids)


def find_required_tokens(proto: Message) -> set[int]:
    """Return the ids that are always kept: special tokens, single characters, and the token with the lowest score.

    A character that loses its token is `<unk>`, however common it is: without these tokens the unknown share of
    Japanese rises from 0.1 % to 27 %.
    """
    single = {id for id, piece in enumerate(list_bare_tokens(proto)) if len(piece) <= 1}
    special = {id for id, piece in enumerate(proto.pieces) if piece.type not in (piece.NORMAL, piece.UNUSED)}
    return single | special | find_lowest_token(proto)


def list_bare_tokens(proto: Message) -> list[str]:
    """Return the text of each token without its blank, and without BERT's mark of a token within a word."""
    within = WITHIN if proto.trainer_spec.model_type == proto.trainer_spec.WORD else ""
    return [piece.piece.removeprefix(within).strip(SPACE) for piece in proto.pieces]


def find_lowest_token(proto: Message) -> set[int]:
    """Return the id of the normal token with the lowest score, or an empty set without normal tokens."""
    # A unigram model takes the best sum of scores at every place. Fewer tokens are fewer rivals, and never a better
    # one: a winner that is kept still wins, ties included, as the first of ties won and still comes first. But the
    # score of <unk> is computed from the lowest of all, so the token that has it is kept.
    normal = [id for id, piece in enumerate(proto.pieces) if piece.type == piece.NORMAL]
    return {min(normal, key=lambda id: proto.pieces[id].score)} if normal else set()


def find_merge_parts(proto: Message, kept_ids: Iterable[int]) -> set[int]:
    """Find all tokens from which BPE merges the kept ones.

    Merges never cross the border of a token in the result, so the characters of a token alone show how it was merged,
    in any text.
    """
    ids = {piece.piece: id for id, piece in enumerate(proto.pieces) if piece.type in (piece.NORMAL, piece.UNUSED)}
    scores = {text: proto.pieces[id].score for text, id in ids.items()}
    return {ids[text] for id in kept_ids for text in merge_characters(proto.pieces[id].piece, scores)}


def merge_characters(text: str, scores: Mapping[str, float]) -> list[str]:
    """Return the tokens that BPE merges a text's characters into: the best pair first, and the leftmost of ties."""
    parts, merged = list(text), []
    while pairs := [i for i in range(len(parts) - 1) if parts[i] + parts[i + 1] in scores]:
        best = max(pairs, key=lambda i: scores[parts[i] + parts[i + 1]])
        parts[best : best + 2] = [parts[best] + parts[best + 1]]
        merged.append(parts[best])
    return merged


def _select_tokens(tokenizer, proto, old_ids):
    """Return the tokenizer of these tokens, with those of its aliases that stand for them."""
    smaller = tokenizer.with_proto(_select_in_proto(proto, old_ids).SerializeToString())
    if tokenizer.spellings is None:
        return smaller
    places = {int(old): new for new, old in enumerate(old_ids)}
    return with_spellings(smaller, renumber_spellings(list_spellings(tokenizer), places))


def _select_in_proto(proto, old_ids):
    """Return the model with only these tokens, and with the sizes and ids of its trainer adapted."""
    pieces = [proto.pieces[id] for id in old_ids]
    places = {int(old): new for new, old in enumerate(old_ids)}
    smaller = type(proto)()
    smaller.CopyFrom(proto)
    del smaller.pieces[:]
    smaller.pieces.extend(pieces)
    smaller.trainer_spec.vocab_size = len(pieces)
    for name in ("unk_id", "bos_id", "eos_id", "pad_id"):
        if (old := getattr(proto.trainer_spec, name)) in places:
            setattr(smaller.trainer_spec, name, places[old])
    return smaller


class TokenEncoder(Protocol):
    """An encoder with its tokenizer."""

    @property
    def tokenizer(self) -> Tokenizer: ...

    def encode(self, texts: Sequence[str], role: Role = "question") -> Floats: ...


def require_kept_vectors(whole: TokenEncoder, cut: TokenEncoder, texts: Sequence[str]) -> dict[Role, float]:
    """Require that texts that lose no token keep their vectors, prompts and all.

    `texts` are the texts, of which some are compared, evenly spread. Returns the least cosine between both encoders by
    role, over all the compared texts. Raises `EncoderError` if a text that loses no token has another vector.
    """
    some, least = list(texts)[:: max(1, -(-len(texts) // MOST_TEXTS))], {}
    alike = np.array([one == other for one, other in zip(*(_cut(each, some) for each in (whole, cut)), strict=True)])
    for role in ROLES:
        cosines = np.sum(whole.encode(some, role) * cut.encode(some, role), axis=1)
        for place in np.flatnonzero(alike & ~(cosines >= LEAST)):
            raise EncoderError(
                f"{some[place]!r} loses no token, but its vector as a {role} has cosine {cosines[place]:.4f} to that "
                f"of the encoder before, expected {LEAST}; keep all tokens, and report this"
            )
        least[role] = float(min(cosines, default=1.0))
    return least


def _cut(encoder, texts):
    """Return the tokens of each text alone, as strings."""
    pieces = [piece.piece for piece in model_proto(encoder.tokenizer).pieces]
    return [[pieces[id] for id in row] for row in encoder.tokenizer.encode(texts, None)]
