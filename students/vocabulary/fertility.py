"""Compare how two vocabularies cut the same texts: tokens per word, unknown tokens, and how often the cuts differ."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

import numpy as np

from ...encoders.tokenizer import Tokenizer, model_proto
from ...system.types import IdLists, Integers, Json
from .pieces import list_prompts
from .scripts import SHARED, find_script

UNSPACED = frozenset({"Thai", "Laoo", "Khmr", "Mymr", "Hani", "Hira", "Kana"})  # no spaces between words


def compare(before: Tokenizer, after: Tokenizer, old_ids: Integers, texts: Sequence[str]) -> dict[str, Json]:
    """Compare two tokenizers on non-empty texts. The tokens bos and eos do not count.

    Args:
        before: The first tokenizer.
        after: The second tokenizer.
        old_ids: The first tokenizer's id of each token of the second, int `(tokens,)`.
        texts: The texts.

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
    """Compute the number of tokens per word, or per character without spaces.

    Args:
        rows: The texts as lists of token ids, with bos and eos.
        unit: "word" or "character".
    """
    units = [text.split() if unit == "word" else "".join(text.split()) for text in texts]
    return sum(len(row) - 2 for row in rows) / max(1, sum(map(len, units)))


def compute_unknown_share(rows: Sequence[Sequence[int]], tokenizer: Tokenizer) -> float:
    """Compute the share of `<unk>` among the tokens.

    SentencePiece makes one `<unk>` of several unknown characters in a row.

    Args:
        rows: The texts as lists of token ids, with bos and eos.
    """
    unknown = next(id for id, piece in enumerate(model_proto(tokenizer).pieces) if piece.type == piece.UNKNOWN)
    pieces = sum(len(row) - 2 for row in rows)
    return sum(row.count(unknown) for row in rows) / max(1, pieces)
