"""Read the author and the licence of the weights in a folder of Hugging Face or Sentence-Transformers."""

from __future__ import annotations

import re
from pathlib import Path

from ..students.origin import UNKNOWN, Origin
from ..system.input_files import read_json

PAGE, CARD, CONFIG = "README.md", "card.json", "config.json"
# The licence in the head of a page, which is YAML.
LICENCE = re.compile(r"^license: *[\"']?([A-Za-z0-9.+-]+)[\"']? *$", re.MULTILINE)
# A model's name on the hub, which older configs contain.
NAME = re.compile(r"[\w.-]+/[\w.-]+")


def read_folder_origin(folder: Path) -> Origin:
    """Read the name and the licence from a folder: from our card, or from its config and its page.

    Without a name it is that of the folder. Raises `DataError` for a config that is not JSON.
    """
    card = _read_values(folder / CARD)
    if "derives_from" in card:
        return Origin(str(card["derives_from"]), str(card.get("licence", UNKNOWN)))
    name = str(_read_values(folder / CONFIG).get("_name_or_path", ""))
    return Origin(name if NAME.fullmatch(name) else folder.resolve().name, _read_licence(folder / PAGE))


def _read_licence(page: Path) -> str:
    if not page.is_file():
        return UNKNOWN
    _, _, after = page.read_text(encoding="utf-8", errors="replace").partition("---\n")
    head, end, _ = after.partition("\n---")
    told = LICENCE.search(head) if end else None
    return told[1] if told else UNKNOWN


def _read_values(path: Path):
    content = read_json(path) if path.is_file() else {}
    return content if isinstance(content, dict) else {}
