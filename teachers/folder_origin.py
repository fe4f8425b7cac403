"""Whose weights lie in a folder of Hugging Face or Sentence-Transformers, and under which licence."""

from __future__ import annotations

import re
from pathlib import Path

from ..students.origin import UNKNOWN, Origin
from ..system.reading import read_json

PAGE, CARD, CONFIG = "README.md", "card.json", "config.json"
# The key of a page's head, which is YAML.
LICENCE = re.compile(r"^license: *[\"']?([A-Za-z0-9.+-]+)[\"']? *$", re.MULTILINE)
# A model's name on the hub, which older configs tell.
NAME = re.compile(r"[\w.-]+/[\w.-]+")


def origin_of_folder(folder: Path) -> Origin:
    """Return the name and the licence that a folder tells: those in our card, else its config's name and its page's.

    Without a name it is the folder's. Raises `DataError` for a config that is no JSON.
    """
    card = _values(folder / CARD)
    if "derives_from" in card:
        return Origin(str(card["derives_from"]), str(card.get("licence", UNKNOWN)))
    name = str(_values(folder / CONFIG).get("_name_or_path", ""))
    return Origin(name if NAME.fullmatch(name) else folder.resolve().name, _licence(folder / PAGE))


def _licence(page: Path) -> str:
    if not page.is_file():
        return UNKNOWN
    _, _, after = page.read_text(encoding="utf-8", errors="replace").partition("---\n")
    head, end, _ = after.partition("\n---")
    told = LICENCE.search(head) if end else None
    return told[1] if told else UNKNOWN


def _values(path: Path):
    content = read_json(path) if path.is_file() else {}
    return content if isinstance(content, dict) else {}
