"""Read Markdown: its text without markup, its title, and the fields of its front matter."""

from __future__ import annotations

import datetime
import math
import re
from collections.abc import Container, Iterator
from functools import cache
from html import escape
from pathlib import Path

import tomlkit
import tomlkit.exceptions
from markdown_it import MarkdownIt
from markdown_it.rules_block import StateBlock
from markdown_it.token import Token
from yaml import SafeLoader, YAMLError

from ...errors import first_line
from ...system.input_files import read_text
from ...system.text import make_well_formed
from ...system.types import Json
from .document import Content
from .limits import Meter
from .pages import BLOCKS, CELLS, HEADINGS, HIDDEN, read_page
from .records import TITLE, read_language_field

BLOCK = re.compile(r"\A(?:[ \t]*\n)*(---|\+\+\+)[ \t]*\n(.*?)(?:^\1|^\.\.\.)[ \t]*(?:\n|\Z)", re.DOTALL | re.MULTILINE)
# A block that YAML does not take is front matter all the same where it begins so, and not text between two rules.
NAMED = re.compile(r"\s*(?:#.*\n\s*)*[\w-]+[ \t]*:")
# Values that a document's fields may have together; aliases may make any number of few lines.
MOST = 10_000


def split_front_matter(text: str) -> tuple[dict[str, Json], str, str]:
    """Return a text's fields as JSON, the rest of the text, and the problem with the fields, if any.

    Dates become texts in ISO form, and numbers that are not finite become null. Text between two rules that names no
    fields is kept as text.
    """
    block = BLOCK.match(text)
    if not block:
        return {}, text, ""
    try:
        value = _parse_fields(block[1], block[2])
        fields = {} if value is None else _as_json(value, iter(range(MOST)))
    except (YAMLError, tomlkit.exceptions.TOMLKitError, ValueError, RecursionError) as error:
        if block[1] == "---" and not NAMED.match(block[2]):
            return {}, text, ""
        return {}, text[block.end() :], f"its front matter cannot be read: {first_line(error)}"
    return (fields, text[block.end() :], "") if isinstance(fields, dict) else ({}, text, "")


class _Loader(SafeLoader):
    """A YAML 1.2 loader, in which `no` is Norwegian and 10:30 a time, instead of false and 630."""

    yaml_implicit_resolvers = {
        first: [pair for pair in pairs if not pair[0].endswith((":bool", ":int", ":float"))]
        for first, pairs in SafeLoader.yaml_implicit_resolvers.items()
    }


for _kind, _form, _firsts in (
    ("bool", "true|True|TRUE|false|False|FALSE", "tTfF"),
    ("int", r"[-+]?(?:0|[1-9][0-9]*)", "-+0123456789"),
    ("float", r"[-+]?(?:\.[0-9]+|[0-9]+\.[0-9]*)(?:[eE][-+]?[0-9]+)?", "-+.0123456789"),
    ("float", r"[-+]?\.(?:inf|Inf|INF)|\.(?:nan|NaN|NAN)", "-+."),
):
    _Loader.add_implicit_resolver(f"tag:yaml.org,2002:{_kind}", re.compile(rf"^(?:{_form})$"), list(_firsts))


def _parse_fields(mark, content):
    # A SafeLoader makes texts, numbers, dates, lists and mappings, and no other objects.
    return _Loader(content).get_single_data() if mark == "---" else tomlkit.parse(content).unwrap()


def _as_json(value, left: Iterator[int]) -> Json:
    if next(left, None) is None:
        raise ValueError(f"more than {MOST} values")
    if isinstance(value, dict):
        return {make_well_formed(str(name)): _as_json(part, left) for name, part in value.items()}
    if isinstance(value, (list, tuple, set)):
        return [_as_json(part, left) for part in value]
    if isinstance(value, (datetime.date, datetime.time)):
        return value.isoformat()
    if isinstance(value, float) and not math.isfinite(value):
        return None
    # An emoji that json.dumps escaped is two halves to YAML.
    return value if value is None or isinstance(value, (int, float)) else make_well_formed(str(value))


