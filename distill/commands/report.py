"""The command `report`: pages of runs that have ended."""

from __future__ import annotations

import click

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
    from ..jobs.report_runs import report_runs
    from ..system.progress import say

    say(f"report: {report_runs(runs, output)}")
