"""Read the folders of finished runs, also those of earlier versions, and write their page: `distill report`."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from ...encoders.catalog.kinds import METRICS
from ...errors import DataError, InputError, first_line
from ...report.charts import ENCODERS
from ...settings.choices import SENTENCE_UNITS, UNITS
from ...system.files import require_writable
from ...system.input_files import NUMBER, Form, read_json, read_jsonl, require_form
from ...system.types import File, Json

LOG, SEARCH = "log.jsonl", "small/search.json"
# What every version has written, and of which type; what is newer may be absent and is shown as a dash.
FORM: Form = {
    "settings": {"seed": int, "data": {"document_language": str}, "teacher": {"base": str, "language": str}},
    "dataset": {"name": str, "documents": int, "passages": int, "splits": dict},
    "languages": list,
    "mean_over": list,
    "splits": dict,
    "timings": dict,
}
# What a run may have besides; of this form where it is there.
OPTIONAL: Form = {
    "gate": {"texts": int, "cosine_mean": NUMBER, "cosine_min": NUMBER, "drop": NUMBER, "p@1": dict},
    "bundle_bytes": int,
    "versions": dict,
    "device": {"backend": str, "device": str, "memory_bytes": int, "precision": str},
    "lareqa": {"name": str, "split": str, "languages": list, "top": int, "encoders": dict},
    "peers": dict,
    "learned": {"learned_from": str, "chosen_by": str, "files": dict},
    "closeness": {"split": str, "encoders": {"student": dict}},
    "examples": {"split": str, "unit": str, "questions_won": int, "questions_lost": int, "won": list, "lost": list},
}
QUERY = dict.fromkeys(("median_ms", "p95_ms", "p99_ms"), NUMBER)
COSTS: Form = {"bytes": int, "ms": NUMBER}
SEARCH_FORM: Form = {"whole": COSTS, "front": list, "excess": dict, "languages": list, "budget": {"drop": NUMBER}}
BUNDLE: Form = {**COSTS, "name": str, "pieces": int, "p@1": NUMBER, "drop": NUMBER, "languages": dict, "mcnemar": dict}


@dataclass(frozen=True)
class FinishedRun:
    """A finished run: its folder and the content of its `metrics.json`. Other files are read on demand."""

    folder: Path
    metrics: dict[str, Json]

    @property
    def rows(self) -> list[dict[str, Json]]:
        """The rows of `log.jsonl`. Raises `DataError` if the file is malformed."""
        path = self.folder / LOG
        rows = read_jsonl(path)
        for number, row in rows:
            place = f"{path}, line {number}"
            require_form(place, row, {"event": str})
            if row["event"] in ("teacher", "student"):
                require_form(place, row, {"step": int, "p@1": NUMBER})
        return [row for _, row in rows]

    @property
    def search(self) -> dict[str, Json] | None:
        """The content of `search.json`, or None if nothing was compressed; `DataError` if the file is malformed."""
        path = self.folder / SEARCH
        if not path.is_file():
            return None
        search = read_json(path)
        require_form(path, search, {**SEARCH_FORM, "bundles": list, "chosen": (str, type(None))})
        for number, row in enumerate(search["bundles"], start=1):
            require_form(f"{path}, bundle {number}", row, BUNDLE)
        return search


def read_run(folder: File) -> FinishedRun:
    path = Path(folder) / METRICS
    if not path.is_file():
        raise InputError(f"{folder}: no {METRICS} in it; give the folder of a finished `distill run`")
    metrics = read_json(path)
    require_form(path, metrics, FORM)
    require_form(path, metrics, {name: form for name, form in OPTIONAL.items() if metrics.get(name) is not None})
    if metrics["timings"].get("query") is not None:
        require_form(f"{path}, timings.query", metrics["timings"]["query"], QUERY)
    for name, part in metrics["splits"].items():
        _require_split(f"{path}, splits.{name}", part, metrics["languages"])
    if not all(metrics[name] for name in ("splits", "languages", "mean_over")):
        raise DataError(f"{path}: no split or no language was measured; repeat the run")
    return FinishedRun(Path(folder), metrics)


def _units(part):
    """Return the units that every run has, and the sentence units of this one."""
    for name in ("mean_p@1", "student"):
        part = part.get(name) if isinstance(part, dict) else None
    return (*UNITS, *(unit for unit in SENTENCE_UNITS if isinstance(part, dict) and unit in part))


def _require_split(place, part, languages):
    units = _units(part)
    figures: Form = dict.fromkeys(languages, dict.fromkeys(("p@1", "p@5", "p@10", "mrr@10", "questions"), NUMBER))
    tested: Form = dict.fromkeys(languages, {"a": NUMBER, "b": NUMBER, "p_holm": NUMBER, "significant": bool})
    means = part.get("mean_p@1") if isinstance(part, dict) else None
    names = dict.fromkeys([*ENCODERS, *(means if isinstance(means, dict) else ())])
    form: Form = {
        "encoders": dict.fromkeys(names, dict.fromkeys(units, figures)),
        "mean_p@1": dict.fromkeys(names, dict.fromkeys(units, NUMBER)),
        "mcnemar": {"student against base": dict.fromkeys(units, tested)},
    }
    require_form(place, part, form)
    if part.get("sign_flips") is not None:
        flips: Form = {"a": NUMBER, "b": NUMBER, "difference": NUMBER, "p": NUMBER, "questions": int, "clusters": int}
        require_form(place, part, {"sign_flips": {"student against base": dict.fromkeys(units, flips)}})
        if "bundle against student" in part["sign_flips"]:
            flips = {**flips, "low": NUMBER, "high": NUMBER}
            require_form(place, part, {"sign_flips": {"bundle against student": dict.fromkeys(units, flips)}})
            require_form(place, part, {"mcnemar": {"bundle against student": dict.fromkeys(units, tested)}})


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
        from ...report.run_page import write_report

        write_report(path, runs[0].metrics, runs[0].rows, runs[0].search)
    else:
        from ...report.runs_page import write_comparison

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
