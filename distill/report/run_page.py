"""`report.html`: the outcome of a run, in one file that opens without a network."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from ..system.types import File, Json
from ..system.versions import versions
from . import verdicts
from .answered import answerable_section
from .answers import answers, costs, language_rows, ordered, peers_of
from .bias_sections import Section, lareqa_section
from .charts import ENCODERS, bar_chart, cost_chart, curves, front_chart, latency_chart
from .page import write_page


def write_report(
    path: File,
    metrics: Mapping[str, Json],
    rows: Sequence[Mapping[str, Json]],
    search: Mapping[str, Json] | None = None,
) -> None:
    """Write the page from the content of `metrics.json` and `search.json` and the rows of `log.jsonl`."""
    first, kept, units = answers(metrics), verdicts.shipped(metrics), verdicts.shown_units(metrics)
    query, points = metrics["timings"].get("query"), costs(metrics)
    write_page(
        path,
        "report.html.j2",
        metrics=metrics,
        split=verdicts.shown_split(metrics),
        files={**metrics["dataset"].get("files", {}), **(metrics.get("learned") or {}).get("files", {})},
        unit=verdicts.shown_unit(metrics),
        headline=verdicts.headline(first[1], kept),
        answers=first,
        verdicts=[verdict for verdict in (kept, verdicts.smaller(search)) if verdict],
        language_rows=language_rows(metrics),
        contents=contents(metrics, search),
        splits=ordered(metrics["splits"]),
        units=units,
        encoders=(*peers_of(metrics), *ENCODERS),
        picture=cost_chart(points) if len(points) > 1 else "",
        examples=metrics.get("examples"),
        bars={(split, unit): bar_chart(metrics, split, unit) for split in metrics["splits"] for unit in units},
        curves=curves(rows),
        latency=latency_chart(query) if query else "",
        search=search,
        fronts=front_chart(metrics, search) if search and search["bundles"] else "",
        **(lareqa_section(metrics["lareqa"]).values if metrics.get("lareqa") else {"lareqa": None}),
        **(answerable_section(metrics["answerable"]).values if metrics.get("answerable") else {"answerable": None}),
    )


def write_evaluation(path: File, sections: Sequence[Section]) -> None:
    """Write a page of tasks that were measured without a run, a section each."""
    files = {name: sha for section in sections for name, sha in section.part.get("files", {}).items()}
    values = {name: value for section in sections for name, value in section.values.items()}
    write_page(path, "evaluation.html.j2", versions=versions(), files=files, sections=sections, **values)


def contents(metrics: Mapping[str, Json], search: Mapping[str, Json] | None) -> list[tuple[str, str]]:
    """Return (id, name) of the page's sections."""
    first = {
        "cost": ("Size, time and quality", len(costs(metrics)) > 1),
        "examples": ("Questions won and lost", metrics.get("examples")),
    }
    optional = {
        "compressed": ("Compressed bundles", search),
        "lareqa": ("LAReQA", metrics.get("lareqa")),
        "answerable": ("Questions without an answer", metrics.get("answerable")),
    }
    return [
        *((id, name) for id, (name, there) in first.items() if there),
        *((f"p1-{split}", f"P@1 on {split}") for split in ordered(metrics["splits"])),
        ("training", "Training"),
        ("bundle", "Bundle"),
        *((id, name) for id, (name, there) in optional.items() if there),
        ("settings", "Settings, versions, data"),
    ]
