"""`report.html`: the outcome of a run, in one file that opens without a network."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from ..system.device import versions
from ..system.types import File, Json
from . import verdicts
from .answers import (
    judge_best_peer,
    label_rows,
    list_costs,
    list_unmeasured,
    list_verdicts,
    make_answerable_section,
    make_language_rows,
    order_splits,
)
from .bias_tables import Section, make_lareqa_section
from .charts import draw_bar_chart, draw_cost_chart, draw_curves, draw_front_chart, draw_latency_chart
from .page import write_page
from .verdicts import COLUMNS, describe_closeness, describe_gain, make_closeness_rows


def write_report(
    path: File,
    metrics: Mapping[str, Json],
    rows: Sequence[Mapping[str, Json]],
    search: Mapping[str, Json] | None = None,
) -> None:
    """Write the report of a run from its `metrics.json`, `log.jsonl` and, if it was searched, `small/search.json`."""
    first, kept, above = list_verdicts(metrics), verdicts.judge_bundle(metrics), judge_best_peer(metrics)
    unit = verdicts.choose_unit(metrics)
    units = sorted(verdicts.list_units(metrics), key=lambda name: name != unit)
    labels = label_rows(metrics)
    names = tuple(labels)
    query, points, others = metrics["timings"].get("query"), list_costs(metrics), list_unmeasured(metrics)
    write_page(
        path,
        "report.html.j2",
        metrics=metrics,
        split=verdicts.choose_split(metrics),
        files=list_data_files(metrics),
        unit=unit,
        headline=verdicts.make_headline(first[1], kept, above),
        answers=first,
        verdicts=[verdict for verdict in (kept, above, verdicts.judge_search(search)) if verdict],
        language_rows=make_language_rows(metrics),
        contents=list_contents(metrics, search),
        splits=order_splits(metrics["splits"]),
        units=units,
        encoders=labels,
        same_teacher="teacher" not in names,
        closeness=(COLUMNS, make_closeness_rows(metrics), describe_closeness(metrics), describe_gain(metrics)),
        picture=draw_cost_chart(points, others) if _has_picture(metrics) else "",
        dashed=bool(others),
        examples=metrics.get("examples"),
        bars={
            (split, unit): draw_bar_chart(metrics, split, unit, names) for split in metrics["splits"] for unit in units
        },
        curves=draw_curves(rows),
        training=list_training_rows(rows),
        latency=draw_latency_chart(query) if query else "",
        search=search,
        fronts=draw_front_chart(metrics, search) if search and search["bundles"] else "",
        **(make_lareqa_section(metrics["lareqa"]).values if metrics.get("lareqa") else {"lareqa": None}),
        **(
            make_answerable_section(metrics["answerable"]).values if metrics.get("answerable") else {"answerable": None}
        ),
    )


def write_evaluation(path: File, sections: Sequence[Section]) -> None:
    """Write a page of tasks that were measured without a run."""
    # Data sets of two tasks may have files of one name.
    files = dict.fromkeys(one for section in sections for one in section.part.get("files", {}).items())
    values = {name: value for section in sections for name, value in section.values.items()}
    write_page(path, "evaluation.html.j2", versions=versions(), files=list(files), sections=sections, **values)


def list_contents(metrics: Mapping[str, Json], search: Mapping[str, Json] | None) -> list[tuple[str, str]]:
    """Return the id and the name of each section of the page."""
    first = {
        "learned": ("What it learned from", True),
        "closeness": ("Closeness to the teacher", metrics.get("closeness")),
        "examples": ("Questions won and lost", metrics.get("examples")),
        "cost": ("Size, time and quality", _has_picture(metrics)),
    }
    optional = {
        "compressed": ("Compressed bundles", search),
        "lareqa": ("LAReQA", metrics.get("lareqa")),
        "answerable": ("Questions without an answer", metrics.get("answerable")),
    }
    return [
        *((id, name) for id, (name, there) in first.items() if there),
        *((f"p1-{split}", f"P@1 on {split}") for split in order_splits(metrics["splits"])),
        ("training", "Training"),
        ("bundle", "Bundle"),
        *((id, name) for id, (name, there) in optional.items() if there),
        ("settings", "Settings, versions, times"),
    ]


def list_training_rows(rows: Sequence[Mapping[str, Json]]) -> list[tuple[str, ...]]:
    """Return a row of texts for each evaluation within a training: stage, epoch, steps, negatives, losses, dev."""
    trained = [row for row in rows if row["event"] in ("teacher", "student") and "p@1" in row]
    return [
        (
            row["event"],
            f"{row['epoch']}{', rounded' if row.get('quantised') else ''}{', mean' if 'averaged' in row else ''}",
            str(row["step"]),
            f"{row['triplets']:,} by {row['negatives']}" if "triplets" in row else "–",
            f"{row['loss']:.4f}" if "loss" in row else "–",
            ", ".join(f"{name} {term:.4f}" for name, term in row.get("terms", {}).items()) or "–",
            f"{100 * row['p@1']:.1f}",
            f"{100 * row['mrr@10']:.1f}",
        )
        for row in trained
    ]


def _has_picture(metrics):
    """Return True if there is an encoder of known size and time, and another to compare it with."""
    return bool(list_costs(metrics)) and len(list_costs(metrics)) + len(list_unmeasured(metrics)) > 1


# Contents of a data set's files, by name; any other is of a language.
CONTENTS = {
    "documents.jsonl": "passages",
    "questions.jsonl": "questions and their passages",
    "splits.json": "splits of the questions",
    "parallel.tsv": "parallel text",
    "descriptions.jsonl": "descriptions of passages",
}


def list_data_files(metrics: Mapping[str, Json]) -> list[tuple[str, str, str]]:
    """Return (name, contents, sha256) for each file of the data set and each other file that was learned from."""
    files, others = metrics["dataset"].get("files", {}), (metrics.get("learned") or {}).get("files", {})
    named = [(name, CONTENTS.get(name, "questions and passages of a language"), sha) for name, sha in files.items()]
    # A setting and a path, as in "student.parallel my web/x.tsv"; earlier versions noted the path alone.
    for name, sha in others.items():
        setting, blank, path = name.partition(" ")
        named.append((path, setting, sha) if blank else (name, "other text", sha))
    return named
