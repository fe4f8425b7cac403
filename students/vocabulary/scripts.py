"""Tokens by Unicode script, so that all that can be written in Latin, Thai or another script is kept."""

from __future__ import annotations

import difflib
from collections.abc import Iterable
from functools import cache

from fontTools import unicodedata

from ...encoders.tokenizer import Tokenizer, model_proto
from ...errors import ConfigError

SHARED = frozenset({"Zyyy", "Zinh", "Zzzz"})  # digits, punctuation, accents, unassigned


def parse_scripts(names: Iterable[str]) -> set[str]:
    """Return the ISO 15924 codes, as `{"Latn"}`, of script names or codes in any case.

    Raises `ConfigError` for an unknown name, with similar ones.
    """
    known = {text.casefold(): code for code, name in unicodedata.Scripts.NAMES.items() for text in (code, name)}
    for name in names:
        if _key(name) not in known:
            raise ConfigError(f"no such Unicode script: {name}{_suggest(_key(name), known)}")
    return {known[_key(name)] for name in names}


def _key(name):
    return name.strip().replace(" ", "_").casefold()


def _suggest(name, known):
    near = dict.fromkeys(unicodedata.Scripts.NAMES[known[text]] for text in difflib.get_close_matches(name, known))
    return f"; did you mean {' or '.join(near)}?" if near else "; give names such as Latin, Cyrillic, Arabic, Han"


def find_script_tokens(tokenizer: Tokenizer, scripts: Iterable[str]) -> set[int]:
    """Find the tokens all of whose characters are of some scripts or, like digits, of all scripts."""
    wanted = parse_scripts(scripts) | SHARED
    return {id for id, piece in enumerate(model_proto(tokenizer).pieces) if find_scripts(piece.piece) <= wanted}


def find_scripts(text: str) -> set[str]:
    """Return the ISO 15924 codes of a text's characters, `Zyyy` for a character that belongs to all scripts."""
    return {find_script(character) for character in text}


@cache
def find_script(character: str) -> str:
    """Return the ISO 15924 code of a character."""
    return unicodedata.script(character)
