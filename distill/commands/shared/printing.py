"""Answers from an index, printed or as JSON."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING

from rich.text import Text

from ...errors import escape_controls, make_printable
from ...report.answers import print_remark
from ...report.layout import new_console
from ...system.text import dump_json
from .options import prints_ascii

if TYPE_CHECKING:
    from ...search_engine.indexing.answers import Answer


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
