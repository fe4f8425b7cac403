"""Read a PDF with pypdf, of the extra `files`."""

from __future__ import annotations

import logging
from pathlib import Path

from ..errors import DataError, first_line
from ..system.extras import require_extra
from .document import Content


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
