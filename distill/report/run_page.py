"""`report.html`: the outcome of a run, in one file that opens without a network."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from ..system.types import File, Json
from ..system.versions import versions
from . import verdicts
from .bias_sections import Section, lareqa_section
from .charts import ENCODERS, bar_chart, curves, front_chart, latency_chart
from .page import write_page


def write_report(
    path: File,
    metrics: Mapping[str, Json],
    rows: Sequence[Mapping[str, Json]],
    search: Mapping[str, Json] | None = None,
) -> None:
    """Write the page from the content of `metrics.json` and `search.json` and the rows of `log.jsonl`."""
    gain, kept, units = verdicts.gain(metrics), verdicts.shipped(metrics), verdicts.shown_units(metrics)
    query = metrics["timings"].get("query")
    write_page(
        path,
        "report.html.j2",
        metrics=metrics,
        split=verdicts.shown_split(metrics),
        unit=verdicts.shown_unit(metrics),
        headline=verdicts.headline(gain, kept),
        verdicts=[verdict for verdict in (gain, kept, verdicts.smaller(search)) if verdict],
        contents=contents(metrics, search),
        units=units,
        encoders=ENCODERS,
        bars={(split, unit): bar_chart(metrics, split, unit) for split in metrics["splits"] for unit in units},
        curves=curves(rows),
        latency=latency_chart(query) if query else "",
        search=search,
        fronts=front_chart(metrics, search) if search and search["bundles"] else "",
        **(lareqa_section(metrics["lareqa"]).values if metrics.get("lareqa") else {"lareqa": None}),
    )


def write_evaluation(path: File, sections: Sequence[Section]) -> None:
    """Write a page of tasks that were measured without a run, a section each."""
    files = {name: sha for section in sections for name, sha in section.part.get("files", {}).items()}
    values = {name: value for section in sections for name, value in section.values.items()}
    write_page(path, "evaluation.html.j2", versions=versions(), files=files, sections=sections, **values)


def contents(metrics: Mapping[str, Json], search: Mapping[str, Json] | None) -> list[tuple[str, str]]:
    """Return (id, name) of the page's sections."""
    optional = {
        "compressed": ("Compressed bundles", search),
        "lareqa": ("LAReQA", metrics.get("lareqa")),
    }
    return [
        *((f"p1-{split}", f"P@1 on {split}") for split in metrics["splits"]),
        ("training", "Training"),
        ("bundle", "Bundle"),
        *((id, name) for id, (name, there) in optional.items() if there),
        ("settings", "Settings, versions, data"),
    ]
