"""The files of a page that searches by itself, from any static server: docs/web.md."""

from __future__ import annotations

import html
import json
import shutil
from dataclasses import dataclass
from pathlib import Path
from string import Template

from ...errors import DataError, EncoderError
from ...system.hashes import fingerprint_of, joint
from ...system.sections import read_sections
from .pieces import write_pieces

ENCODER, INDEX = "encoder.bin", "index.bin"
# The same, laid out for ranges.
PIECES, CLUSTERS = "pieces.bin", "clusters.bin"
PROGRAM = "distill.wasm"
SOURCES = Path(__file__).parent
TITLE, HEADING = "Search by meaning", "Ask in your own language"
ABOUT = "A small encoder and its index, in this page alone. Nothing that you type leaves it."
# Of these, what a page says of its files is filled in.
FILLED = ("index.html", "offline.js", "manifest.webmanifest")
SCRIPTS = ("engine", "distill", "sections", "notes", "notebook", "ranged", "ranges", "pieces", "clusters")
COPIED = ("page.css", "page.js", *(f"{name}.js" for name in SCRIPTS), "icon.svg", PROGRAM)


@dataclass(frozen=True)
class PageText:
    """The words of a page: its `title`, in the window too and as the name of an app, and a line `about` it.

    Empty for what pages say of themselves.
    """

    title: str = ""
    about: str = ""

    def values(self) -> dict[str, str]:
        """Return what is filled in, escaped as its place asks."""
        title, about = html.escape(self.title), html.escape(self.about)
        # Within a string of JSON.
        name = json.dumps(self.title or TITLE, ensure_ascii=False)[1:-1]
        return {
            "title": title or TITLE,
            "heading": title or HEADING,
            "about": about or ABOUT,
            "usual": "" if about else "usual",
            "name": name,
        }


def write_page(folder: Path, text: PageText = PageText()) -> None:
    """Write the page of the encoder, and of the index where there is one, that lie in a folder."""
    for name in COPIED:
        shutil.copyfile(SOURCES / name, folder / name)
    parts = {name: folder / f"{name}.bin" for name in ("encoder", "index", "pieces", "clusters")}
    values = {name: _bytes(path) for name, path in parts.items()}
    files = [*(SOURCES / name for name in (*FILLED, *COPIED)), *parts.values()]
    values["files"] = ", ".join(json.dumps(name) for name in COPIED)
    values["version"] = _version(files, text)
    values |= text.values()
    for name in FILLED:
        content = Template((SOURCES / name).read_text(encoding="utf-8")).substitute(values)
        (folder / name).write_text(content, encoding="utf-8")


def add_index(folder: Path, index: Path, text: PageText = PageText(), clusters: Path | None = None) -> None:
    """Put an `index.bin` into the folder of a page, and write the page anew.

    `clusters` is its `clusters.bin`, which is put there in its place: the page loads the parts that a question needs.

    Raises `EncoderError` where another encoder than the page's made it, `DataError` for a file that is no index.
    """
    require_own(folder / ENCODER, index)
    if clusters:
        write_pieces(folder / ENCODER, folder / PIECES)
        shutil.copyfile(clusters, folder / CLUSTERS)
    else:
        shutil.copyfile(index, folder / INDEX)
    write_page(folder, text)


def require_own(encoder: Path, index: Path) -> None:
    """Raise `EncoderError` where an index was not made by the encoder of an `encoder.bin`, and is not asked by it."""
    ours = read_sections(encoder)["fingerprint"].tobytes().decode()
    try:
        card = json.loads(read_sections(index)["card"].tobytes())
        theirs, name = card["fingerprint"], card["encoder"]
    except (KeyError, TypeError, ValueError) as error:
        raise DataError(f"{index}: not an index: no card in it; write it again with distill index") from error
    if ours not in (theirs, card.get("question_fingerprint")):
        raise EncoderError(
            f"{index}: made by {name} ({theirs[:12]}), not by the page's encoder ({ours[:12]}); export the bundle that "
            "made it, or make another index with this one's bundle"
        )


def _bytes(path):
    return str(path.stat().st_size) if path.is_file() else ""


def _version(paths, text):
    """Another for each content, by which a browser tells whether what it keeps is still right."""
    files = fingerprint_of(*(path for path in paths if path.is_file()))
    return joint([files, *text.values().values()])[:16]
