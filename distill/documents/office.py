"""Read PDF and DOCX with the packages of the extra `files`: pypdf, and mammoth, which converts a DOCX to HTML."""

from __future__ import annotations

import logging
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


def read_pdf(path: Path) -> Content:
    """Return the text of all pages and the title. Raises `DataError` if the file is no PDF or needs a password."""
    require_extra(f"{path}: PDF", ["pypdf"], "files")
    import pypdf

    # What it mends in a file is nothing to a reader.
    logging.getLogger("pypdf").setLevel(logging.CRITICAL)
    try:
        document = pypdf.PdfReader(path)
        text = "\n".join(page.extract_text() for page in document.pages)
        title = document.metadata.title if document.metadata else None
    # A broken file ends in errors of many kinds there.
    except Exception as error:
        raise DataError(f"{path}: cannot be read as PDF: {first_line(error)}") from error
    return Content(text, " ".join(str(title or "").split()))
