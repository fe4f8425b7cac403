"""The command `report`: pages on finished runs."""

from __future__ import annotations

import click

from .shared.command import command
from .shared.help import option
from .shared.options import require_writable_path


@command(
    examples=["distill report runs/sample-en", "distill report runs/sample-en runs/sample-de --output compared.html"],
)
@click.argument("runs", metavar="RUN...", nargs=-1, required=True, type=click.Path(file_okay=False))
@option(
    "--output",
    panel="files",
    type=click.Path(dir_okay=False),
    callback=require_writable_path,
    help="The page. [default: RUN/report.html]",
)
def report(runs: tuple[str, ...], output: str | None) -> None:
    """Write a run's report, or compare several runs on one page.

    The page is made from metrics.json, log.jsonl and small/search.json in the folder of each RUN. Several runs need
    --output.
    """
    from ..jobs.report_runs import report_runs
    from ..system.progress import say

    say(f"report: {report_runs(runs, output)}")
