"""Texts that stage 2 learns as people type them."""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from ..settings.sections import StudentSettings
from ..system.types import Booleans
from ..typed.kinds import has_kind, typed


@dataclass(frozen=True)
class Typist:
    """A `share` of texts is typed as in the `kinds` of `choices.TYPED` that their language has; drawn by `seed`."""

    share: float
    kinds: tuple[str, ...]
    seed: int = 0

    @classmethod
    def of(cls, settings: StudentSettings, seed: int) -> Typist:
        """The typist that the settings ask for."""
        return cls(settings.typed_share, tuple(settings.typed_kinds), seed)

    def variants(self, texts: Sequence[str], languages: Sequence[str]) -> list[str]:
        """Each text as typed, one for the seed; one of no known language or kind as it is. None where no share is."""
        if not self.share:
            return []
        languages = languages or [""] * len(texts)
        return [self._variant(text, language) for text, language in zip(texts, languages, strict=True)]

    def _variant(self, text, language):
        kinds = [kind for kind in self.kinds if has_kind(language, kind)] if language else []
        if not kinds:
            return text
        return typed(text, language, random.Random(f"{self.seed}\n{text}").choice(kinds), self.seed)

    def drawn(self, steps: int, size: int, epoch: int) -> Booleans:
        """bool `(steps, size)`: true where the text of a step is typed."""
        return np.random.default_rng((self.seed, 10, epoch)).random((steps, size)) < self.share