# [[page]], [[page|its name here]], ![[file]]
WIKI = re.compile(r"!?\[\[([^\[\]|]+)(?:\|([^\[\]]+))?\]\]")
# The box of a task, the kind of a note: at the begin of a block.
BOX = re.compile(r"^(?:\[[ xX]\]\s+|\[!\w+\][+-]?\s*)")
# The attributes of a heading as Pandoc, Hugo and Docusaurus write them: {#id .class}.
ATTRIBUTES = re.compile(r"\s*\{[#.:][^{}]*\}\s*$")
# [^1]: of a footnote, which CommonMark reads as an address if one word follows; [^1] in a line points to it.
NOTE = re.compile(r"\[\^([^\[\]\s]+)\]:[ \t]*")
POINTER = re.compile(r"\[\^([^\[\]\s]+)\]")
TAG = re.compile(r"</?([a-zA-Z][\w-]*)[\s/>]")
# Elements that are marks in a line; of others, as in `install <package>`, the name is what somebody wrote.
IN_LINE = {
    *("a", "abbr", "acronym", "b", "bdi", "bdo", "big", "br", "button", "cite", "code", "data", "del", "dfn", "em"),
    *("font", "i", "img", "input", "ins", "kbd", "label", "mark", "meter", "nobr", "output", "picture", "progress"),
    *("q", "ruby", "s", "samp", "small", "source", "span", "strike", "strong", "sub", "sup", "time", "tt", "u"),
    *("var", "wbr"),
}
KNOWN = IN_LINE | BLOCKS | CELLS | HEADINGS | HIDDEN


def read_markdown(path: Path, meter: Meter) -> Content:
    """Return a file's text, with the title of the front matter or the first heading."""
    fields, text, problem = split_front_matter(read_text(path, meter.count))
    page = read_page(_to_html(text))
    # MultiMarkdown and Pelican write "Title".
    said = next((value for name, value in fields.items() if name.lower() == TITLE), None)
    is_text = isinstance(said, (str, int, float)) and not isinstance(said, bool)
    title = " ".join(str(said).split()) if is_text else ""
    return Content(page.text, title or page.heading, read_language_field(fields), fields, problem)


def _to_html(text: str) -> str:
    """Convert Markdown to HTML; HTML within it cannot hide the text that follows."""
    parser, notes = _parser(), set(NOTE.findall(text))
    tokens = parser.parse(text)
    for before, token in zip([None, *tokens], tokens, strict=False):
        if token.type == "html_block":
            token.content = _close_tags(token.content)
        if token.type == "inline" and token.children:
            token.children[0].content = BOX.sub("", token.children[0].content)
            for child in token.children:
                _change(child, notes)
            last = token.children[-1]
            if before and before.type == "heading_open" and last.type == "text":
                last.content = ATTRIBUTES.sub("", last.content)
    return str(parser.renderer.render(tokens, parser.options, {}))


@cache
def _parser():
    # Lists within lists are read to a depth that nobody writes.
    parser = MarkdownIt("commonmark", {"maxNesting": 100}).enable(["table", "strikethrough"])
    parser.block.ruler.before("reference", "note", _pass_note, {"alt": ["paragraph", "reference"]})
    return parser


def _pass_note(state: StateBlock, line: int, _end: int, silent: bool) -> bool:
    """Pass over the mark that begins a footnote, so that its text is a paragraph; if `silent`, look for one alone."""
    mark = NOTE.match(state.src, state.bMarks[line] + state.tShift[line], state.eMarks[line])
    if mark and not silent:
        state.bMarks[line], state.tShift[line] = mark.end(), 0
    return bool(mark) and silent


def _change(child: Token, notes: Container[str]) -> None:
    if child.type == "text":
        text = POINTER.sub(lambda one: "" if one[1] in notes else one[0], child.content)
        child.content = WIKI.sub(lambda link: link[2] or link[1], text)
    elif child.type == "html_inline":
        tag = TAG.match(child.content)
        name = tag[1].lower() if tag else ""
        is_text = bool(tag) and name not in KNOWN
        child.content = "<br>" if name == "br" else escape(child.content) if is_text else ""


def _close_tags(content: str) -> str:
    """Return the HTML that a block of HTML shows."""
    kinds = [("h1" if block.is_heading else "pre", escape(block.text)) for block in read_page(content).blocks]
    return "".join(f"<{kind}>\n{shown}</{kind}>" for kind, shown in kinds)
