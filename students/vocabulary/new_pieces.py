"""Enlarge a vocabulary by tokens for new languages, in one SentencePiece model with the old ones.

The new tokens come behind the old ones, which keep their ids, scores and order. A unigram model takes the best sum of
scores at every place, so a text is cut as before unless a new token wins somewhere, and only a token that the text
contains can win.
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
from ..embeddings import TABLE, replace_table

if TYPE_CHECKING:
    from google.protobuf.message import Message

# The settings of a trainer that decide where a token may begin and end.
BORDERS = (
    "max_sentencepiece_length",
    "split_by_unicode_script",
    "split_by_whitespace",
    "split_by_number",
    "split_digits",
    "treat_whitespace_as_suffix",
)


def train_tokens(
    texts: Sequence[str], size: int, tokenizer: Tokenizer, coverage: float = 0.9995
) -> list[tuple[str, float]]:
    """Train a unigram model on texts and return its normal tokens with their scores.

    The texts are normalised by `tokenizer`, and tokens may begin and end where its trainer allowed it, so that they
    fit. Nothing is random and one thread is used, so the same texts give the same tokens.
    """
    proto = load_unigram_proto(tokenizer)
    lines = [" ".join(line.replace(SPACE, " ").split()) for line in tokenizer.normalize(texts)]
    lines = [line for line in lines if line]
    if not lines:
        raise InputError("no text to learn pieces from; give texts of the new languages")
    learned = _train(lines, size, proto, coverage)
    return [(piece.piece, piece.score) for piece in learned.pieces if piece.type == piece.NORMAL]


def make_tokens(words: Mapping[str, float], tokenizer: Tokenizer) -> list[tuple[str, float]]:
    """Make a token of each word and phrase, normalised by a tokenizer.

    Each token begins a word, and a phrase is one token with its spaces. Single letters are left out, as they are tokens
    anyway. The score is the logarithm of the frequency. `words` is `{word: frequency}`. Returns the tokens, `[(piece,
    score)]`.
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
            vocab_size=size + 3,  # <unk>, <s> and </s> count too
            hard_vocab_limit=False,
            character_coverage=coverage,
            # SentencePiece silently drops longer lines.
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


def load_unigram_proto(tokenizer: Tokenizer) -> Message:
    """Return the `ModelProto` of a tokenizer. Raises `EncoderError` if it is not a unigram model."""
    proto = model_proto(tokenizer)
    kind = proto.trainer_spec.model_type
    if kind != proto.trainer_spec.UNIGRAM:
        raise EncoderError(
            f"{tokenizer.source}: a {proto.trainer_spec.ModelType.Name(kind)} model cannot be extended: it has no "
            "scores that new pieces could be weighed against; give an encoder with a unigram model, such as muse"
        )
    return proto


def extend_tokenizer(tokenizer: Tokenizer, pieces: Sequence[tuple[str, float]], keep: Sequence[str] = ()) -> Tokenizer:
    """Return a tokenizer with new tokens behind the old ones, as far as `select_new_tokens` allows them."""
    load_unigram_proto(tokenizer)
    new = select_new_tokens(tokenizer, pieces, keep)
    if not new:
        raise InputError(
            f"none of the {len(pieces)} pieces is new: the base has them, or the texts to keep hold them; "
            "give texts of languages that are not kept, or ask for more pieces"
        )
    return append_tokens(tokenizer, new)


def append_tokens(tokenizer: Tokenizer, new: Sequence[tuple[str, float]]) -> Tokenizer:
    """Return a unigram model's tokenizer with new tokens, none of them an old one, behind the old ones."""
    proto = load_unigram_proto(tokenizer)
    for piece, score in _rescale(proto, new):
        proto.pieces.add(piece=piece, score=score)
    proto.trainer_spec.vocab_size = len(proto.pieces)
    larger = tokenizer.with_proto(proto.SerializeToString())
    return larger if tokenizer.spellings is None else with_spellings(larger, list_spellings(tokenizer))


