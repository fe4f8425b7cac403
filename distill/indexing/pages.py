"""The text of an HTML page, and the title of a page."""

from __future__ import annotations

import re
from html.parser import HTMLParser

HEADING = re.compile(r"^#{1,6}[ \t]+(.+?)[ \t]*#*$", re.MULTILINE)
BLANKS, LINES = re.compile(r"[ \t\r\f\v\n]+"), re.compile(r" ?\n[ \n]*")
# Of these no text is shown.
HIDDEN = {"script", "style", "template", "noscript", "head", "svg"}
# What stands in a line; all other elements begin a line and end it.
INLINE = {
    *("a", "abbr", "b", "bdi", "bdo", "cite", "code", "data", "dfn", "del", "em", "font", "i", "ins", "kbd", "label"),
    *("mark", "q", "s", "samp", "small", "span", "strong", "sub", "sup", "time", "tt", "u", "var", "wbr", "img"),
}


def markdown_title(text: str) -> str:
    """Return the first heading of a Markdown text, empty where there is none."""
    heading = HEADING.search(text)
    return heading[1] if heading else ""


def html_text(page: str) -> tuple[str, str]:
    """Return the text of a page, a line a block, and its title, empty where there is none."""
    parser = _Text()
    parser.feed(page)
    parser.close()
    return LINES.sub("\n", "".join(parser.parts)).strip(), BLANKS.sub(" ", "".join(parser.title)).strip()


class _Text(HTMLParser):
    """Collects what a page shows; blanks in it are one, line breaks are those of blocks."""

    def __init__(self):
        super().__init__(convert_charrefs=True)
        self.parts, self.title, self._hidden, self._in_title, self._kept = [], [], [], False, 0

    def handle_starttag(self, tag, attrs):
        if tag == "body":
            # A head may be left open.
            self._hidden.clear()
        if tag == "title" and not self.title:
            self._in_title = True
        elif tag in HIDDEN:
            self._hidden.append(tag)
        self._kept += tag == "pre"
        self._break(tag)

    def handle_endtag(self, tag):
        self._in_title = False if tag == "title" else self._in_title
        if tag in self._hidden:
            del self._hidden[self._hidden.index(tag) :]
        self._kept = max(0, self._kept - (tag == "pre"))
        self._break(tag)

    def handle_data(self, data):
        if self._in_title:
            self.title.append(data)
        elif not self._hidden:
            self.parts.append(data if self._kept else BLANKS.sub(" ", data))

    def _break(self, tag):
        if tag not in INLINE and not self._hidden:
            self.parts.append("\n")
