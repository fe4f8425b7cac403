"""Read the text that an HTML page shows, in blocks: paragraphs, headings, list items, rows of tables."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import justhtml

from ...system.input_files import read_text
from ...system.text import drop_soft_hyphens
from .document import Content
from .limits import Meter

BLANKS = re.compile(r"[ \t\r\f\n]+")
# Of these no text is shown, or, as a navigation, none that is the page's own.
HIDDEN = {
    *("annotation", "annotation-xml", "audio", "canvas", "datalist", "iframe", "meter", "nav", "noembed", "noframes"),
    *("noscript", "object", "progress", "rp", "rt", "script", "style", "svg", "template", "title", "video"),
}
# These begin a line and end it; all others, those that a page invents too, stand in one.
BLOCKS = {
    *("address", "article", "aside", "blockquote", "body", "caption", "center", "dd", "details", "dialog", "dir"),
    *("div", "dl", "dt", "fieldset", "figcaption", "figure", "footer", "form", "frameset", "header", "hgroup", "hr"),
    *("html", "legend", "li", "listing", "main", "menu", "ol", "optgroup", "option", "p", "plaintext", "pre"),
    *("search", "section", "select", "summary", "table", "tbody", "textarea", "tfoot", "thead", "tr"),
    *("ul", "xmp"),
}
# The cells of a row stand in one line.
CELLS, BETWEEN = {"td", "th"}, " | "
HEADINGS = {"h1", "h2", "h3", "h4", "h5", "h6"}
AS_WRITTEN = {"pre", "listing", "xmp", "plaintext", "textarea"}
# In XHTML an element without content may be one tag, which HTML takes for the begin of one.
SINGLE_TAG = re.compile(r"""<([a-zA-Z][\w:.-]*)((?:[^<>"']|"[^"<]*"|'[^'<]*')*)/>""")
VOID = {
    *("area", "base", "br", "col", "embed", "hr", "img", "input", "link", "meta", "param", "source", "track", "wbr"),
}
# What Sphinx, MkDocs and MediaWiki add to headings, and the second form in which KaTeX writes a formula.
ADDED = {"headerlink", "mw-editsection", "katex-html"}
# Folded text, which a browser unfolds when someone searches the page.
UNTIL_FOUND = "until-found"
UNSHOWN = re.compile(r"(?:^|;)\s*(?:display\s*:\s*none|visibility\s*:\s*hidden)\b", re.IGNORECASE)


@dataclass(frozen=True)
class Block:
    """A paragraph, heading, list item or row of a table, as one line apart from explicit breaks."""

    text: str
    is_heading: bool = False


@dataclass(frozen=True)
class Page:
    """The blocks of a page, its title, and its language, which may be empty."""

    blocks: tuple[Block, ...]
    title: str = ""
    language: str = ""

    @property
    def text(self) -> str:
        """The blocks separated by blank lines, at which sentences end."""
        return "\n\n".join(block.text for block in self.blocks)

    @property
    def heading(self) -> str:
        """The first heading, or an empty text."""
        return next((" ".join(block.text.split()) for block in self.blocks if block.is_heading), "")


def read_html(path: Path, meter: Meter) -> Content:
    """Return what a page shows, with the title of its head or the first heading."""
    text = read_text(path, meter.count)
    is_xhtml = path.suffix.lower() == ".xhtml" or text.lstrip().startswith("<?xml")
    page = read_page(SINGLE_TAG.sub(_add_end_tag, text) if is_xhtml else text)
    return Content(page.text, page.title or page.heading, page.language)


def _add_end_tag(tag: re.Match[str]) -> str:
    return tag[0] if tag[1].lower() in VOID else f"<{tag[1]}{tag[2]}></{tag[1]}>"


def read_page(source: str) -> Page:
    """Parse HTML as a browser does, however malformed it is."""
    blocks, title, language = _Blocks(), "", ""
    for node, is_end in _walk_shown(justhtml.JustHTML(source, sanitize=False).root):
        if node.name == "#text":
            blocks.add(node.data)
        elif node.name == "title" and not title:
            title = " ".join("".join(child.data or "" for child in node.children or ()).split())
        elif node.name == "html" and not is_end:
            attributes = node.attrs or {}
            language = attributes.get("lang") or attributes.get("xml:lang") or ""
        elif node.name == "br" and not is_end:
            blocks.add_break()
        elif node.name in CELLS and not is_end:
            blocks.add_cell()
        elif node.name in BLOCKS or node.name in HEADINGS:
            blocks.end(node.name in HEADINGS and is_end)
            blocks.as_written += (node.name in AS_WRITTEN) * (-1 if is_end else 1)
    blocks.end()
    return Page(tuple(blocks.ended), title, language)


def _walk_shown(root) -> Iterator[tuple[justhtml.dom.Node, bool]]:
    """Yield elements at their begin and end, and texts, in order, without recursion, because pages may nest deeply."""
    ahead = [(root, False)]
    while ahead:
        node, is_end = ahead.pop()
        if is_end or node.name == "#text" or _is_title(node):
            yield node, is_end
        elif not node.name.startswith(("#comment", "!")) and not _is_hidden(node):
            yield node, False
            ahead.append((node, True))
            ahead.extend((child, False) for child in reversed(node.children or ()))


def _is_title(node):
    return node.name == "title" and node.namespace == "html"


def _is_hidden(node):
    attributes = node.attrs or {}
    return (
        node.name in HIDDEN
        or (attributes.get("hidden", UNTIL_FOUND) or "").lower() != UNTIL_FOUND
        or attributes.get("role") == "navigation"
        or not ADDED.isdisjoint((attributes.get("class") or "").split())
        or (node.name == "dialog" and "open" not in attributes)
        or bool(UNSHOWN.search(attributes.get("style") or ""))
    )


class _Blocks:
    """Collects text until a block ends. Blanks are joined and only `br` breaks lines, except in preformatted text."""

    def __init__(self):
        self.ended, self.as_written, self._parts = [], 0, [""]

    def add(self, text):
        text = drop_soft_hyphens(text)
        self._parts[-1] += text if self.as_written else BLANKS.sub(" ", text)

    def add_cell(self):
        if "".join(self._parts).strip():
            self._parts[-1] = f"{self._parts[-1].rstrip()}{BETWEEN}"

    def add_break(self):
        self._parts.append("")

    def end(self, is_heading=False):
        kept = self.as_written
        lines = [part if kept else BLANKS.sub(" ", part).strip() for part in self._parts]
        text = "\n".join(lines)
        self._parts = [""]
        if text.strip():
            self.ended.append(Block(text.strip("\n").rstrip() if kept else text.strip(), is_heading))
