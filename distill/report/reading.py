"""Answers that a reader found, as a table: CL-ReLKT's Table 2."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
from rich.text import Text

from .layout import format_percents, new_console, new_table

# By encoder, then part, then language: "f1" and "em", in [0, 1].
Figures = Mapping[str, Mapping[str, Mapping[str, Mapping[str, float]]]]
ROWS = {"F1": "f1", "EM": "em"}


def print_reading(figures: Figures, milliseconds: Mapping[str, float], split: str, reader: str) -> None:
    """Print F1 and exact match by language, one table per part, and the reader's milliseconds per question.

    Args:
        figures: figures by encoder, part and language.
        milliseconds: the reader's milliseconds per question, by encoder.
        split: the split.
        reader: the reader.
    """
    first = next(iter(figures.values()))
    for part, by_language in first.items():
        table = new_table(f"{part}, {split}, read by {reader}, %", "encoder", "", *by_language, "mean")
        for name, parts in figures.items():
            for place, (label, key) in enumerate(ROWS.items()):
                values = [means[key] for means in parts[part].values()]
                table.add_row(Text("" if place else name), label, *format_percents([*values, float(np.mean(values))]))
            table.add_section()
        new_console().print(table)
    for name, value in milliseconds.items():
        new_console().print(f"{name}: {value:.1f} ms per question for the reader", markup=False, style="dim")
