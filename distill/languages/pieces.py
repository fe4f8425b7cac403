"""Pieces of a language, and their rows before anything is trained."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

import numpy as np

from ..encoders.encoder import Encoder, KerasEncoder
from ..encoders.tokenizer import Tokenizer
from ..students.vocabulary.lexicon import translated
from ..students.vocabulary.new_pieces import extended, trained_pieces, with_rows, word_pieces
from ..students.vocabulary.pieces import piece_counts, reordered
from ..students.vocabulary.transplant import shown, transplant
from ..system.progress import say, task
from ..system.types import Floats
from .material import Material

# A word of the text is frequent that occurs so often.
OFTEN = 3


def with_language(
    encoder: KerasEncoder, material: Material, learned: int, words: int, aligner: Encoder | None
) -> KerasEncoder:
    """Return the encoder with pieces of a language behind its own, the most used first, and rows by meaning.

    So many are `learned` from its text, and so many of its frequent `words` have one each, at most.
    """
    tokenizer = larger_tokenizer(encoder.tokenizer, material, learned, words)
    say(f"{len(tokenizer) - len(encoder.tokenizer)} pieces for {material.language}")
    return with_rows(encoder, tokenizer, rows_by_meaning(encoder, tokenizer, material, aligner))


def larger_tokenizer(before: Tokenizer, material: Material, learned: int, words: int) -> Tokenizer:
    """Return the tokenizer with the pieces that neither it nor other languages' text holds, the most used first."""
    frequent = frequent_words(material, words)
    with task(f"pieces of {material.language}", 2) as advance:
        # A list of words tells stems and endings that the text has not.
        pieces = trained_pieces([*material.texts, *material.words], learned, before)
        advance()
        kept = [text for texts in material.others.values() for text in texts]
        after, _ = extended(before, [*pieces, *word_pieces(frequent, before)], kept)
        advance()
    counts = piece_counts(after, list(material.texts)) + piece_counts(after, list(frequent))
    ids = np.arange(len(after))
    new = ids[len(before) :]
    return reordered(after, np.concatenate([ids[: len(before)], new[np.argsort(-counts[new], kind="stable")]]))


def frequent_words(material: Material, most: int) -> dict[str, float]:
    """Return `{word: frequency}`, at most so many: words that the text has `OFTEN`, and those that are given."""
    counts = Counter(word for text in material.texts for word in words_of(text))
    words = {word: count / counts.total() for word, count in counts.items() if count >= OFTEN}
    for word, share in material.words.items():
        words[word] = max(share, words.get(word, 0.0))
    return dict(sorted(words.items(), key=lambda pair: (-pair[1], pair[0]))[:most])


def words_of(text: str) -> Sequence[str]:
    """Return the words of a text, without the punctuation around them."""
    parts = (part.strip("".join(sign for sign in part if not sign.isalnum())) for part in text.split())
    return [part for part in parts if part and not part.isdigit()]


def rows_by_meaning(encoder: KerasEncoder, after: Tokenizer, material: Material, aligner: Encoder | None) -> Floats:
    """Return rows `(new, width)` by the translations of lines and, with an `aligner` that knows the language, by it.

    A piece that both know has the mean of the two.
    """
    with task("rows by translations", 1) as advance:
        meant = translated(encoder, after, material.pairs)
        advance()
    if aligner is None:
        return meant.rows
    near = transplant(encoder, after, aligner)
    for piece, anchors in shown(encoder.tokenizer, after, near).items():
        say(f"{piece}: " + ", ".join(f"{anchor} {weight:.2f}" for anchor, weight in anchors))
    known = [each.weights.max(axis=1, keepdims=True) > 0 for each in (meant, near)]
    mean = np.where(known[1], (meant.rows + near.rows) / 2, meant.rows)
    return np.where(known[0], mean, near.rows).astype(meant.rows.dtype)
