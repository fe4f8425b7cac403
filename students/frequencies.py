"""The frequency of each piece, by which a static student weighs it: in text, of its unigram model, or of words."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from importlib.util import find_spec

import numpy as np

from ..encoders.tokenizer import Tokenizer, model_proto
from ..errors import ConfigError, EncoderError
from ..system.types import Doubles, IdLists

SMOOTHING = 1e-3
# Words that come once in a million or more often.
WORD_LIST = "small"


@dataclass(frozen=True)
class Frequencies:
    """How often each piece occurs, `counts` float64 `(pieces,)`; `smoothing` is the a of its weight a / (a + p)."""

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
        """Return those of `rows`, id lists of texts, or what another `source` expects in as many pieces.

        "unigram": `unigram_shares`; "wordfreq": `word_shares` of the `languages`, and in text what no list of words
        holds, such as all of a language without one.
        """
        counts = np.bincount(np.concatenate(rows), minlength=len(tokenizer)).astype(np.float64)
        if source == "unigram":
            counts = counts.sum() * unigram_shares(tokenizer)
        elif source == "wordfreq":
            shares = word_shares(tokenizer, languages)
            counts = np.where(shares > 0, counts.sum() * shares, counts)
        return cls(counts, smoothing)


def unigram_shares(tokenizer: Tokenizer) -> Doubles:
    """Return the probability of each piece, `(pieces,)`: the exponential of its score in a unigram model.

    Kudo (2018), Subword regularization, section 3.1; over the pieces that are there. Raises `EncoderError` for another
    model.
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


def word_shares(tokenizer: Tokenizer, languages: Sequence[str]) -> Doubles:
    """Return each piece's share of all pieces of the words of `languages`, `(pieces,)`, the mean of the languages.

    A word counts as often as `wordfreq` (Speer, 2022) says. Raises `ConfigError` where it has none of the languages.
    """
    import wordfreq

    known = [language for language in languages if language in wordfreq.available_languages(WORD_LIST)]
    if not known:
        raise ConfigError(f"shape.frequencies: wordfreq has no words in {', '.join(languages)}; take text or unigram")
    return np.mean([_shares(tokenizer, wordfreq.get_frequency_dict(name, WORD_LIST)) for name in known], axis=0)


def _shares(tokenizer, words):
    cut = [ids[1:-1] for ids in tokenizer.encode(list(words), None)]
    often = np.repeat(list(words.values()), [len(ids) for ids in cut])
    counts = np.bincount(np.concatenate(cut).astype(np.int64), weights=often, minlength=len(tokenizer))
    return counts / counts.sum()


def require_source(source: str) -> None:
    """Raise `ConfigError` where a source of frequencies is a package that is not installed."""
    if source == "wordfreq" and find_spec("wordfreq") is None:
        raise ConfigError("shape.frequencies: wordfreq is not installed; pip install 'distill[wordfreq]', or take text")
