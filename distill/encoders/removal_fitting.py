"""Fitting of language information removal on sample text."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from ..errors import InputError
from ..system.progress import say, task
from ..system.types import Floats
from .encoder import Encoder
from .language_removal import PROBE, LanguageRemoval

# Numbers of removed components in the paper's Tables 1 and 5.
RANKS = (1, 2, 3, 4)
# LIR is fitted on at most so many sentences per language, as in the paper.
SENTENCES = 10_000


@dataclass(frozen=True)
class Samples:
    """Texts that language information removal is fitted on. `texts` is `{language: texts}`."""

    name: str
    texts: Mapping[str, list[str]]

    @property
    def counts(self) -> dict[str, int]:
        """The number of texts by language."""
        return {language: len(texts) for language, texts in self.texts.items()}


@dataclass(frozen=True)
class RemovalOptions:
    """How language information is removed: by which ranks, and whether vectors are scaled to unit length afterwards."""

    ranks: tuple[int, ...] = RANKS
    rescaled: bool = True

    def of(self, removal: LanguageRemoval, vectors: Floats, language: str, rank: int) -> Floats:
        """Return unit vectors `(n, d)` without the first directions of their language."""
        return (removal.remove if self.rescaled else removal.project_out)(vectors, language, rank)


DEFAULT_REMOVAL = RemovalOptions()


def fit_highest_rank(samples: Mapping[str, Floats], ranks: Sequence[int] = RANKS) -> LanguageRemoval | None:
    """Fit a removal of the highest rank that each sample has directions for, if any; a message names those too high."""
    for rank in sorted(ranks, reverse=True):
        try:
            removal = LanguageRemoval.fit(samples, rank)
        except InputError:
            continue
        if higher := [str(one) for one in ranks if one > rank]:
            say(
                f"language information removal: no {', '.join(higher)} directions in the sample text; "
                f"at most {rank} can be removed"
            )
        return removal
    return None


def require_enough(texts: Mapping[str, Sequence[str]], rank: int) -> None:
    """Raise `InputError` if a language has fewer texts than directions, before they are encoded."""
    for language, lines in texts.items():
        if len(lines) < rank:
            raise InputError(
                f"{language}: {len(lines)} texts, expected at least {rank}, as many as directions; give more text"
            )


def fit_encoder_removal(encoder: Encoder, texts: Mapping[str, Sequence[str]], rank: int) -> LanguageRemoval:
    """Fit the language information removal of an encoder on sample text, with its vector of `PROBE`."""
    with task("encode the sample text", sum(map(len, texts.values()))) as advance:
        samples = {language: encoder.encode(lines, "document", advance) for language, lines in texts.items()}
    probe = encoder.encode([PROBE], "document")[0]
    return replace(LanguageRemoval.fit(samples, rank, encoder.name), probe=probe)


def require_samples(samples: Samples, languages: Sequence[str]) -> None:
    """Raise `InputError` if a language has no sample text. Raises `InputError` if a language has none."""
    missing = [language for language in languages if language not in samples.texts]
    if missing:
        raise InputError(
            f"--corpus has no text in {', '.join(missing)}; LIR needs text in every language, "
            f"and the corpus has only {', '.join(sorted(samples.texts))}"
        )
