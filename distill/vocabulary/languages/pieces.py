"""The tokens of a new language, and their embeddings before training."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

import numpy as np

from ...encoders.encoder import Encoder, KerasEncoder
from ...encoders.tokenizer import SPACE, Tokenizer, model_proto
from ...errors import InputError
from ...students.vocabulary.new_pieces import append_tokens, make_tokens, train_tokens
from ...students.vocabulary.pieces import count_tokens, reorder_tokenizer
from ...system.progress import say, task
from ...system.types import Doubles, Floats, Integers
from .lexicon_induction import InducedLexicon, commonest_words, induce_lexicon, split_words, transplant_translations
from .material import Lexicon, Material, main_script, scripts_of_language

# A word of the text is frequent that occurs so often.
OFTEN = 3
# A piece is the language's own that it uses so many times as often as any other does, or others in so small a share of
# theirs: parallel text has lines that nobody translated. In rounds, as a text that loses one is cut into another.
OWN, STRAY, ROUNDS = 5.0, 4e-6, 2
# Texts that tell a language's script, words that an aligner is asked for, and of these those that a person is shown.
SOME, ALIGNED, SHOWN = 100, 30_000, 12
# Words of a list that tell stems and endings; more of them, each of which counts once, would outweigh the text.
STEMS = 40_000


def larger_tokenizer(before: Tokenizer, material: Material, learned: int, words: int) -> Tokenizer:
    """Add tokens of the language to a tokenizer, most frequent first."""
    known, frequent = {piece.piece for piece in model_proto(before).pieces}, frequent_words(material, words)
    with task(f"pieces of {material.language}", 1 + ROUNDS) as advance:
        # A list of words tells stems and endings that the text has not.
        learned_pieces = train_tokens([*material.texts, *list(material.words)[:STEMS]], learned, before)
        pieces = {
            piece: score for piece, score in [*learned_pieces, *make_tokens(frequent, before)] if piece not in known
        }
        advance()
        texts, others = [*material.texts, *frequent], same_script(material)
        for _ in range(ROUNDS):
            after = append_tokens(before, list(pieces.items()))
            foreign = find_used_elsewhere(after, texts, others)
            names = [piece.piece for piece in model_proto(after).pieces]
            pieces = {piece: pieces[piece] for piece in names[len(before) :] if piece not in foreign}
            advance()
    if not pieces:
        raise InputError(f"no piece of {material.language} is new: the encoder, or other languages, have them all")
    return sort_by_use(append_tokens(before, list(pieces.items())), len(before), texts)


def same_script(material: Lexicon) -> list[Sequence[str]]:
    """Return the texts of each other language with the same script."""
    scripts = scripts_of_language(material.language)
    return [rows for rows in material.others.values() if {main_script(text) for text in rows[:SOME]} & scripts]


def find_used_elsewhere(tokenizer: Tokenizer, texts: Sequence[str], others: Sequence[Sequence[str]]) -> set[str]:
    """Return the tokens whose share in another language exceeds `OWN` and `STRAY`."""
    share = compute_shares(count_tokens(tokenizer, list(texts)))
    most = np.max([compute_shares(count_tokens(tokenizer, list(rows))) for rows in others], axis=0, initial=0.0)
    names = [piece.piece for piece in model_proto(tokenizer).pieces]
    return {names[id] for id in np.flatnonzero(most > np.maximum(share / OWN, STRAY))}


def compute_shares(counts: Integers) -> Doubles:
    """Return each number's share of their sum."""
    return counts / max(1, counts.sum())


def sort_by_use(tokenizer: Tokenizer, first: int, texts: Sequence[str]) -> Tokenizer:
    """Keep the new tokens that texts use, most frequent first."""
    counts, ids = count_tokens(tokenizer, list(texts)), np.arange(len(tokenizer))
    order = ids[first:][np.argsort(-counts[first:], kind="stable")]
    return reorder_tokenizer(tokenizer, np.concatenate([ids[:first], order[counts[order] > 0]]))


def frequent_words(material: Material, most: int) -> dict[str, float]:
    """Return the given words, and those that the text has at least `OFTEN` times, with their frequencies."""
    counts = Counter(word for text in material.texts for word in split_words(text))
    words = {word: count / counts.total() for word, count in counts.items() if count >= OFTEN}
    for word, share in material.words.items():
        words[word] = max(share, words.get(word, 0.0))
    return dict(sorted(words.items(), key=lambda pair: (-pair[1], pair[0]))[:most])


def embed_by_meaning(
    encoder: KerasEncoder, after: Tokenizer, material: Material, near: InducedLexicon | None
) -> Floats:
    """Compute embeddings for new tokens from translations of lines, from similar words, or as the mean of both."""
    with task("rows by translations", 1) as advance:
        meant = transplant_translations(encoder, after, material.pairs)
        advance()
    if near is None:
        return meant.rows
    places = {text: place for place, text in enumerate(near.texts)}
    texts = plain_pieces(after, len(encoder.tokenizer))
    rows = near.rows(encoder)[[places[text] for text in texts]]
    written = np.array([any(map(str.isalpha, text)) for text in texts])[:, None]
    known = meant.weights.max(axis=1, keepdims=True) > 0
    return np.where(written, np.where(known, (meant.rows + rows) / 2, rows), meant.rows).astype(meant.rows.dtype)


def plain_pieces(tokenizer: Tokenizer, first: int) -> list[str]:
    """Return the tokens from an id on as text."""
    return [piece.piece.replace(SPACE, " ").strip() for piece in model_proto(tokenizer).pieces[first:]]


def find_near_words(before: Tokenizer, after: Tokenizer, material: Lexicon, aligner: Encoder) -> InducedLexicon:
    """Find the words of the translations that an aligner puts near new tokens and given words."""
    texts = dict.fromkeys([*plain_pieces(after, len(before)), *list(material.words)[:ALIGNED]])
    words = commonest_words([pivot for source in material.lines for pivot in source.pivots])
    near = induce_lexicon(list(texts), words, aligner)
    for place in range(0, len(near.texts), max(1, len(near.texts) // SHOWN)):
        weights = zip(near.nearest[place], near.weights[place], strict=True)
        say(f"{near.texts[place]}: " + ", ".join(f"{near.words[id]} {weight:.2f}" for id, weight in weights))
    return near
