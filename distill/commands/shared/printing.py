"""Answers from an index, printed or as JSON."""

from __future__ import annotations

import codecs
import json
import sys
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import TYPE_CHECKING

import click
from rich.text import Text

from ...errors import escape_controls, make_printable
from ...report.answers import print_remark
from ...report.layout import new_console
from ...system.text import dump_json
from .help import option
from .options import require_writable_path

if TYPE_CHECKING:
    from ...search_engine.indexing.answers import Answer
    from ...system.types import Json


def _json_file(context, parameter, path):
    return path if path == "-" else require_writable_path(context, parameter, path)


json_option = option(
    "--json",
    "json_path",
    panel="files",
    main=True,
    type=click.Path(dir_okay=False, allow_dash=True),
    callback=_json_file,
    help="Write the figures to a JSON file. With - they go to standard output in place of the table.",
)


def write_figures(path: str | None, figures: Json, show: Callable[[], None]) -> None:
    """Print figures as a table, as JSON, or as both.

    Args:
        path: the value of `--json`: a file that gets the figures too, "-" for standard output in place of the table,
            None for the table alone.
    """
    if path == "-":
        print(json.dumps(figures, ensure_ascii=prints_ascii(), indent=1))
        return
    if path:
        from ...system.files import write_json

        # Before the table, whose reader may go away, as `head` does.
        write_json(path, figures)
    show()


def prints_ascii() -> bool:
    """Return True if standard output has no UTF-8, so that JSON needs escapes."""
    return codecs.lookup(sys.stdout.encoding or "ascii").name != "utf-8"


# Round the best sentence where there is no terminal to show it bold.
MARK = "**"


def print_json(answers: Iterable[Answer]) -> None:
    """Print one JSON object per question, each on a line; with escapes if standard output is not UTF-8."""
    ascii = prints_ascii()
    for answer in answers:
        # Within a JSON text these are escapes too.
        print(escape_controls(dump_json(answer.as_dict(), ascii)), flush=True)


def print_answers(answers: Iterable[Answer], many: bool, strict: bool = False) -> None:
    """Print passages with their best sentence marked."""
    console = new_console()
    for answer in answers:
        if many:
            console.print(make_printable(answer.question), markup=False, style="underline")
        for place, hit in enumerate(() if strict and not answer.answered else answer.hits, start=1):
            console.print(f"{place}. {hit.score:.3f}  {_name(hit)}", markup=False, soft_wrap=True)
            console.print(_format_hit(hit, console.is_terminal), soft_wrap=True)
            if hit.repeats:
                console.print(f"   also in {', '.join(map(_name, hit.repeats))}", markup=False)
        if answer.probability is not None and answer.threshold is not None:
            print_remark(answer.probability, answer.threshold)


def _name(hit):
    """Return a passage's title and where it is from, its file or else its id, once if the title is the file's name."""
    title, place = (str(part or "") for part in (hit.fields.get("title"), hit.fields.get("path") or hit.fields["id"]))
    alone = not title or title in (place, Path(place).stem)
    return make_printable(place if alone else f"{title} ({place})")


def _format_hit(hit, terminal):
    best = hit.answer or hit.sentence
    start, end = best or (0, 0)
    mark = "" if terminal or not best else MARK
    first = _find_text(hit.text, str(hit.fields.get("title")))
    first = first if not 0 < end <= first else 0
    shown = hit.text[first:start], hit.text[start:end], hit.text[max(end, first) :]
    before, marked, behind = map(make_printable, shown)
    return Text("   ").append(before).append(mark + marked + mark, "bold").append(behind)


def _find_text(text, title):
    """Return where a text goes on behind its title, which stands above it already; 0 if it begins otherwise."""
    return len(text) - len(text[len(title) :].lstrip("\n")) if text.startswith(f"{title}\n") else 0
