"""The command `report`: pages of runs that have ended."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

import click

from ..errors import DataError, InputError, first_line
from .shared.options import writable


@click.command()
@click.argument("runs", metavar="RUN...", nargs=-1, required=True, type=click.Path(file_okay=False))
@click.option(
    "--output", type=click.Path(dir_okay=False), callback=writable, help="the page [default: RUN/report.html]"
)
def report(runs: tuple[str, ...], output: str | None) -> None:
    """Write a run's report again, or one page that compares several runs.

    Made from metrics.json, log.jsonl and small/search.json in each RUN's folder; several need --output.
    """
    from ..pipeline.finished import read_run
    from ..system.files import require_writable
    from ..system.progress import say

    if len({Path(folder).resolve() for folder in runs}) < len(runs):
        raise InputError(f"{', '.join(runs)}: a run is named twice; give each once")
    if len(runs) > 1 and not output:
        raise InputError("several runs make one page; say where with --output, such as --output comparison.html")
    read = [read_run(folder) for folder in runs]
    path = output or read[0].folder / "report.html"
    require_writable(path)
    with explained(runs):
        _write(path, read)
    say(f"report: {path}")


def _write(path, runs):
    if len(runs) == 1:
        from ..report.run_page import write_report

        write_report(path, runs[0].metrics, runs[0].rows, runs[0].search)
    else:
        from ..report.runs_page import write_comparison

        write_comparison(path, runs)


@contextmanager
def explained(runs: Sequence[str]) -> Iterator[None]:
    """Turn what a page stumbles over, deep in files that someone has changed, into a `DataError`."""
    from jinja2 import TemplateError

    try:
        yield
    except (LookupError, TypeError, ValueError, AttributeError, TemplateError) as error:
        said = f"{type(error).__name__}: {first_line(error)}"
        raise DataError(f"{', '.join(runs)}: figures of another form than `distill run` writes ({said})") from error
