"""`distill page`: documents in, a folder for any static server out, which searches them by itself."""

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

MODEL = "released"


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
    """Make a page that searches documents, with its index, of which nothing else is left.

    Args:
        change: the documents, as `build_index` takes them.
        output: the folder of the page, which is not there yet.
        model: the encoder of questions and documents.
        title: of the page, and its name as an app; empty for the usual one.
        about: a line under the title; empty for the usual one.
        compact: a quarter of the bytes of the index; a question takes longer.
        language: of documents that do not say theirs.
        by_ranges: load what a question needs from a server that gives parts of files, not all before the first answer.

    Returns:
        The card of the page.

    Raises:
        InputError: for no documents, a compact index by ranges, or a folder that cannot be written.
        DataError: with file and line, for documents that cannot be read.
        EncoderError: for an encoder that a page cannot have.

    Example:
        >>> import distill, pathlib
        >>> _ = pathlib.Path("lakes.txt").write_text("Lake Geneva lies in the Alps.")
        >>> made = distill.make_page(distill.IndexChange(["lakes.txt"]), "lakes", "released-small", title="Lakes")
        >>> pathlib.Path("lakes", "index.html").exists()
        True
    """
    require_writable(output)
    if compact and by_ranges:
        raise InputError("--by-ranges has codes of its own, and takes no --compact; leave one of them out")
    # A page has a bundle bit for bit, and its index is of that: of a run's folder, too.
    bundle = find_artefact(model)
    source = str(bundle if Path(model).exists() else model)
    with tempfile.TemporaryDirectory() as folder:
        index = Path(folder) / "index"
        build_index(index, change, source, IndexSettings(language=language, bits=COMPACT if compact else None))
        return export_model(
            source, output, ExportOptions("web", index=index, by_ranges=by_ranges, title=title, about=about)
        )
