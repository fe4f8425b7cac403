"""A larger vocabulary: pieces for languages that the base never saw, in one SentencePiece model with the old ones.

The new pieces stand behind the old ones, which keep id, score and order. A unigram model takes the best sum of scores
at every place, so a text is cut as before unless a new piece wins somewhere in it, and one that is not in it cannot.
"""

from __future__ import annotations

import io
import math
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING

import numpy as np

from ...encoders.encoder import KerasEncoder
from ...encoders.tokenizer import SPACE, Tokenizer, list_spellings, model_proto, with_spellings
from ...errors import EncoderError, InputError, first_line
from ...system.types import Floats
from ..rows import TABLE, with_table

if TYPE_CHECKING:
    from google.protobuf.message import Message

# What decides where a piece may begin and end.
BORDERS = (
    "max_sentencepiece_length",
    "split_by_unicode_script",
    "split_by_whitespace",
    "split_by_number",
    "split_digits",
    "treat_whitespace_as_suffix",
)


def trained_pieces(
    texts: Sequence[str], size: int, tokenizer: Tokenizer, coverage: float = 0.9995
) -> list[tuple[str, float]]:
    """Return `[(piece, score)]`, the normal pieces of a unigram model of at most `size`, learned from `texts`.

    The texts are normalised as `tokenizer` does it, and pieces end where its trainer let them end, so that they fit.
    `coverage` is the share of the texts' characters that get a piece of their own. Nothing in it is random, and it
    takes one thread, so the same texts give the same pieces.
    Raises `InputError` when the texts hold nothing to learn from, or more characters than `size`.
    """
    proto = unigram_proto(tokenizer)
    lines = [" ".join(line.replace(SPACE, " ").split()) for line in tokenizer.normalize(texts)]
    lines = [line for line in lines if line]
    if not lines:
        raise InputError("no text to learn pieces from; give texts of the new languages")
    learned = _train(lines, size, proto, coverage)
    return [(piece.piece, piece.score) for piece in learned.pieces if piece.type == piece.NORMAL]


def word_pieces(words: Mapping[str, float], tokenizer: Tokenizer) -> list[tuple[str, float]]:
    """Return `[(piece, score)]` of words and phrases `{word: frequency}`, normalised as `tokenizer` does it.

    Each begins a word, and a phrase is one piece with its spaces; single letters are left out, as they are pieces
    anyway. The score is the logarithm of the frequency.
    """
    units = [SPACE + text.replace(" ", SPACE).strip(SPACE) for text in tokenizer.normalize(list(words))]
    scored = zip(units, map(math.log, words.values()), strict=True)
    return [(unit, score) for unit, score in scored if len(unit) > 2]


def _train(lines, size, proto, coverage):
    import sentencepiece

    model = io.BytesIO()
    options = {name: getattr(proto.trainer_spec, name) for name in BORDERS}
    try:
        sentencepiece.SentencePieceTrainer.train(
            sentence_iterator=iter(lines),
            model_writer=model,
            vocab_size=size + 3,  # <unk>, <s> and </s> are counted too
            hard_vocab_limit=False,
            character_coverage=coverage,
            # Longer lines are left out without a word.
            max_sentence_length=max(len(line.encode()) for line in lines) + 1,
            normalization_rule_name="identity",
            add_dummy_prefix=proto.normalizer_spec.add_dummy_prefix,
            num_threads=1,
            minloglevel=3,
            **options,
        )
    except RuntimeError as error:
        if "required_chars" in str(error):
            raise InputError(f"{size} pieces are fewer than the texts' characters; ask for more pieces") from error
        raise InputError(f"SentencePiece learns no pieces from these texts: {first_line(error)}") from error
    return model_proto(Tokenizer(model.getvalue()))


def unigram_proto(tokenizer: Tokenizer) -> Message:
    """Return the `ModelProto`. Raises `EncoderError` for another model than a unigram one."""
    proto = model_proto(tokenizer)
    kind = proto.trainer_spec.model_type
    if kind != proto.trainer_spec.UNIGRAM:
        raise EncoderError(
            f"{tokenizer.source}: a {proto.trainer_spec.ModelType.Name(kind)} model cannot be extended: it has no "
            "scores that new pieces could be weighed against; give an encoder with a unigram model, such as muse"
        )
    return proto


def extended(tokenizer: Tokenizer, pieces: Sequence[tuple[str, float]], keep: Sequence[str] = ()) -> Tokenizer:
    """Return a tokenizer of all old pieces and behind them the new ones that `admitted` lets in.

    `pieces` are `(piece, score)` as `trained_pieces` gives them. No text of `keep` is cut otherwise than before.
    Raises `EncoderError` for another model than a unigram one, `InputError` when no piece is let in.
    """
    unigram_proto(tokenizer)
    new = admitted(tokenizer, pieces, keep)
    if not new:
        raise InputError(
            f"none of the {len(pieces)} pieces is new: the base has them, or the texts to keep hold them; "
            "give texts of languages that are not kept, or ask for more pieces"
        )
    return with_new_pieces(tokenizer, new)


