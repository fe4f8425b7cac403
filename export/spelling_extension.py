"""Add spellings to an artefact's tokenizer and leave everything else as it is."""

from __future__ import annotations

import shutil
from collections.abc import Mapping
from dataclasses import asdict
from pathlib import Path

from ..encoders.tokenizer import Tokenizer, list_spellings
from ..students.origin import describe_origin, read_origin
from ..system.files import write_aside, write_json, write_text
from ..system.types import Json
from . import encode
from .card import README, stored_files
from .formats.registry import format_of
from .languages import TokenLanguages, write_languages
from .student import read_checked_card
from .subset import MEASURED_KEYS, SPELLINGS_KEY

# These files are written again and not copied.
REWRITTEN = (encode.CARD, encode.TOKENIZER, encode.SPELLINGS, encode.READING, encode.SCRIPT.name)


def write_with_spellings(
    folder: Path,
    output: Path,
    tokenizer: Tokenizer,
    notes: Mapping[str, Json],
    source: str,
    pieces: TokenLanguages | None = None,
) -> None:
    """Write an artefact whose tokenizer has spellings; the languages of its tokens stay, unless `pieces` has others."""
    card = read_checked_card(folder)
    with write_aside(output) as aside:
        aside.mkdir()
        for name in set(card["files"]) - set(REWRITTEN):
            shutil.copyfile(folder / name, aside / name)
        shutil.copyfile(encode.__file__, aside / "encode.py")
        tokenizer.save(aside / encode.TOKENIZER)
        if pieces:
            write_languages(aside, pieces)
        files = {name: asdict(file) for name, file in stored_files(aside).items()}
        rest = {key: value for key, value in card.items() if key not in MEASURED_KEYS}
        size = sum(file["bytes"] for file in files.values())
        rewritten = {**rest, "name": output.resolve().name, "source": source, "files": files, "bytes": size}
        rewritten |= {SPELLINGS_KEY: dict(notes)}
        write_json(aside / encode.CARD, rewritten)
        write_text(aside / README, render_page(rewritten, len(list_spellings(tokenizer))))


def render_page(card: Mapping[str, Json], count: int) -> str:
    """Return the README of an artefact with spellings."""
    how = format_of(card["format"]).how_to.format(dimension=card["dimension"], max_length=card["max_length"])
    return PAGE.format(
        **{key: card[key] for key in ("name", "dimension", "source")},
        derived=describe_origin(read_origin(card), CARD_NOTE),
        how=how,
        kinds=", ".join(card[SPELLINGS_KEY]["kinds"]),
        many=f"{count:,}",
        size=f"{card['bytes'] / 1e6:.1f} MB",
    )


CARD_NOTE = "`card.json` has the same facts, the sha256 of the files, and the spellings by kind and language."
PAGE = """# {name}

A sentence encoder. It turns a text into a vector of {dimension} numbers with unit length. It is {source} with {many}
spellings ({kinds}). Each spelling is read as other tokens: a noisy form as the word in its correct form, and `words`
as what they mean. A text that is tokenized as before keeps its vector.

{how}

- size: {size}
- source: {source}

{derived}
"""
