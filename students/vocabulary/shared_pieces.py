"""The pieces that every language needs: digits, punctuation, control pieces, and the letters of its scripts."""

from __future__ import annotations

import unicodedata
from collections import Counter
from collections.abc import Iterable
from typing import TYPE_CHECKING

from .pieces import bare_pieces, lowest
from .scripts import SHARED, script, scripts_of

if TYPE_CHECKING:
    from google.protobuf.message import Message

# The share of a language's pieces from which on their script is one of its own: text quotes other languages.
OWN = 0.05


def shared_pieces(proto: Message, scripts: Iterable[str]) -> set[int]:
    """Return the ids that stay whatever the language: without a letter, one letter of `scripts` or ASCII, special.

    Special are bytes, `<unk>`, control pieces, and the piece of the lowest score: that of `<unk>` is counted from it.
    """
    letters = set(scripts)
    bare = zip(proto.pieces, bare_pieces(proto), strict=True)
    kept = {id for id, (piece, text) in enumerate(bare) if _is_special(piece) or _is_shared(text, letters)}
    return kept | lowest(proto)


def own_scripts(proto: Message, ids: Iterable[int]) -> set[str]:
    """Return the ISO 15924 codes of the scripts that make up a share `OWN` or more of the pieces."""
    counts = Counter(code for id in ids for code in scripts_of(proto.pieces[id].piece) - SHARED)
    return {code for code, count in counts.items() if count >= OWN * counts.total()}


def _is_special(piece):
    return piece.type not in (piece.NORMAL, piece.UNUSED)


def _is_shared(text, scripts):
    if len(text) == 1 and (text.isascii() or script(text) in scripts):
        return True
    return not any(unicodedata.category(sign)[0] in "LM" for sign in text)
