"""Read a DOCX with mammoth, of the extra `files`, which converts it to HTML."""

from __future__ import annotations

from pathlib import Path

from ..errors import DataError, first_line
from ..system.extras import require_extra
from .document import Content
from .pages import read_page


def read_docx(path: Path) -> Content:
    """Return the text, with the first heading as its title. Raises `DataError` if the file is no DOCX."""
    require_extra(f"{path}: DOCX", ["mammoth"], "files")
    import mammoth

    try:
        with open(path, "rb") as file:
            page = read_page(mammoth.convert_to_html(file).value)
    # A broken file ends in errors of many kinds there.
    except Exception as error:
        raise DataError(f"{path}: cannot be read as DOCX: {first_line(error)}") from error
    return Content(page.text, page.heading)
