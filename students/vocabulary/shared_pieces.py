"""The tokens that every language needs: digits, punctuation, special tokens, and the letters of its scripts."""

from __future__ import annotations

import unicodedata
from collections import Counter
from collections.abc import Iterable
from typing import TYPE_CHECKING

from .pieces import find_lowest_token, list_bare_tokens
from .scripts import SHARED, find_script, find_scripts

if TYPE_CHECKING:
    from google.protobuf.message import Message

# A script belongs to a language from this share of its tokens on, since text quotes other languages.
MAIN_SHARE = 0.05


def find_shared_tokens(proto: Message, scripts: Iterable[str]) -> set[int]:
    """Find the tokens that are kept for any language: those without a letter, single letters, and special tokens.

    Special tokens are bytes, `<unk>`, control tokens, and the token with the lowest score, from which that of `<unk>`
    is computed.
    """
    letters = set(scripts)
    bare = zip(proto.pieces, list_bare_tokens(proto), strict=True)
    kept = {id for id, (piece, text) in enumerate(bare) if _is_special(piece) or _is_shared(text, letters)}
    return kept | find_lowest_token(proto)


def find_main_scripts(proto: Message, ids: Iterable[int]) -> set[str]:
    """Find the scripts that make up a share `OWN` or more of some tokens.

    Returns:
        The ISO 15924 codes of the scripts.
    """
    counts = Counter(code for id in ids for code in find_scripts(proto.pieces[id].piece) - SHARED)
    return {code for code, count in counts.items() if count >= MAIN_SHARE * counts.total()}


def _is_special(piece):
    return piece.type not in (piece.NORMAL, piece.UNUSED)


def _is_shared(text, scripts):
    if len(text) == 1 and (text.isascii() or find_script(text) in scripts):
        return True
    return not any(unicodedata.category(sign)[0] in "LM" for sign in text)
