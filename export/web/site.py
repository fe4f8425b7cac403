"""Write the files of a page that searches by itself, served by any static server: see docs/web.md."""

from __future__ import annotations

import html
import json
import os
import shutil
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from string import Template

import numpy as np

from ...errors import DataError, EncoderError
from ...system.hashes import fingerprint_of, join_hashes
from ...system.sections import read_sections, write_sections
from ...system.types import Json
from .pieces import write_pieces

ENCODER, INDEX = "encoder.bin", "index.bin"
# The same two, laid out for range requests.
PIECES, CLUSTERS = "pieces.bin", "clusters.bin"
PROGRAM = "distill.wasm"
SOURCES = Path(__file__).parent
# The entries of an index's card that name an encoder.
ENCODERS = ("encoder", "question_encoder", "word_encoder")
TITLE, HEADING = "Search by meaning", "Ask in your own language"
ABOUT = "A small encoder and its index, in this page alone. Nothing that you type leaves it."
# Templates, into which facts about the page's files are filled.
TEMPLATES = ("index.html", "offline.js", "manifest.webmanifest")
SCRIPTS = ("engine", "distill", "sections", "notes", "notebook", "ranged", "ranges", "checks", "pieces", "clusters")
COPIED = ("page.css", "page.js", *(f"{name}.js" for name in SCRIPTS), "icon.svg", PROGRAM)


@dataclass(frozen=True)
class PageText:
    """The texts of a page, the default ones where they are empty. The title is also that of the installed app."""

    title: str = ""
    about: str = ""

    def values(self) -> dict[str, str]:
        """Return the values for the page's templates, escaped for their places."""
        title, about = html.escape(self.title), html.escape(self.about)
        # The name is placed inside a JSON string, so it comes without quotes.
        name = json.dumps(self.title or TITLE, ensure_ascii=False)[1:-1]
        return {
            "title": title or TITLE,
            "heading": title or HEADING,
            "about": about or ABOUT,
            "usual": "" if about else "usual",
            "name": name,
        }


def write_page(folder: Path, text: PageText = PageText()) -> None:
    """Write the page for the encoder in a folder, and for the index if there is one."""
    for name in COPIED:
        shutil.copyfile(SOURCES / name, folder / name)
    parts = {name: folder / f"{name}.bin" for name in ("encoder", "index", "pieces", "clusters")}
    values = {name: _bytes(path) for name, path in parts.items()}
    files = [*(SOURCES / name for name in (*TEMPLATES, *COPIED)), *parts.values()]
    values["files"] = ", ".join(json.dumps(name) for name in COPIED)
    values["version"] = _version(files, text)
    values |= text.values()
    for name in TEMPLATES:
        content = Template((SOURCES / name).read_text(encoding="utf-8")).substitute(values)
        (folder / name).write_text(content, encoding="utf-8")


def add_index(folder: Path, index: Path, text: PageText = PageText(), clusters: Path | None = None) -> None:
    """Copy an index into the folder of a page, which has an `encoder.bin`, and write the page again.

    With `clusters`, the path of the index's `clusters.bin`, that is copied instead, and the page loads only the parts
    that a question needs. Raises `EncoderError` if the index was made by another encoder than the page's.
    """
    require_same_encoder(folder / ENCODER, index)
    if clusters:
        write_pieces(folder / ENCODER, folder / PIECES)
        shutil.copyfile(clusters, folder / CLUSTERS)
    else:
        sections = read_sections(index)
        card = json.dumps(name_encoders(json.loads(sections["card"].tobytes())), ensure_ascii=False).encode()
        write_sections(folder / INDEX, {**sections, "card": np.frombuffer(card, np.uint8)})
    write_page(folder, text)


def name_encoders(card: Mapping[str, Json]) -> dict[str, Json]:
    """Return an index's card for others to read: of an encoder's folder on this machine it has the name alone."""
    named = {key: str(card[key]) for key in ENCODERS if key in card}
    local = {key for key, name in named.items() if os.path.isabs(name.removeprefix("st:").removeprefix("hf:"))}
    return {**card, **{key: os.path.basename(named[key]) for key in local}}


def require_same_encoder(encoder: Path, index: Path) -> None:
    """Require that an index was made by the page's encoder, or is searched with it."""
    ours = read_sections(encoder)["fingerprint"].tobytes().decode()
    try:
        card = json.loads(read_sections(index)["card"].tobytes())
        theirs, name = card["fingerprint"], card["encoder"]
    except (KeyError, TypeError, ValueError) as error:
        raise DataError(f"{index}: expected an index, but it has no card; write it again with distill index") from error
    if ours not in (theirs, card.get("question_fingerprint")):
        raise EncoderError(
            f"{index}: made by {name} ({theirs[:12]}), not by the page's encoder ({ours[:12]}); export the bundle that "
            "made it, or make a new index with the page's bundle"
        )


def _bytes(path):
    return str(path.stat().st_size) if path.is_file() else ""


def _version(paths, text):
    """Return a version for the content of the page, by which a browser tells whether its cached copy is current."""
    files = fingerprint_of(*(path for path in paths if path.is_file()))
    return join_hashes([files, *text.values().values()])[:16]
