"""Make a folder for any static server, whose page searches documents by itself: `distill page` as a function."""

from __future__ import annotations

import tempfile
from pathlib import Path

from ..catalog.bundle import find_artefact
from ..errors import InputError
from ..export.card import JudgedCard
from ..indexing.building import COMPACT, IndexSettings, build_index
from ..indexing.intake import IndexChange
from ..system.files import require_writable
from ..system.types import File
from .export_model import ExportOptions, export_model

MODEL = "multi12-ngram"


def make_page(
    change: IndexChange,
    output: File,
    model: File = MODEL,
    title: str = "",
    about: str = "",
    compact: bool = False,
    language: str | None = None,
    by_ranges: bool = False,
) -> JudgedCard:
    """Make a page that searches documents. It contains their index.

    Args:
        change: The documents, as `build_index` takes them.
        output: The folder of the page, which must not exist yet.
        model: The encoder of questions and documents.
        title: The title of the page, and its name as an app; empty for the default.
        about: The line under the title; empty for the default.
        compact: If True, the index takes a quarter of the bytes, and a question takes longer.
        language: The language of documents that do not state theirs.
        by_ranges: If True, the page loads only what a question needs, from a server that gives parts of files.

    Returns:
        The card of the page.

    Raises:
        InputError: If there are no documents, if a compact index is to be read by ranges, or if the folder cannot be
            written.
        DataError: If documents cannot be read. The message names file and line.
        EncoderError: If a page cannot run the encoder.

    Example:
        >>> import distill, pathlib
        >>> _ = pathlib.Path("lakes.txt").write_text("Lake Geneva lies in the Alps.")
        >>> made = distill.make_page(distill.IndexChange(["lakes.txt"]), "lakes", "multi12-static", title="Lakes")
        >>> pathlib.Path("lakes", "index.html").exists()
        True
    """
    require_writable(output)
    if compact and by_ranges:
        raise InputError("--by-ranges has codes of its own, and takes no --compact; leave one of them out")
    # A page holds a bundle bit for bit, and its index has to be built by that bundle, also for the folder of a run.
    bundle = find_artefact(model)
    source = str(bundle if Path(model).exists() else model)
    with tempfile.TemporaryDirectory() as folder:
        index = Path(folder) / "index"
        build_index(index, change, source, IndexSettings(language=language, bits=COMPACT if compact else None))
        return export_model(
            source, output, ExportOptions("web", index=index, by_ranges=by_ranges, title=title, about=about)
        )
