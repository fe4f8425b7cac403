"""Read the prompts and the maximum length from a Sentence-Transformers or Hugging Face folder."""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from ...system.reading import read_json
from ...system.types import Json

if TYPE_CHECKING:
    from ...export.encode import Reading

# E5 models were trained with these prompts (Wang et al., 2022, section 3.2), except for those with instructions.
E5 = re.compile(r"(?<![a-z0-9])e5(?![a-z0-9])(?!.*instruct)", re.IGNORECASE)
E5_PROMPTS = {"question": "query: ", "document": "passage: "}
NO_PROMPTS = {"question": "", "document": ""}
SENTENCE_FILE, PROMPTS_FILE, SETTINGS_FILE = (
    "sentence_bert_config.json",
    "config_sentence_transformers.json",
    "tokenizer_config.json",
)
# Tokenizers without a limit have 10 ** 30.
LIMIT = 1_000_000


def select_prompts(named: Mapping[str, str | None]) -> dict[str, str] | None:
    """Return the prompts by role that a Sentence-Transformers model names itself, or None if it has none."""
    prompts = {"question": named.get("query"), "document": named.get("document") or named.get("passage")}
    return {role: prompt or "" for role, prompt in prompts.items()} if any(prompts.values()) else None


def read_folder_reading(folder: Path, inner: Path, positions: int | None = None) -> Reading:
    """Read the prompts and the maximum number of tokens from a model's folder.

    If a model names no prompts, they are E5's if E5 is in the folder's name.

    Args:
        folder: The folder.
        inner: The folder of its tokenizer.
        positions: The number of positions of the model.

    Returns:
        The prompts and the maximum length.
    """
    from ...export.encode import Reading

    named = _read_settings(folder / PROMPTS_FILE).get("prompts")
    prompts = select_prompts(named if isinstance(named, dict) else {})
    if prompts is None:
        prompts = E5_PROMPTS if E5.search(folder.resolve().name) else {}
    limits = [
        _read_settings(inner / SENTENCE_FILE).get("max_seq_length"),
        _read_settings(inner / SETTINGS_FILE).get("model_max_length"),
    ]
    known = [limit for limit in (*limits, positions) if type(limit) is int and 2 <= limit < LIMIT]
    return Reading({role: prompt for role, prompt in prompts.items() if prompt}, min(known, default=None))


def _read_settings(path: Path) -> Json:
    content = read_json(path) if path.is_file() else {}
    return content if isinstance(content, dict) else {}
