"""The charts of a page, as SVG text that takes its colours from the page: light or dark, on screen or on paper.

Encoders differ by hatching or marker too, so that a chart can be read without its colours.
"""

from __future__ import annotations

import io
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from html import escape
from typing import TYPE_CHECKING

import numpy as np

from ..system.types import Doubles, Json

if TYPE_CHECKING:
    from matplotlib.axes import Axes

ENCODERS = ("base", "teacher", "student", "bundle")
# What matplotlib draws with, and the page's variables that take its place.
INK, SOFT, PAPER = "#010203", "#040506", "#070809"
COLOURS = {"base": "#9aa5b1", "teacher": "#e0a030", "student": "#2f7fd0", "bundle": "#184e86"}
VARIABLES = {INK: "--ink", SOFT: "--soft", PAPER: "--paper"} | {value: f"--{name}" for name, value in COLOURS.items()}
HATCHES = {"base": "", "teacher": "/////", "student": "", "bundle": "----"}
MARKERS = {"base": "s", "teacher": "^", "student": "D", "bundle": "o"}
STYLE = {
    "svg.fonttype": "none",
    "svg.hashsalt": "distill",
    # Of which the page takes its own.
    "font.sans-serif": ["DejaVu Sans"],
    "font.size": 9,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.axisbelow": True,
    "grid.alpha": 0.25,
    "hatch.linewidth": 0.8,
    **{f"{name}.facecolor": "none" for name in ("figure", "axes", "savefig")},
    **dict.fromkeys(
        ["text.color", "axes.labelcolor", "axes.edgecolor", "axes.titlecolor", "xtick.color", "ytick.color"], INK
    ),
    "grid.color": SOFT,
}


# Markers of encoders that are measured beside, over the bars.
PEER_MARKERS = ("_", "x", "+", "1")


def list_distinct_encoders(metrics: Mapping[str, Json]) -> tuple[str, ...]:
    """Return the names of a run's own encoders, without the teacher if it is the base itself."""
    same = all(part["encoders"]["teacher"] == part["encoders"]["base"] for part in metrics["splits"].values())
    return tuple(name for name in ENCODERS if not (same and name == "teacher"))


def draw_bar_chart(metrics: Mapping[str, Json], split: str, unit: str, encoders: Sequence[str] = ENCODERS) -> str:
    """Draw P@1 by language as one bar per encoder of a run, and a marker per peer."""
    figures, languages = metrics["splits"][split]["encoders"], metrics["languages"]
    bars = [name for name in encoders if name in ENCODERS]
    peers = [name for name in encoders if name not in ENCODERS]
    width = 0.8 / len(bars)
    with _style():
        figure, axes = _figure(max(4.5, 1.1 + 0.75 * len(languages)), 3)
        for place, name in enumerate(bars):
            positions = [number + width * (place - (len(bars) - 1) / 2) for number in range(len(languages))]
            axes.bar(positions, _heights(figures[name][unit], languages), 0.95 * width, label=name, **_fill(name))
        for place, name in enumerate(peers):
            look = {"marker": PEER_MARKERS[place % len(PEER_MARKERS)], "ms": 14 if place == 0 else 7, "mew": 1.6}
            heights = _heights(figures[name][unit], languages)
            axes.plot(range(len(languages)), heights, color=INK, ls="none", label=shorten(name), **look)
        axes.set_xticks(range(len(languages)), languages, parse_math=False)
        axes.grid(axis="y")
        axes.set_ylim(0, 100)
        axes.set_ylabel("P@1, %")
        _legend_above(axes, min(5, len(encoders)))
        return _svg(figure, f"p1-{split}-{unit}", f"P@1 by language and encoder, {split}, unit {unit}")


def _heights(rows, languages):
    return [100 * rows[language]["p@1"] for language in languages]


