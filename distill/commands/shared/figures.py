"""Figures as a table, as JSON, or as both: the option `--json` of commands that measure."""

from __future__ import annotations

import codecs
import json
import sys
from collections.abc import Callable
from typing import TYPE_CHECKING

import click

from .help import option
from .options import require_writable_path

if TYPE_CHECKING:
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
    """Print figures as a table, or for the path "-" of `--json` as JSON, or for a file as both."""
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
