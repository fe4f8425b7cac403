"""Warn once about texts in a language that a bundle leaves out, by their share of unknown tokens."""

from __future__ import annotations

from collections.abc import Sequence

from ...export.formats.bundle import Bundle
from ...export.languages import CARD_KEY
from ...system.progress import say
from ...system.types import Json
from ..encoder import Encoder

# The share of `<unk>` among the pieces of some texts from which on it is said; of a language that is kept it is near 0.
MOST = 0.02


class LeftOut:
    """Watches the texts of an encoder until some have too many unknown tokens.

    Only bundles that leave out languages (`distill subset`) are watched.
    """

    def __init__(self, encoder: Encoder) -> None:
        card: dict[str, Json] = {**encoder.card} if isinstance(encoder, Bundle) else {}
        pieces = card.get(CARD_KEY, {})
        self.missing = [name for name in pieces.get("kept", ()) if name not in pieces["languages"]]
        self.bundle = encoder if isinstance(encoder, Bundle) and self.missing else None

    @property
    def is_looking(self) -> bool:
        """True if the encoder leaves out languages and no warning was given yet."""
        return self.bundle is not None

    def look(self, texts: Sequence[str], first: int = 0) -> None:
        """Check texts, and warn once."""
        if self.bundle is None:
            return
        unknown, rows = self.bundle.tokenizer.unk_id(), [self.bundle.tokenize(text, None) for text in texts]
        share = sum(row.count(unknown) for row in rows) / max(1, sum(len(row) - 2 for row in rows))
        if share > MOST:
            last = first + len(texts) - 1
            missing, name = ", ".join(self.missing), self.bundle.name
            say(f"{100 * share:.1f} % of the pieces of texts {first} to {last} are <unk>: {name} leaves out {missing}")
            self.bundle = None