def draw_curves(rows: Sequence[Mapping[str, Json]]) -> str:
    """Draw dev P@1 and loss over the training steps of each stage, from the rows of `log.jsonl`."""
    from matplotlib.ticker import MaxNLocator

    with _style():
        # A teacher that is fixed, or the base itself, has no first stage.
        learned = any(row["event"] == "teacher" and "loss" in row for row in rows)
        stages = ["teacher", "student"] if learned else ["student"]
        figure, all_axes = _figure(4.5 * len(stages), 2.8, len(stages))
        for axes, stage in zip(np.atleast_1d(all_axes), stages, strict=True):
            points = [row for row in rows if row["event"] == stage]
            scores = [100 * row["p@1"] for row in points]
            axes.plot([row["step"] for row in points], scores, "o-", color=COLOURS[stage], ms=3)
            axes.set_title(stage, fontsize=9)
            axes.set_xlabel("step")
            axes.set_ylabel("dev P@1, %")
            axes.xaxis.set_major_locator(MaxNLocator(6, integer=True))
            trained = [row for row in points if "loss" in row]
            other = axes.twinx()
            other.plot([row["step"] for row in trained], [row["loss"] for row in trained], "--", color=SOFT, lw=1)
            other.set_ylabel("mean loss (dashed)", color=SOFT)
        return _svg(figure, "curves", "dev P@1 and loss over the steps of both stages")


# Of encoders by any name, in turn: (colour, hatch or marker).
SERIES = (("#2f7fd0", "", "o"), ("#e0a030", "/////", "^"), ("#9aa5b1", "", "s"), ("#184e86", "----", "D"))


def draw_bars(rows: Mapping[str, Mapping[str, float | None]], label: str, name: str, level: float | None = None) -> str:
    """Draw shares as bars in per cent, with a line at the share `level`."""
    groups = list(dict.fromkeys(key for row in rows.values() for key in row))
    width = 0.8 / len(rows)
    with _style():
        figure, axes = _figure(max(4.5, 1.1 + 0.5 * len(groups) + 0.16 * len(groups) * len(rows)), 2.6)
        for place, (encoder, row) in enumerate(rows.items()):
            colour, hatch, _ = SERIES[place % len(SERIES)]
            heights = [100 * (row.get(group) or 0) for group in groups]
            positions = np.arange(len(groups)) + width * (place - (len(rows) - 1) / 2)
            look = {"color": colour, "hatch": hatch, "edgecolor": PAPER, "linewidth": 0.4}
            axes.bar(positions, heights, 0.95 * width, label=shorten(encoder), **look)
        if level is not None:
            axes.axhline(100 * level, color=SOFT, linestyle="--", linewidth=1)
        axes.set_xticks(range(len(groups)), groups, parse_math=False)
        axes.grid(axis="y")
        axes.set_ylabel(label)
        _legend_above(axes, min(4, len(rows)))
        return _svg(figure, name, label)


def draw_lines(rows: Mapping[str, Mapping[str, float]], label: str, name: str, across: str) -> str:
    """Draw shares as lines in per cent. `rows` is `{encoder: {whole number: share}}`."""
    with _style():
        figure, axes = _figure(5.5, 2.8)
        for place, (encoder, row) in enumerate(rows.items()):
            colour, _, marker = SERIES[place % len(SERIES)]
            heights = [100 * value for value in row.values()]
            axes.plot(list(map(int, row)), heights, marker=marker, color=colour, ms=5, label=shorten(encoder))
        axes.set_xticks(sorted({int(number) for row in rows.values() for number in row}))
        axes.margins(y=0.2)
        axes.grid(axis="y")
        axes.set_xlabel(across)
        axes.set_ylabel(label)
        _legend_above(axes, min(4, len(rows)))
        return _svg(figure, name, label)


def draw_risk_chart(curves: Mapping[str, Sequence[Sequence[float]]]) -> str:
    """Draw `{encoder: [[coverage, risk], …]}`, whose shares are shown in per cent."""
    with _style():
        figure, axes = _figure(5.5, 2.8)
        for place, (encoder, curve) in enumerate(curves.items()):
            colour, _, marker = SERIES[place % len(SERIES)]
            coverage, risk = (100 * np.array(curve)).T
            axes.plot(coverage, risk, marker=marker, color=colour, ms=4, label=shorten(encoder))
        axes.set_xlim(0, 102)
        axes.set_ylim(0, None)
        axes.grid(axis="y")
        axes.set_xlabel("coverage: questions answered, most confident first, %")
        axes.set_ylabel("risk: not right, %")
        _legend_above(axes, min(4, len(curves)))
        return _svg(figure, "risk", "share of wrong answers against the share of questions that are answered")


