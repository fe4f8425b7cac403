"""Write the page of a finished run, or a page that compares several: `distill report` as a function."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from ..errors import DataError, InputError, first_line
from ..system.files import require_writable
from ..system.types import File
from .pipeline.finished_runs import read_run


def report_runs(runs: Sequence[File], output: File | None = None) -> Path:
    """Write the page of a run again, or one page that compares several runs.

    Args:
        runs: Folders of finished runs, each once.
        output: The page; None for `report.html` in the folder of a single run.

    Returns:
        The path of the page.

    Raises:
        InputError: If a run is named twice, or if there are several and no `output`.
        DataError: If a folder holds no run, or if its figures have been changed by hand.

    Example:
        >>> import distill
        >>> distill.report_runs(["my-run"], "page.html").name
        'page.html'
    """
    if len({Path(folder).resolve() for folder in runs}) < len(runs):
        raise InputError(f"{', '.join(map(str, runs))}: a run is named twice; give each once")
    if len(runs) != 1 and not output:
        raise InputError("several runs make one page; say where with --output, such as --output comparison.html")
    read = [read_run(folder) for folder in runs]
    path = Path(output) if output else read[0].folder / "report.html"
    require_writable(path)
    with explain_errors(runs):
        _write(path, read)
    return path


def _write(path, runs):
    if len(runs) == 1:
        from ..report.run_page import write_report

        write_report(path, runs[0].metrics, runs[0].rows, runs[0].search)
    else:
        from ..report.runs_page import write_comparison

        write_comparison(path, runs)


@contextmanager
def explain_errors(runs: Sequence[File]) -> Iterator[None]:
    """Turn the errors of a page, which come from changed files, into a `DataError` that names the runs."""
    from jinja2 import TemplateError

    try:
        yield
    except (LookupError, TypeError, ValueError, AttributeError, TemplateError) as error:
        said = f"{type(error).__name__}: {first_line(error)}"
        raise DataError(
            f"{', '.join(map(str, runs))}: figures of another form than `distill run` writes ({said})"
        ) from error
