"""Pieces by Unicode script: what can be written in Latin, Thai, … stays, whatever a corpus happens to hold."""

from __future__ import annotations

import difflib
from collections.abc import Iterable
from functools import cache

from fontTools import unicodedata

from ...encoders.tokenizer import Tokenizer, model_proto
from ...errors import ConfigError

SHARED = frozenset({"Zyyy", "Zinh", "Zzzz"})  # digits, punctuation, accents, what is not assigned


def script_codes(names: Iterable[str]) -> set[str]:
    """Return ISO 15924 codes, `{"Latn"}`, of names or codes in any case. Raises `ConfigError` naming near ones."""
    known = {text.casefold(): code for code, name in unicodedata.Scripts.NAMES.items() for text in (code, name)}
    for name in names:
        if _key(name) not in known:
            raise ConfigError(f"no such Unicode script: {name}{_near(_key(name), known)}")
    return {known[_key(name)] for name in names}


def _key(name):
    return name.strip().replace(" ", "_").casefold()


def _near(name, known):
    near = dict.fromkeys(unicodedata.Scripts.NAMES[known[text]] for text in difflib.get_close_matches(name, known))
    return f"; did you mean {' or '.join(near)}?" if near else "; give names such as Latin, Cyrillic, Arabic, Han"


def script_pieces(tokenizer: Tokenizer, scripts: Iterable[str]) -> set[int]:
    """Return the set of ids whose characters are all of these scripts (names or codes) or of none, such as digits."""
    wanted = script_codes(scripts) | SHARED
    return {id for id, piece in enumerate(model_proto(tokenizer).pieces) if scripts_of(piece.piece) <= wanted}


def scripts_of(text: str) -> set[str]:
    """Return the set of ISO 15924 codes of a text's characters, `Zyyy` where a character belongs to all scripts."""
    return {script(character) for character in text}


@cache
def script(character: str) -> str:
    """Return the ISO 15924 code of a character."""
    return unicodedata.script(character)
