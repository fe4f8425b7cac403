"""Token frequencies, which weight the embeddings of a static student: from text, a unigram model or word lists."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from importlib.util import find_spec

import numpy as np

from ..encoders.tokenizer import Tokenizer, model_proto
from ..errors import ConfigError, EncoderError
from ..system.extras import install_command
from ..system.types import Doubles, IdLists

SMOOTHING = 1e-3
# The list of words that occur at least once in a million.
WORD_LIST = "small"


@dataclass(frozen=True)
class Frequencies:
    """How often each token occurs, `counts` float64 `(tokens,)`, and the `smoothing` a of its weight a / (a + p)."""

    counts: Doubles
    smoothing: float = SMOOTHING

    @classmethod
    def of(
        cls,
        tokenizer: Tokenizer,
        rows: IdLists,
        source: str = "text",
        smoothing: float = SMOOTHING,
        languages: Sequence[str] = (),
    ) -> Frequencies:
        """Count tokens in text, or estimate the counts from another source.

        With "wordfreq" a token that no word list contains keeps its count in text, such as all tokens of a language
        without a list. `source` is "text", "unigram" (`compute_unigram_shares`) or "wordfreq" (`compute_word_shares`).
        """
        counts = np.bincount(np.concatenate(rows), minlength=len(tokenizer)).astype(np.float64)
        if source == "unigram":
            counts = counts.sum() * compute_unigram_shares(tokenizer)
        elif source == "wordfreq":
            shares = compute_word_shares(tokenizer, languages)
            counts = np.where(shares > 0, counts.sum() * shares, counts)
        return cls(counts, smoothing)


def compute_unigram_shares(tokenizer: Tokenizer) -> Doubles:
    """Return the probability of each token, `(tokens,)`: the exponential of its score in a unigram model.

    The probabilities are normalised over the tokens of the vocabulary. Kudo (2018), Subword regularization, section
    3.1. Raises `EncoderError` for another kind of model.
    """
    proto = model_proto(tokenizer)
    kind = proto.trainer_spec.model_type
    if kind != proto.trainer_spec.UNIGRAM:
        raise EncoderError(
            f"{tokenizer.source}: the scores of a {proto.trainer_spec.ModelType.Name(kind)} model are no "
            "probabilities; set shape.frequencies to text or wordfreq"
        )
    shares = np.array([np.exp(piece.score) if piece.type == piece.NORMAL else 0.0 for piece in proto.pieces])
    return shares / shares.sum()


def compute_word_shares(tokenizer: Tokenizer, languages: Sequence[str]) -> Doubles:
    """Compute the share of each token among the tokens of the words of some languages, averaged over the languages.

    The frequency of a word is that of `wordfreq` (Speer, 2022).
    """
    import wordfreq

    known = [language for language in languages if language in wordfreq.available_languages(WORD_LIST)]
    if not known:
        raise ConfigError(f"shape.frequencies: wordfreq has no words in {', '.join(languages)}; take text or unigram")
    return np.mean([_compute_shares(tokenizer, wordfreq.get_frequency_dict(name, WORD_LIST)) for name in known], axis=0)


def _compute_shares(tokenizer, words):
    cut = [ids[1:-1] for ids in tokenizer.encode(list(words), None)]
    often = np.repeat(list(words.values()), [len(ids) for ids in cut])
    counts = np.bincount(np.concatenate(cut).astype(np.int64), weights=often, minlength=len(tokenizer))
    return counts / counts.sum()


def require_source(source: str) -> None:
    """Raise `ConfigError` if a source of frequencies needs a package that is not installed."""
    if source == "wordfreq" and find_spec("wordfreq") is None:
        remedy = f"take text, or run: {install_command('wordfreq')}"
        raise ConfigError(f"shape.frequencies: wordfreq is not installed; {remedy}")
