"""An artefact with another way to cut text: spellings behind its pieces, and all else as it was."""

from __future__ import annotations

import shutil
from collections.abc import Mapping
from dataclasses import asdict
from pathlib import Path

from ..encoders.tokenizer import Tokenizer, spellings_of
from ..students.origin import derivation, origin_in
from ..system.files import write_aside, write_json, write_text
from ..system.types import Json
from . import encode
from .card import README, stored_files
from .formats.registry import format_of
from .languages import PieceLanguages, write_languages
from .student import checked_card
from .subset import MEASURED, SPELLED

# Written anew.
OWN = (encode.CARD, encode.TOKENIZER, encode.SPELLINGS, encode.READING)


def write_spelled(
    folder: Path,
    output: Path,
    tokenizer: Tokenizer,
    notes: Mapping[str, Json],
    source: str,
    pieces: PieceLanguages | None = None,
) -> None:
    """Write the artefact in `folder` with a tokenizer that has spellings to `output`.

    `notes` go into the card, where `source` is named; the languages that use its `pieces` stay as they are where none
    are given. Raises `EncoderError` for an artefact that is not whole.
    """
    card = checked_card(folder)
    with write_aside(output) as aside:
        aside.mkdir()
        for name in set(card["files"]) - set(OWN):
            shutil.copyfile(folder / name, aside / name)
        shutil.copyfile(encode.__file__, aside / "encode.py")
        tokenizer.save(aside / encode.TOKENIZER)
        if pieces:
            write_languages(aside, pieces)
        files = {name: asdict(file) for name, file in stored_files(aside).items()}
        rest = {key: value for key, value in card.items() if key not in MEASURED}
        size = sum(file["bytes"] for file in files.values())
        rewritten = {**rest, "name": output.resolve().name, "source": source, "files": files, "bytes": size}
        rewritten |= {SPELLED: dict(notes)}
        write_json(aside / encode.CARD, rewritten)
        write_text(aside / README, page(rewritten, len(spellings_of(tokenizer))))


def page(card: Mapping[str, Json], many: int) -> str:
    """Return the card of an artefact with so many spellings as a page of Markdown."""
    how = format_of(card["format"]).how_to.format(dimension=card["dimension"], max_length=card["max_length"])
    return PAGE.format(
        **{key: card[key] for key in ("name", "dimension", "source")},
        derived=derivation(origin_in(card), SAID),
        how=how,
        kinds=", ".join(card[SPELLED]["kinds"]),
        many=f"{many:,}",
        size=f"{card['bytes'] / 1e6:.1f} MB",
    )


SAID = "`card.json` says the same with the files' sha256, and the spellings by kind and language."
PAGE = """# {name}

A sentence encoder: text in, {dimension} numbers of unit length out. It is {source} with {many} spellings
({kinds}), each read as other pieces: what people type as the words as they are written,
and `words` as what they mean. A text that is cut as before has the vector that it had there.

{how}

- size: {size}
- source: {source}

{derived}
"""