# Opacity of a heat map's cells; the strongest leaves the number over it legible.
FAINTEST, STRONGEST = 0.03, 0.62


def draw_heat_map(rows: Mapping[str, Mapping[str, float | None]], label: str, name: str, highest: float) -> str:
    """Draw shares by the languages of question and answer as a grid of shaded cells with their per cent.

    A shade is an opacity: dark on paper, bright on a dark screen.
    """
    from matplotlib.colors import ListedColormap

    columns = list(dict.fromkeys(key for row in rows.values() for key in row))
    shares = np.array([[row.get(column) for column in columns] for row in rows.values()], dtype=float)
    with _style():
        figure, axes = _figure(max(1.6, 0.55 + 0.36 * len(columns)), 0.55 + 0.26 * len(rows))
        look = {
            "cmap": ListedColormap([COLOURS["student"]]),
            "alpha": compute_opacity(shares, highest),
            "edgecolors": "none",
        }
        axes.pcolormesh(np.zeros(shares.shape), **look)
        for (y, x), share in np.ndenumerate(shares):
            number = "–" if np.isnan(share) else f"{100 * share:.0f}"
            axes.text(x + 0.5, y + 0.5, number, ha="center", va="center", fontsize=8)
        axes.set_xticks(np.arange(len(columns)) + 0.5, columns, weight="bold", parse_math=False)
        axes.set_yticks(np.arange(len(rows)) + 0.5, list(rows), weight="bold", parse_math=False)
        axes.tick_params(length=0, labelsize=8, labeltop=True, labelbottom=False)
        axes.spines[:].set_visible(False)
        axes.invert_yaxis()
        axes.set_title("answer language", color=SOFT, fontsize=8)
        return _svg(figure, name, label)


def compute_opacity(shares: Doubles, highest: float) -> Doubles:
    """Return the opacity of cells, which is linear in their shares; NaN, a cell without one, gets 0."""
    parts = np.clip(shares / highest, 0, 1) if highest > 0 else np.zeros(shares.shape)
    return np.where(np.isnan(shares), 0, FAINTEST + (STRONGEST - FAINTEST) * parts)


# A panel of a plane and what is above and beside it, in inches; the panels of a row.
SIDE, HEAD, GAP, PANELS = 1.5, 0.22, 0.12, 6
# Of a panel's side, from its middle to its outermost point.
REACH = 0.46


