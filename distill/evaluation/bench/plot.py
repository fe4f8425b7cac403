"""The benchmark as one picture, with one row per encoder."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, TypeVar

from ...errors import InputError
from ...report.charts import make_logarithmic, shorten
from ...system.extras import require_training
from ...system.files import write_aside
from ...system.types import File, Json

if TYPE_CHECKING:
    from matplotlib.figure import Figure

Path = TypeVar("Path", bound=File)

FORMATS = (".png", ".svg")
COLOURS = {"median": "#184e86", "p95": "#e0a030"}


def require_format(path: Path) -> Path:
    """Return the path of a picture; raise `InputError` for another suffix, or if matplotlib is not installed."""
    if not str(path).lower().endswith(FORMATS):
        raise InputError(f"{path}: expected a name that ends with {' or '.join(FORMATS)}")
    require_training("matplotlib")
    return path


def write_plot(path: File, rows: Mapping[str, Json], note: Mapping[str, Json]) -> None:
    """Draw medians with 95 % intervals and 95th percentiles, in ms on a logarithmic axis, with the fastest on top."""
    figure = draw(rows, note)
    with write_aside(path) as aside:
        kind = str(path).lower().rpartition(".")[2]
        # Without a date an SVG is the same for the same figures.
        figure.savefig(aside, format=kind, dpi=150, metadata={"Date": None} if kind == "svg" else None)


def draw(rows: Mapping[str, Json], note: Mapping[str, Json]) -> Figure:
    """Return a matplotlib figure of a benchmark."""
    from matplotlib.figure import Figure

    names = sorted(rows, key=lambda name: rows[name]["median_ms"])
    figure = Figure(figsize=(7, 1.2 + 0.4 * len(names)), layout="constrained")
    axes, places = figure.subplots(), range(len(names))
    medians = [rows[name]["median_ms"] for name in names]
    axes.errorbar(
        medians, places, xerr=interval_lengths(rows, names), fmt="o", color=COLOURS["median"], capsize=3, label="median"
    )
    axes.plot([rows[name]["p95_ms"] for name in names], places, "|", ms=12, color=COLOURS["p95"], label="95 %")
    axes.set_yticks(places, [shorten(name) for name in names], parse_math=False)
    axes.set_ylim(len(names) - 0.5, -0.5)
    make_logarithmic(axes)
    axes.set_xlabel(f"ms per query, tokenize + encode, batch 1, {note['threads']} thread(s)")
    axes.legend(frameon=False, ncols=2, loc="lower right", bbox_to_anchor=(1, 1))
    return figure


def interval_lengths(rows: Mapping[str, Json], names: Sequence[str]) -> list[list[float]]:
    """Return how far intervals reach below and above medians, never below zero, as rounding may leave a median out."""
    ends = [(rows[name]["median_ms"], *rows[name]["intervals"]["median_ms"]) for name in names]
    return [[max(0, middle - low) for middle, low, _ in ends], [max(0, high - middle) for middle, _, high in ends]]
