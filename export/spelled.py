"""An artefact with another way to cut text: spellings behind its pieces, and all else as it was."""

from __future__ import annotations

import shutil
from collections.abc import Mapping
from dataclasses import asdict
from pathlib import Path

from ..encoders.tokenizer import Tokenizer
from ..system.files import write_aside, write_json
from ..system.types import Json
from . import encode
from .card import README, stored_files
from .student import checked_card
from .subset import MEASURED

CARD_KEY = "spelled"
# Written anew.
OWN = (encode.CARD, encode.TOKENIZER, encode.SPELLINGS)


def write_spelled(folder: Path, output: Path, tokenizer: Tokenizer, notes: Mapping[str, Json], source: str) -> None:
    """Write the artefact in `folder` with a tokenizer that has spellings to `output`.

    `notes` go into the card, where `source` is named. Raises `EncoderError` for an artefact that is not whole.
    """
    card = checked_card(folder)
    with write_aside(output) as aside:
        aside.mkdir()
        for name in set(card["files"]) - set(OWN):
            shutil.copyfile(folder / name, aside / name)
        shutil.copyfile(encode.__file__, aside / "encode.py")
        tokenizer.save(aside / encode.TOKENIZER)
        files = {name: asdict(file) for name, file in stored_files(aside).items()}
        rest = {key: value for key, value in card.items() if key not in MEASURED}
        size = sum(file["bytes"] for file in files.values())
        rewritten = {**rest, "name": output.resolve().name, "source": source, "files": files, "bytes": size}
        write_json(aside / encode.CARD, {**rewritten, CARD_KEY: dict(notes)})
        if (folder / README).is_file():
            shutil.copyfile(folder / README, aside / README)
