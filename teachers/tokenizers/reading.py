"""Read the prompts and the maximum length from a Sentence-Transformers or Hugging Face folder."""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from ...system.input_files import read_json
from ...system.types import Json

if TYPE_CHECKING:
    from ...export.encode import Reading

# E5 models were trained with these prompts (Wang et al., 2022, section 3.2), except for those with instructions.
E5 = re.compile(r"(?<![a-z0-9])e5(?![a-z0-9])(?!.*instruct)", re.IGNORECASE)
E5_PROMPTS = {"question": "query: ", "document": "passage: "}
NO_PROMPTS = {"question": "", "document": ""}
PROMPTS_FILE, SETTINGS_FILE = "config_sentence_transformers.json", "tokenizer_config.json"
# The first that is there counts.
ARCHITECTURES = ("bert", "roberta", "distilbert", "camembert", "albert", "xlm-roberta", "xlnet")
SENTENCE_FILES = tuple(f"sentence_{name}_config.json" for name in ARCHITECTURES)
# Where these hold settings of the tokenizer, by the name of older versions and of newer ones.
TOKENIZER_ARGUMENTS = ("tokenizer_args", "processor_kwargs")
# Tokenizers without a limit have 10 ** 30.
LIMIT = 1_000_000


def select_prompts(named: Mapping[str, str | None]) -> dict[str, str] | None:
    """Return the prompts by role that Sentence-Transformers takes of those a model names, or None if there are none.

    Since its version 5 it puts the prompt "document" before documents, be it empty, and no other.
    """
    prompts = {"question": named.get("query"), "document": named.get("document")}
    return {role: prompt or "" for role, prompt in prompts.items()} if any(prompts.values()) else None


def choose_prompts(folder: Path) -> dict[str, str]:
    """Return the prompts by role of a model's folder: its own, or E5's if it says nothing of any and E5 is its name."""
    named = read_settings(folder / PROMPTS_FILE).get("prompts")
    if isinstance(named, dict):
        return select_prompts(named) or NO_PROMPTS
    return E5_PROMPTS if E5.search(folder.resolve().name) else NO_PROMPTS


def read_folder_reading(folder: Path, inner: Path, positions: int | None = None) -> Reading:
    """Read the prompts and the maximum number of tokens from a model's folder.

    The number is that of Sentence-Transformers' settings, or else the tokenizer's; at most that of the positions.
    """
    from ...export.encode import Reading

    prompts = choose_prompts(folder)
    sentence = read_settings(find_sentence_file(inner))
    limit = read_arguments(sentence).get("model_max_length") or sentence.get("max_seq_length")
    if limit is None:
        limit = read_settings(inner / SETTINGS_FILE).get("model_max_length")
    known = [limit for limit in (limit, positions) if type(limit) is int and 2 <= limit < LIMIT]
    return Reading({role: prompt for role, prompt in prompts.items() if prompt}, min(known, default=None))


def find_sentence_file(inner: Path) -> Path:
    """Return the file of Sentence-Transformers' settings of a module, which older versions named by architecture."""
    paths = [inner / name for name in SENTENCE_FILES]
    return next((path for path in paths if read_settings(path)), paths[0])


def read_tokenizer_settings(inner: Path) -> dict[str, Json]:
    """Return the settings of a tokenizer, those that Sentence-Transformers hands to its class among them."""
    return {**read_settings(inner / SETTINGS_FILE), **read_arguments(read_settings(find_sentence_file(inner)))}


def read_arguments(sentence: Mapping[str, Json]) -> dict[str, Json]:
    """Return the settings of a tokenizer that Sentence-Transformers' settings of a module have."""
    return {key: value for name in TOKENIZER_ARGUMENTS for key, value in (sentence.get(name) or {}).items()}


def read_settings(path: Path) -> Json:
    """Return the object in a file, empty for another content and for a file that is not there."""
    content = read_json(path) if path.is_file() else {}
    return content if isinstance(content, dict) else {}
