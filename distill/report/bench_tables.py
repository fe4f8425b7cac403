"""Tables of the benchmark."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from rich.text import Text

from .layout import _megabytes, _short, new_console, new_table

if TYPE_CHECKING:
    from ..system.types import Json

LATENCY = ("median", "interval\n(95 %)", "p90", "p95", "p99")


def print_bench(rows: Mapping[str, Mapping[str, Json]], note: Mapping[str, Json]) -> None:
    """Print the figures of a benchmark: a table of all, one by language and one with search if it was timed.

    Args:
        rows: `{encoder: figures}`.
    """
    console, first = new_console(), next(iter(rows.values()))["median_ms"]
    title = (
        f"ms per query (tokenize + encode, batch 1), {note['queries']} questions x {note['rounds']}, "
        f"{note['threads']} thread(s), {note['machine']}"
    )
    heads = ("times\nfirst", f"texts/s,\nbatch {note['batch']}", "cold\nstart s", "memory\nMB", "disk\nMB")
    table = new_table(title, "encoder", *LATENCY, *heads)
    for name, row in rows.items():
        rest = (_short(row["median_ms"] / first), f"{row['texts_per_s']:.0f}", f"{row['cold_start_s']:.2f}")
        table.add_row(Text(name), *_latency(row), *rest, _megabytes(row["memory_bytes"]), _megabytes(row["bytes"]))
    console.print(table)
    _print_bench_languages(console, rows)
    if note["documents"]:
        table = new_table(f"ms per query with the search of {note['documents']} documents", "encoder", *LATENCY)
        for name, row in rows.items():
            table.add_row(Text(name), *_latency(row["search"]))
        console.print(table)
    for name, row in rows.items():
        if (device := row.get("device", "cpu")) != "cpu":
            console.print(f"{name}: on {device}", markup=False, soft_wrap=True)
    for name, why in [*((name, row["note"]) for name, row in rows.items() if row["note"]), *_format_skipped(note)]:
        console.print(f"{name}: {why}", markup=False, soft_wrap=True)


def _print_bench_languages(console, rows):
    languages = next(iter(rows.values()))["languages"]
    table = new_table("median ms by language of the question", "encoder", *languages)
    for name, row in rows.items():
        table.add_row(Text(name), *(_short(figures["median_ms"]) for figures in row["languages"].values()))
    console.print(table)


def _format_skipped(note):
    return [(name, f"skipped: {reason}") for name, reason in note["skipped"].items()]


def _latency(row):
    low, high = row["intervals"]["median_ms"]
    tail = (_short(row[key]) for key in ("p90_ms", "p95_ms", "p99_ms"))
    return _short(row["median_ms"]), f"{_short(low)}–{_short(high)}", *tail