def draw_plane(points: Mapping[str, Mapping[str, Sequence[Sequence[float]]]], label: str, name: str) -> str:
    """Draw points in the plane, one panel per language, with the points of all languages faint behind.

    The panel tells the language of a point and its marker what it is, so colour is not needed. All panels share one
    scale. `points` is `{language: {"questions": [[x, y], …], "candidates": [[x, y], …]}}`.
    """
    places = _centre_points(points)
    everything = np.concatenate([part for of in places.values() for part in of.values()])
    width = (SIDE + GAP) * min(PANELS, len(points))
    height = (SIDE + HEAD) * -(-len(points) // PANELS)
    with _style():
        figure = _bare_figure(width, height)
        for number, (language, of) in enumerate(places.items()):
            left, low = (SIDE + GAP) * (number % PANELS) + GAP / 2, height - (SIDE + HEAD) * (number // PANELS + 1)
            axes = figure.add_axes((left / width, low / height, SIDE / width, SIDE / height))
            axes.set(xlim=(-0.5, 0.5), ylim=(-0.5, 0.5), xticks=[], yticks=[])
            axes.spines[:].set(visible=True, color=SOFT, linewidth=0.5)
            axes.set_title(language, loc="left", fontsize=9, weight="bold", pad=3, parse_math=False)
            _cloud(axes, everything)
            axes.plot(*of["candidates"].T, "x", color=INK, ms=3, mew=0.8)
            axes.plot(*of["questions"].T, "o", color=COLOURS["student"], ms=3.2, mew=0)
        return _svg(figure, name, label)


def _centre_points(points):
    """Return the points as arrays `(n, 2)` round 0, none farther than `REACH` along an axis."""
    arrays = {
        name: {kind: np.array(xy, float).reshape(-1, 2) for kind, xy in of.items()} for name, of in points.items()
    }
    every = np.concatenate([part for of in arrays.values() for part in of.values()])
    low, high = (every.min(axis=0), every.max(axis=0)) if len(every) else np.zeros((2, 2))
    scale = 2 * REACH / (np.max(high - low) or 1)
    return {name: {kind: scale * (xy - (low + high) / 2) for kind, xy in of.items()} for name, of in arrays.items()}


def _cloud(axes, points):
    """Draw all points as one marker, which the file holds once for all panels."""
    from matplotlib.markers import MarkerStyle
    from matplotlib.path import Path

    if not points.any():
        return
    dots = Path(np.repeat(points, 2, axis=0), [Path.MOVETO, Path.LINETO] * len(points))
    # A marker's largest coordinate lies half its size from its middle.
    size = 2 * 72 * SIDE * np.abs(points).max()
    marker = MarkerStyle(dots, fillstyle="none", capstyle="round")
    axes.plot([0], [0], marker=marker, ms=size, mew=1.6, color=SOFT, alpha=0.35)


def draw_latency_chart(query: Mapping[str, float]) -> str:
    """Draw milliseconds per query at three percentiles."""
    names = {"median_ms": "median", "p95_ms": "95th percentile", "p99_ms": "99th percentile"}
    with _style():
        figure, axes = _figure(5, 1.3)
        axes.barh(list(names.values()), [query[key] for key in names], color=COLOURS["bundle"])
        axes.invert_yaxis()
        axes.set_xlabel("ms per query, tokenize and encode")
        return _svg(figure, "latency", "milliseconds per query: median, 95th and 99th percentile")


@dataclass(frozen=True)
class Cost:
    """An encoder's milliseconds per query, bytes on disk and mean P@1 in per cent; `label` is its name in a chart."""

    name: str
    ms: float
    bytes: int
    p: float
    label: str = ""


# Of a circle, in points squared, the largest; between two labels, of which each has two lines, in points.
LARGEST, APART = 900, 24


def draw_cost_chart(costs: Sequence[Cost], others: Mapping[str, float] | None = None) -> str:
    """Draw mean P@1 against time.

    Circles, whose area is their size, stand for encoders; dashed lines for others, whose size or time is unknown.
    """
    from matplotlib.ticker import MaxNLocator

    largest, others = max(cost.bytes for cost in costs), others or {}
    with _style():
        figure, axes = _figure(7, 3.6)
        for cost in costs:
            colour, size = COLOURS.get(cost.name, INK), LARGEST * cost.bytes / largest
            axes.scatter(cost.ms, cost.p, size, color=colour, alpha=0.25, linewidths=0)
            axes.scatter(cost.ms, cost.p, size, facecolors="none", edgecolors=colour, linewidths=1.2)
            axes.plot(cost.ms, cost.p, MARKERS.get(cost.name, "^"), color=colour, ms=4)
        make_logarithmic(axes)
        axes.set_xlim(*_with_room([cost.ms for cost in costs]))
        axes.set_ylim(*_tens([*(cost.p for cost in costs), *others.values()]))
        axes.yaxis.set_major_locator(MaxNLocator(6, steps=[1, 2, 5, 10]))
        axes.grid(axis="y")
        axes.set_xlabel("ms per query, median")
        axes.set_ylabel("mean P@1, %")
        _lines(axes, others)
        _write_names(axes, costs)
        return _svg(figure, "cost", "mean P@1 of base, bundle and peers against milliseconds per query, by size")


def _tens(shares):
    """Return the ends of an axis of per cent: whole tens, at least twenty apart, with room for circles."""
    low, high = 10 * np.floor((min(shares) - 5) / 10), 10 * np.ceil((max(shares) + 5) / 10)
    return max(0, min(low, high - 20)), min(100, high)


def _lines(axes, others):
    for name, share in others.items():
        axes.axhline(share, color=SOFT, linestyle="--", linewidth=1)
        place = {"xy": (0.01, share), "xycoords": ("axes fraction", "data"), "xytext": (0, 3)}
        label = f"{shorten(name)} {share:.1f} %"
        axes.annotate(label, **place, textcoords="offset points", fontsize=8, color=SOFT, parse_math=False)


def _with_room(times):
    """Return the ends of a logarithmic axis whose right third is left to names."""
    low, high = np.log10(min(times)) - 0.3, np.log10(max(times)) + 0.1
    return 10**low, 10 ** (high + max(0.4, (high - low) / 2))


def _write_names(axes, costs):
    """Write names with size and time right of the circles, lifted if one would lie on another."""
    figure, lowest = axes.get_figure(), -np.inf
    figure.get_layout_engine().execute(figure)
    scale = figure.dpi / 72
    for cost in sorted(costs, key=lambda cost: cost.p):
        height = axes.transData.transform((cost.ms, cost.p))[1] / scale
        lowest = max(height, lowest + APART)
        axes.annotate(
            f"{shorten(cost.label or cost.name)}\n{cost.bytes / 1e6:.1f} MB, {cost.ms:.2f} ms, {cost.p:.1f} %",
            (cost.ms, cost.p),
            (24, lowest - height),
            textcoords="offset points",
            fontsize=8,
            va="center",
            linespacing=1.1,
            parse_math=False,
            arrowprops={"arrowstyle": "-", "color": SOFT, "linewidth": 0.5},
        )


def draw_front_chart(metrics: Mapping[str, Json], search: Mapping[str, Json]) -> str:
    """Draw P@1 of bundles against size and time, with the front joined, and of other encoders at the bundle's cost."""
    names = [name for name in list_distinct_encoders(metrics) if name != "bundle"]
    means = {name: compute_search_mean(metrics, name, search["languages"]) for name in names}
    costs = (("bytes", 1e-6, "MB on disk"), ("ms", 1, "ms per query, median"))
    with _style():
        figure, all_axes = _figure(9, 3.6, 2)
        for axes, (cost, scale, label) in zip(all_axes, costs, strict=True):
            for name, mean in means.items():
                axes.plot(scale * search["whole"][cost], 100 * mean, MARKERS[name], color=COLOURS[name], label=name)
            _front(axes, search, cost, scale)
            make_logarithmic(axes)
            axes.set_xlabel(label)
            axes.set_ylabel("dev P@1 (maxp), %")
            axes.margins(x=0.14)
        _legend_above(all_axes[0], 3)
        return _svg(figure, "front", "P@1 of each bundle against its size and its time")


def _front(axes, search, cost, scale):
    """Draw each bundle with its number in the page's table, as names would overlap."""
    for number, row in enumerate(search["bundles"], start=1):
        chosen, place = row["name"] == search["chosen"], (scale * row[cost], 100 * row["p@1"])
        size, style = (9, "none") if chosen else (4, "full")
        axes.plot(*place, MARKERS["bundle"], color=COLOURS["bundle"], ms=size, fillstyle=style)
        axes.annotate(str(number), place, (7, 4), textcoords="offset points", fontsize=8)
    rows = sorted(search["bundles"], key=lambda row: row[cost])
    best = np.maximum.accumulate([row["p@1"] for row in rows])
    axes.step([scale * row[cost] for row in rows], 100 * best, where="post", color=COLOURS["bundle"], lw=0.8)


def compute_search_mean(metrics: Mapping[str, Json], name: str, languages: Sequence[str]) -> float:
    """Return the mean dev P@1 of an encoder, unit maxp, by which a search compares bundles."""
    table = metrics["splits"]["dev"]["encoders"][name]["maxp"]
    return float(np.mean([table[language]["p@1"] for language in languages]))


def draw_runs_chart(means: Mapping[str, Mapping[str, float | None]], title: str) -> str:
    """Draw the mean P@1 of several runs as one bar per encoder. `means` is `{run: {encoder: mean or None}}`."""
    with _style():
        figure, axes = _figure(8, 0.9 + 0.62 * len(means))
        # A teacher that is the base in every run has no bar of its own.
        same = all(of["teacher"] == of["base"] for of in means.values())
        names = [name for name in ENCODERS if not (same and name == "teacher")]
        width = 0.8 / len(names)
        for place, name in enumerate(names):
            positions = [number + width * (place - (len(names) - 1) / 2) for number in range(len(means))]
            widths = [100 * (of[name] or 0) for of in means.values()]
            bars = axes.barh(positions, widths, 0.95 * width, label=name, **_fill(name))
            axes.bar_label(bars, fmt="%.1f", padding=3, fontsize=7)
        axes.set_yticks(range(len(means)), [shorten(name) for name in means], parse_math=False)
        axes.invert_yaxis()
        axes.grid(axis="x")
        axes.set_xlim(0, 100)
        axes.set_xlabel("mean P@1, %")
        _legend_above(axes)
        return _svg(figure, "runs", title)


def _fill(name):
    """Return the look of an encoder's bars, which differ without colour too."""
    if name == "bundle":
        return {"facecolor": "none", "hatch": HATCHES[name], "edgecolor": COLOURS[name], "linewidth": 0.8}
    return {"color": COLOURS[name], "hatch": HATCHES[name], "edgecolor": PAPER, "linewidth": 0.4}


def _legend_above(axes, columns=4):
    axes.legend(ncols=columns, frameon=False, fontsize=8, loc="lower center", bbox_to_anchor=(0.5, 1.0))


def _style():
    import matplotlib

    return matplotlib.rc_context(STYLE)


def _figure(width, height, columns=1):
    figure = _bare_figure(width, height, layout="constrained")
    return figure, figure.subplots(1, columns)


def _bare_figure(width, height, layout=None):
    from matplotlib.figure import Figure

    return Figure(figsize=(width, height), layout=layout)


def _svg(figure, name, label):
    from matplotlib.backends.backend_svg import FigureCanvasSVG

    text = io.StringIO()
    # `savefig` draws twice, once for the layout alone, which the second time makes again.
    FigureCanvasSVG(figure).print_svg(text, metadata=dict.fromkeys(("Date", "Creator", "Type", "Format")))
    return apply_theme(text.getvalue()[text.getvalue().index("<svg") :], name, label)


def apply_theme(svg: str, name: str, label: str) -> str:
    """Return an SVG that takes its colours from the page and whose ids are its own, as several stand in one page."""
    for colour, variable in VARIABLES.items():
        svg = re.sub(rf'\b(fill|stroke)="{colour}"', rf'style="\1: var({variable})"', svg)
        svg = re.sub(rf"\b(fill|stroke): {colour}\b", rf"\1: var({variable})", svg)
    # A style sheet inside a figure would hold for the whole page.
    svg = re.sub(r"<style.*?</style>", "", svg, flags=re.DOTALL)
    svg = re.sub(r'( id="|url\(#|href="#)', rf"\g<1>{re.sub(r'[^a-z0-9]+', '-', name)}-", svg)
    return svg.replace("<svg ", f'<svg role="img" aria-label="{escape(label)}" ', 1)


LONGEST = 32


def shorten(name: str) -> str:
    """Return a name; a long path is cut at its beginning."""
    return name if len(name) <= LONGEST else f"…{name[1 - LONGEST :]}"


def make_logarithmic(axes: Axes) -> None:
    """Make the x-axis logarithmic, with plain numbers, some of which are visible even for one encoder."""
    from matplotlib.ticker import LogLocator, NullFormatter

    axes.set_xscale("log")
    axes.xaxis.set_major_locator(LogLocator(subs=(1, 2, 5)))
    axes.xaxis.set_major_formatter("{x:g}")
    axes.xaxis.set_minor_formatter(NullFormatter())
    axes.grid(axis="x", alpha=0.3)