def with_new_pieces(tokenizer: Tokenizer, new: Sequence[tuple[str, float]]) -> Tokenizer:
    """Return a tokenizer of all old pieces and behind them the new ones, `(piece, score)`, none of which is old.

    Raises `EncoderError` for another model than a unigram one.
    """
    proto = unigram_proto(tokenizer)
    for piece, score in _rescaled(proto, new):
        proto.pieces.add(piece=piece, score=score)
    proto.trainer_spec.vocab_size = len(proto.pieces)
    larger = tokenizer.with_proto(proto.SerializeToString())
    return larger if tokenizer.spellings is None else with_spellings(larger, list_spellings(tokenizer))


def admitted(
    tokenizer: Tokenizer, pieces: Sequence[tuple[str, float]], keep: Sequence[str] = ()
) -> list[tuple[str, float]]:
    """Return those `(piece, score)` that neither the pieces of `tokenizer` nor the texts of `keep` hold anywhere.

    What stands within an old piece is written in a language that the base knows, whether `keep` has text of it or not.
    """
    old = [piece.piece for piece in model_proto(tokenizer).pieces]
    wanted = {piece for piece, _ in pieces}
    known, lines = held(old, wanted), tokenizer.normalize(keep)
    phrases = {piece for piece in wanted - known if piece.startswith(SPACE) and SPACE in piece[1:]}
    known |= held(_units(lines, wanted - known - phrases), wanted - known - phrases) | held_phrases(lines, phrases)
    return [(piece, score) for piece, score in dict(pieces).items() if piece not in known]


def _units(lines, wanted):
    """The distinct words, which hold all that the lines hold of pieces without a space inside; else the lines."""
    if any(SPACE in piece[1:] for piece in wanted):
        return lines
    return sorted({SPACE + word for line in lines for word in line.split(SPACE)})


def held_phrases(lines: Iterable[str], phrases: Iterable[str]) -> set[str]:
    """Return those of the `phrases`, which begin with a space and have one inside, that occur in any of the lines."""
    by_word: dict[str, list[str]] = {}
    for phrase in phrases:
        by_word.setdefault(phrase.split(SPACE)[1], []).append(phrase)
    inside: set[str] = set()
    for line in lines:
        words = line.split(SPACE)
        for place, word in enumerate(words):
            if word in by_word:
                rest = SPACE + SPACE.join(words[place:])
                inside.update(phrase for phrase in by_word[word] if rest.startswith(phrase))
    return inside


def held(units: Iterable[str], wanted: set[str]) -> set[str]:
    """Return the set of the `wanted` strings that occur in any of the `units`."""
    lengths, inside = sorted({len(piece) for piece in wanted}), set()
    for unit in units:
        inside |= wanted.intersection(unit[i : i + n] for n in lengths for i in range(len(unit) - n + 1))
    return inside


def _rescaled(proto, new):
    # Scores are log probabilities, each model's sum to one: the new model gets a share as large as its share of the
    # pieces. None is below the old ones, as SentencePiece counts <unk> from the lowest score of all.
    old = [piece.score for piece in proto.pieces if piece.type == piece.NORMAL]
    share, lowest = math.log(len(new) / (len(new) + len(old))), min(old)
    return [(piece, max(score + share, lowest)) for piece, score in new]


def new_pieces(tokenizer: Tokenizer, larger: Tokenizer) -> list[str]:
    """Return the pieces that `larger` has behind those of `tokenizer`, in order."""
    return [piece.piece for piece in model_proto(larger).pieces[len(tokenizer) :]]


def mean_rows(encoder: KerasEncoder, larger: Tokenizer) -> Floats:
    """Return rows for the new pieces of `larger`, float32 `(new, width)`: the mean of the rows that a piece replaces.

    These are the old pieces of its text, `<unk>` left out; where nothing else is left, the mean of the table.
    """
    table = encoder.model.get_layer(TABLE).get_weights()[0]
    proto = model_proto(encoder.tokenizer)
    unknown = {id for id, piece in enumerate(proto.pieces) if piece.type == piece.UNKNOWN}
    texts = [piece.replace(SPACE, " ") for piece in new_pieces(encoder.tokenizer, larger)]
    cut = [[id for id in ids[1:-1] if id not in unknown] for ids in _verbatim(proto).encode(texts, None)]
    everything = table.mean(axis=0)
    return np.stack([table[ids].mean(axis=0) if ids else everything for ids in cut])


def _verbatim(proto):
    """The tokenizer that takes a piece's text as it stands, with the spaces that it has and no others."""
    plain = type(proto).FromString(proto.SerializeToString())
    plain.normalizer_spec.name, plain.normalizer_spec.precompiled_charsmap = "identity", b""
    plain.normalizer_spec.add_dummy_prefix = plain.normalizer_spec.remove_extra_whitespaces = False
    return Tokenizer(plain.SerializeToString())


def with_rows(encoder: KerasEncoder, larger: Tokenizer, rows: Floats) -> KerasEncoder:
    """Return the encoder with the tokenizer `larger` and `rows`, `(new, width)`, behind the old ones of its table."""
    table = encoder.model.get_layer(TABLE).get_weights()[0]
    model = with_table(encoder.model, np.concatenate([table, rows]).astype(table.dtype))
    return KerasEncoder(model, larger, encoder.name)
