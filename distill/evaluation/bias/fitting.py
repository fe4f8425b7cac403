"""Language information removal fitted on sample text."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

from ...encoders.encoder import Encoder
from ...errors import InputError
from ...system.progress import task
from .removal import PROBE, LanguageRemoval


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
