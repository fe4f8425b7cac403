"""Read Markdown: its text without markup, its title, and the fields of its front matter."""

from __future__ import annotations

import re
from functools import cache
from html import escape
from pathlib import Path

from markdown_it import MarkdownIt
from markdown_it.token import Token

from ..system.reading import read_text
from .document import Content
from .front_matter import split_front_matter
from .pages import BLOCKS, HEADINGS, HIDDEN, read_page
from .records import TITLE, read_language_field

# [[page]], [[page|its name here]], ![[file]]
WIKI = re.compile(r"!?\[\[([^\[\]|]+)(?:\|([^\[\]]+))?\]\]")
# The box of a task, the kind of a note: at the begin of a block.
BOX = re.compile(r"^(?:\[[ xX]\]\s+|\[!\w+\][+-]?\s*)")
# The attributes of a heading as Pandoc, Hugo and Docusaurus write them: {#id .class}.
ATTRIBUTES = re.compile(r"\s*\{[#.:][^{}]*\}\s*$")
TAG = re.compile(r"</?([a-zA-Z][\w-]*)[\s/>]")
# Elements that are marks in a line; of others, as in `install <package>`, the name is what somebody wrote.
IN_LINE = {
    *("a", "abbr", "acronym", "b", "bdi", "bdo", "big", "br", "button", "cite", "code", "data", "del", "dfn", "em"),
    *("font", "i", "img", "input", "ins", "kbd", "label", "mark", "meter", "nobr", "output", "picture", "progress"),
    *("q", "ruby", "s", "samp", "small", "source", "span", "strike", "strong", "sub", "sup", "time", "tt", "u"),
    *("var", "wbr"),
}
KNOWN = IN_LINE | BLOCKS | HEADINGS | HIDDEN


def read_markdown(path: Path) -> Content:
    """Return a file's text, with the title of the front matter or the first heading."""
    fields, text, problem = split_front_matter(read_text(path))
    page = read_page(_to_html(text))
    # MultiMarkdown and Pelican write "Title".
    said = next((value for name, value in fields.items() if name.lower() == TITLE), None)
    title = " ".join(str(said).split()) if isinstance(said, (str, int, float)) else ""
    return Content(page.text, title or page.heading, read_language_field(fields), fields, problem)


def _to_html(text: str) -> str:
    """Convert Markdown to HTML; HTML within it cannot hide the text that follows."""
    parser = _parser()
    tokens = parser.parse(text)
    for before, token in zip([None, *tokens], tokens, strict=False):
        if token.type == "html_block":
            token.content = _close_tags(token.content)
        if token.type == "inline" and token.children:
            token.children[0].content = BOX.sub("", token.children[0].content)
            for child in token.children:
                _change(child)
            last = token.children[-1]
            if before and before.type == "heading_open" and last.type == "text":
                last.content = ATTRIBUTES.sub("", last.content)
    return str(parser.renderer.render(tokens, parser.options, {}))


@cache
def _parser():
    # Lists within lists are read to a depth that nobody writes.
    return MarkdownIt("commonmark", {"maxNesting": 100}).enable(["table", "strikethrough"])


def _change(child: Token) -> None:
    if child.type == "text":
        child.content = WIKI.sub(lambda link: link[2] or link[1], child.content)
    elif child.type == "html_inline":
        tag = TAG.match(child.content)
        name = tag[1].lower() if tag else ""
        is_text = bool(tag) and name not in KNOWN
        child.content = "<br>" if name == "br" else escape(child.content) if is_text else ""


def _close_tags(content: str) -> str:
    """Return the HTML that a block of HTML shows."""
    kinds = [("h1" if block.is_heading else "pre", escape(block.text)) for block in read_page(content).blocks]
    return "".join(f"<{kind}>\n{shown}</{kind}>" for kind, shown in kinds)