def select_new_tokens(
    tokenizer: Tokenizer, pieces: Sequence[tuple[str, float]], keep: Sequence[str] = ()
) -> list[tuple[str, float]]:
    """Select the tokens that occur neither in an old token nor in a text that must be cut as before.

    Text that occurs in an old token is in a language that the base knows, whether `keep` has text of it or not.
    """
    old = [piece.piece for piece in model_proto(tokenizer).pieces]
    wanted = {piece for piece, _ in pieces}
    known, lines = find_strings(old, wanted), tokenizer.normalize(keep)
    phrases = {piece for piece in wanted - known if piece.startswith(SPACE) and SPACE in piece[1:]}
    others = wanted - known - phrases
    known |= find_strings(_list_units(lines, others), others) | find_phrases(lines, phrases)
    return [(piece, score) for piece, score in dict(pieces).items() if piece not in known]


def _list_units(lines, wanted):
    """Return the distinct words of the lines, or the lines themselves if a wanted token has a space inside."""
    if any(SPACE in piece[1:] for piece in wanted):
        return lines
    return sorted({SPACE + word for line in lines for word in line.split(SPACE)})


def find_phrases(lines: Iterable[str], phrases: Iterable[str]) -> set[str]:
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


def find_strings(units: Iterable[str], wanted: set[str]) -> set[str]:
    lengths, inside = sorted({len(piece) for piece in wanted}), set()
    for unit in units:
        inside |= wanted.intersection(unit[i : i + n] for n in lengths for i in range(len(unit) - n + 1))
    return inside


def _rescale(proto, new):
    # Scores are log probabilities, which sum to one in each model. The new model gets a share equal to its share of the
    # tokens. No score is below the old ones, as SentencePiece computes that of <unk> from the lowest score of all.
    old = [piece.score for piece in proto.pieces if piece.type == piece.NORMAL]
    share, lowest = math.log(len(new) / (len(new) + len(old))), min(old)
    return [(piece, max(score + share, lowest)) for piece, score in new]


def list_new_tokens(tokenizer: Tokenizer, larger: Tokenizer) -> list[str]:
    """Return the tokens that a larger tokenizer has behind those of another."""
    return [piece.piece for piece in model_proto(larger).pieces[len(tokenizer) :]]


def compute_mean_embeddings(encoder: KerasEncoder, larger: Tokenizer) -> Floats:
    """Compute embeddings for new tokens: the mean of those of the tokens that they replace.

    These are the old tokens of the new token's text, except for `<unk>`. If there are none, the embedding is the mean
    of the table.
    """
    table = encoder.model.get_layer(TABLE).get_weights()[0]
    proto = model_proto(encoder.tokenizer)
    unknown = {id for id, piece in enumerate(proto.pieces) if piece.type == piece.UNKNOWN}
    texts = [piece.replace(SPACE, " ") for piece in list_new_tokens(encoder.tokenizer, larger)]
    cut = [[id for id in ids[1:-1] if id not in unknown] for ids in _make_verbatim(proto).encode(texts, None)]
    everything = table.mean(axis=0)
    return np.stack([table[ids].mean(axis=0) if ids else everything for ids in cut])


def _make_verbatim(proto):
    """Return a tokenizer that takes a token's text as it is, and neither adds nor removes spaces."""
    plain = type(proto).FromString(proto.SerializeToString())
    plain.normalizer_spec.name, plain.normalizer_spec.precompiled_charsmap = "identity", b""
    plain.normalizer_spec.add_dummy_prefix = plain.normalizer_spec.remove_extra_whitespaces = False
    return Tokenizer(plain.SerializeToString())


def append_embeddings(encoder: KerasEncoder, larger: Tokenizer, rows: Floats) -> KerasEncoder:
    """Return the encoder with a larger tokenizer and the embeddings of its new tokens."""
    table = encoder.model.get_layer(TABLE).get_weights()[0]
    model = replace_table(encoder.model, np.concatenate([table, rows]).astype(table.dtype))
    return KerasEncoder(model, larger, encoder.name)
