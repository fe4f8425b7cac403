"""Read PDF and DOCX with the packages of the extra `files`: pypdf, and mammoth, which converts a DOCX to HTML."""

from __future__ import annotations

import logging
import re
from io import BytesIO
from pathlib import Path
from xml.etree import ElementTree
from zipfile import ZipFile

from ...errors import DataError, first_line
from ...system.extras import require_extra
from ...system.text import SOFT_HYPHEN
from .document import Content
from .limits import Meter
from .pages import read_page

# What mammoth has no headings and lines for, besides its own map.
STYLES = """
p[style-name='Title'] => h1:fresh
p[style-name='Heading 7'] => h6:fresh
p[style-name='Heading 8'] => h6:fresh
p[style-name='Heading 9'] => h6:fresh
br[type='page'] => br
br[type='column'] => br
"""
# The link back from a footnote, which mammoth adds.
BACK = re.compile('<a href="#[^"]*(?:foot|end)note-ref-[^"]*">↑</a>')
# Mammoth leaves out these elements and the text in them.
PASSED_OVER = re.compile(rb":(?:ruby|bdo|dir|oMath|vanish|cr)\b")
UNWRAPPED, DROPPED = {"ruby", "rubyBase", "bdo", "dir"}, {"rt", "rubyPr"}
OFF = {"0", "false", "off"}
# Members of a DOCX of the kinds that may hold text, but none of the document.
TEXTLESS = ("word/media/", "word/embeddings/", "word/theme/", "customXml/", "docProps/")
# Bytes of a member that are unpacked at a time, and what an element counts beside its own: mammoth takes twice as much.
PART, ELEMENT = 1 << 16, 600


def read_docx(path: Path, meter: Meter) -> Content:
    """Return the text, with the first heading as its title. Raises `DataError` if the file is no DOCX."""
    require_extra(f"{path}: DOCX", ["mammoth"], "files")
    import mammoth

    try:
        page = read_page(BACK.sub("", mammoth.convert_to_html(_complete_docx(path, meter), style_map=STYLES).value))
    except DataError:
        raise
    # A broken file ends in errors of many kinds there.
    except Exception as error:
        raise DataError(f"{path}: cannot be read as DOCX: {first_line(error)}") from error
    return Content(page.text, page.heading)


def _complete_docx(path: Path, meter: Meter) -> BytesIO:
    """Return a DOCX in which text that mammoth would leave out is ordinary text, and hidden text is gone.

    Of members that hold no text, such as images and embedded files, only the names are kept.
    """
    completed = BytesIO()
    with ZipFile(path) as source, ZipFile(completed, "w") as target:
        for name in source.namelist():
            part = _read_part(source, name, meter) if _holds_text(name) else b""
            is_text = name.startswith("word/") and PASSED_OVER.search(part)
            target.writestr(name, _complete_part(part) if is_text else part)
    return completed


def _holds_text(name: str) -> bool:
    return name.endswith((".xml", ".rels")) and not name.startswith(TEXTLESS)


def _read_part(source: ZipFile, name: str, meter: Meter) -> bytes:
    with source.open(name) as member:
        parts = []
        while part := member.read(PART):
            meter.count(len(part) + ELEMENT * (part.count(b"<") - part.count(b"</")))
            parts.append(part)
    return b"".join(parts)


def _complete_part(part: bytes) -> bytes:
    root = ElementTree.fromstring(part)
    _complete_children(root, root.tag.rpartition("}")[0] + "}")
    return ElementTree.tostring(root, "utf-8", xml_declaration=True)


def _complete_children(parent: ElementTree.Element, space: str) -> None:
    children = list(parent)
    for child in children:
        parent.remove(child)
        parent.extend(_complete_element(child, space))


def _complete_element(element: ElementTree.Element, space: str) -> list[ElementTree.Element]:
    """Return what stands for an element of the namespace `space`, or of an equation."""
    name, is_ours = element.tag.rpartition("}")[2], element.tag.startswith(space)
    if name.startswith("oMath"):
        return [_make_run(element, space)]
    if is_ours and (name in DROPPED or (name == "r" and _is_hidden(element, space))):
        return []
    _complete_children(element, space)
    if is_ours and name == "cr":
        element.tag = f"{space}br"
    return list(element) if is_ours and name in UNWRAPPED else [element]


def _is_hidden(run, space):
    mark = run.find(f"{space}rPr/{space}vanish")
    return mark is not None and mark.get(f"{space}val", "") not in OFF


def _make_run(equation, space):
    """Return the text of an equation in one line."""
    run = ElementTree.Element(f"{space}r")
    text = ElementTree.SubElement(run, f"{space}t")
    parts = {"t": lambda one: one.text or "", "den": lambda _: "/"}
    named = ((one.tag.rpartition("}")[2], one) for one in equation.iter())
    text.text = "".join(parts[name](one) for name, one in named if name in parts)
    return run


def read_pdf(path: Path, meter: Meter) -> Content:
    """Return the text of all pages and the title. Raises `DataError` if the file is no PDF or needs a password."""
    require_extra(f"{path}: PDF", ["pypdf"], "files")
    import pypdf

    # What it mends in a file is nothing to a reader.
    logging.getLogger("pypdf").setLevel(logging.CRITICAL)
    try:
        meter.count_file(path)
        document, pages = pypdf.PdfReader(path), []
        for page in document.pages:
            pages.append(page.extract_text())
            meter.count(len(pages[-1]))
        text = re.sub(f"{SOFT_HYPHEN}\n?", "", "\n".join(pages))
        title = document.metadata.title if document.metadata else None
    except DataError:
        raise
    # A broken file ends in errors of many kinds there.
    except Exception as error:
        raise DataError(f"{path}: cannot be read as PDF: {first_line(error)}") from error
    # A null, or a list, is an object of pypdf's.
    return Content(text, " ".join(title.split()) if isinstance(title, str) else "")
