"""Make a folder for any static server, whose page searches documents by itself: `distill page` as a function."""

from __future__ import annotations

import tempfile
from collections.abc import Callable
from pathlib import Path

from ..encoders.catalog.bundle import CARD_FILE, READ_ME, find_artefact, is_artefact
from ..encoders.kind import files_in
from ..errors import InputError
from ..export.card import JudgedCard
from ..export.formats.format import read_label
from ..jobs.export_model import ExportOptions, export_model
from ..system.files import require_writable, resolve_target, usable_path
from ..system.types import File
from .indexing.building import COMPACT, IndexSettings, build_index
from .indexing.intake import IndexChange

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
        output: The folder of the page, new or that of an earlier page, which is replaced.
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
            written or holds anything but a page.
        DataError: If documents cannot be read. The message names file and line.
        EncoderError: If a page cannot run the encoder.

    Example:
        >>> import distill, pathlib
        >>> _ = pathlib.Path("lakes.txt").write_text("Lake Geneva lies in the Alps.")
        >>> made = distill.make_page(distill.IndexChange(["lakes.txt"]), "lakes", "multi12-static", title="Lakes")
        >>> pathlib.Path("lakes", "index.html").exists()
        True
    """
    is_again = holds_page(output)
    if not is_again:
        require_writable(output)
    if compact and by_ranges:
        raise InputError("--by-ranges has codes of its own, and takes no --compact; leave one of them out")
    # A page holds a bundle bit for bit, and its index has to be built by that bundle, also for the folder of a run.
    bundle = find_artefact(model)
    source = str(bundle if Path(model).exists() else model)
    with tempfile.TemporaryDirectory() as folder:
        index = Path(folder) / "index"
        build_index(index, change, source, IndexSettings(language=language, bits=COMPACT if compact else None))
        options = ExportOptions("web", index=index, by_ranges=by_ranges, title=title, about=about)
        if not is_again:
            return export_model(source, output, options)
        return _replace_page(Path(output), lambda aside: export_model(source, aside, options))


def holds_page(folder: File) -> bool:
    """Return True for the folder of a page. Raises `InputError` if it holds a file that no page has."""
    folder = usable_path(folder)
    if not is_artefact(folder) or (label := read_label(folder)).format != "web":
        return False
    others = {path.relative_to(folder).as_posix() for path in files_in(folder)} - {CARD_FILE, READ_ME, *label.files}
    if others:
        raise InputError(f"{folder}: {min(others)} in it is of no page; move it, or choose another name")
    return True


def _replace_page(folder: Path, write: Callable[[Path], JudgedCard]) -> JudgedCard:
    """Write a page beside the one in `folder`, which stays until the new one is whole."""
    folder = resolve_target(folder)
    with tempfile.TemporaryDirectory(dir=folder.parent, prefix=f".{folder.name[:50]}.") as aside:
        judged, old = write(Path(aside) / "new"), Path(aside) / "old"
        folder.rename(old)
        try:
            (Path(aside) / "new").rename(folder)
        except BaseException:
            # What is left aside is removed.
            old.rename(folder)
            raise
    return judged
