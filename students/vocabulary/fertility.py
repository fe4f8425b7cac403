"""Compare how two vocabularies cut the same texts: tokens per word, unknown tokens, and how often the cuts differ."""

from __future__ import annotations

import difflib
from collections import Counter
from collections.abc import Iterable, Sequence
from functools import cache

import numpy as np
from fontTools import unicodedata

from ...encoders.tokenizer import Tokenizer, model_proto
from ...errors import ConfigError
from ...system.types import IdLists, Integers, Json
from .pieces import list_prompts

SHARED = frozenset({"Zyyy", "Zinh", "Zzzz"})  # digits, punctuation, accents, unassigned


def parse_scripts(names: Iterable[str]) -> set[str]:
    """Return the ISO 15924 codes, as `{"Latn"}`, of script names or codes in any case."""
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


UNSPACED = frozenset({"Thai", "Laoo", "Khmr", "Mymr", "Hani", "Hira", "Kana"})  # no spaces between words


def compare(before: Tokenizer, after: Tokenizer, old_ids: Integers, texts: Sequence[str]) -> dict[str, Json]:
    """Compare two tokenizers on non-empty texts. The tokens bos and eos do not count.

    Args:
        old_ids: The first tokenizer's id of each token of the second, int `(tokens,)`.

    Returns:
        `texts`, their number; `unit`, "word" or "character"; `fertility`, the tokens per unit, and `unk`, the share of
            `<unk>` among the tokens, each as `[before, after]`; and `changed`, the share of texts that are cut
            differently, alone or behind one of the prompts.
    """
    first, second = before.encode(list(texts), None), after.encode(list(texts), None)
    changed = np.zeros(len(texts), dtype=bool)
    for prompt in ("", *list_prompts(before)):
        rows = (each.encode([prompt + text for text in texts], None) for each in (before, after))
        changed |= [a != [old_ids[id] for id in b] for a, b in zip(*rows, strict=True)]
    unit = choose_unit(texts)
    return {
        "texts": len(texts),
        "unit": unit,
        "fertility": [compute_fertility(rows, texts, unit) for rows in (first, second)],
        "unk": [compute_unknown_share(first, before), compute_unknown_share(second, after)],
        "changed": float(changed.mean()),
    }


def choose_unit(texts: Sequence[str]) -> str:
    """Return "character" if most letters are of scripts that put no spaces between words, else "word"."""
    counts = Counter("".join(texts))
    letters = {sign: count for sign, count in counts.items() if find_script(sign) not in SHARED}
    unspaced = sum(count for sign, count in letters.items() if find_script(sign) in UNSPACED)
    return "character" if 2 * unspaced > sum(letters.values()) else "word"


def compute_fertility(rows: IdLists, texts: Sequence[str], unit: str) -> float:
    """Compute the number of tokens per word, or per character without spaces. `unit` is "word" or "character"."""
    units = [text.split() if unit == "word" else "".join(text.split()) for text in texts]
    return sum(len(row) - 2 for row in rows) / max(1, sum(map(len, units)))


def compute_unknown_share(rows: Sequence[Sequence[int]], tokenizer: Tokenizer) -> float:
    """Compute the share of `<unk>`, one for several unknown characters in a row, among the tokens."""
    unknown = next(id for id, piece in enumerate(model_proto(tokenizer).pieces) if piece.type == piece.UNKNOWN)
    pieces = sum(len(row) - 2 for row in rows)
    return sum(row.count(unknown) for row in rows) / max(1, pieces)
