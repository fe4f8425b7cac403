"""Readers of what a row's command wrote: figures by column, in per cent."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TypeAlias

from ..system.types import Json

# From a row's JSON to figures by column, those that a paper has too and others.
Read: TypeAlias = Callable[[Json], Mapping[str, float]]
# From a row's JSON to the questions that it alone, and that the base alone, answers, by column.
Against: TypeAlias = Callable[[Json], Mapping[str, tuple[int, int]]]


def to_percent(scores: Mapping[str, Mapping[str, float]], metric: str = "p@1") -> dict[str, float]:
    """Return the per cent of a metric by language.

    Args:
        scores: `{language: {metric: share}}`.
        metric: The metric, such as "p@1".
    """
    return {language: 100 * score[metric] for language, score in scores.items()}


def read_run(encoder: str, unit: str = "document", metric: str = "p@1") -> Read:
    """Return the reader of a run's `metrics.json`, of what was measured on dev.

    Args:
        encoder: The name of the encoder, such as "student".
        unit: "document", "passage" or "maxp".
    """
    return lambda written: to_percent(written["splits"]["dev"]["encoders"][encoder][unit], metric)


def read_comparison(side: str = "a", unit: str = "document", metric: str = "p@1") -> Read:
    """Return the reader of `distill compare --json`. `side` is "a" for its first encoder, "b" for its second."""

    def read(written):
        return {name: 100 * row[side] for name, row in written["metrics"][metric][unit].items() if name != "all"}

    return read


def read_disagreements(columns: Sequence[str], unit: str = "document", metric: str = "p@1") -> Against:
    """Return the reader of `distill compare --json` for McNemar's test of its encoder `a` against `b`."""

    def read(written):
        rows = written["metrics"][metric][unit]
        return {name: (rows[name]["only_a"], rows[name]["only_b"]) for name in columns}

    return read


def read_lareqa(written: Json) -> Json:
    """Return the figures that `distill evaluate --task lareqa --json` wrote of its one encoder."""
    [figures] = written["lareqa"]["encoders"].values()
    return figures


def read_published(columns: str, values: str) -> dict[str, float]:
    """Return a paper's figures by column, without those that are a dash."""
    return {column: float(value) for column, value in zip(columns.split(), values.split(), strict=True) if value != "-"}
