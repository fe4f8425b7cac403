"""Language information removal fitted on sample text."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

from ...encoders.encoder import Encoder
from ...errors import InputError
from ...system.progress import say, task
from ...system.types import Floats
from .removal import PROBE, LanguageRemoval

# Components removed in the paper's Tables 1 and 5.
RANKS = (1, 2, 3, 4)


@dataclass(frozen=True)
class Removed:
    """How language information is removed: `ranks`, numbers of directions, a row of a table each.

    `rescaled`: vectors are scaled to unit length afterwards. The paper's Equation 1 leaves them shorter.
    """

    ranks: tuple[int, ...] = RANKS
    rescaled: bool = True

    def of(self, removal: LanguageRemoval, vectors: Floats, language: str, rank: int) -> Floats:
        """Unit rows `(n, d)` in a language without its first `rank` directions."""
        return (removal.remove if self.rescaled else removal.left)(vectors, language, rank)


AS_EVER = Removed()


def fitted(samples: Mapping[str, Floats], ranks: Sequence[int] = RANKS) -> LanguageRemoval | None:
    """A `LanguageRemoval` of the highest of `ranks` that each sample has directions for; None where one has none.

    Which ranks are higher is said.
    """
    for rank in sorted(ranks, reverse=True):
        try:
            removal = LanguageRemoval.fit(samples, rank)
        except InputError:
            continue
        if higher := [str(one) for one in ranks if one > rank]:
            say(f"language information removal: no {', '.join(higher)} directions in the sample text, {rank} at most")
        return removal
    return None


def require_enough(texts: Mapping[str, Sequence[str]], rank: int) -> None:
    """Raise `InputError` for a language with fewer texts than directions: before they are encoded."""
    for language, lines in texts.items():
        if len(lines) < rank:
            raise InputError(f"{language}: {len(lines)} texts, expected at least {rank}, the rank; give more text")


def removal_of(encoder: Encoder, texts: Mapping[str, Sequence[str]], rank: int) -> LanguageRemoval:
    """The `LanguageRemoval` of an encoder, fitted on sample text by language, with the encoder's vector of `PROBE`."""
    with task("encode the sample text", sum(map(len, texts.values()))) as advance:
        samples = {language: encoder.encode(lines, "document", advance) for language, lines in texts.items()}
    probe = encoder.encode([PROBE], "document")[0]
    return replace(LanguageRemoval.fit(samples, rank, encoder.name), probe=probe)
