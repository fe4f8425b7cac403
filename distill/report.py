"""`report.html`: tables and plots of a run in one file that opens without a network."""

import io
from pathlib import Path

import numpy as np
from jinja2 import Environment, FileSystemLoader, StrictUndefined

from .config import UNITS
from .export.plot import logarithmic
from .files import write_text

ENCODERS = ("base", "teacher", "student", "bundle")
COLOURS = {"base": "#9aa5b1", "teacher": "#e0a030", "student": "#2f7fd0", "bundle": "#184e86"}
UNIT_NAMES = {
    "document": "one vector a document",
    "passage": "one vector a passage",
    "maxp": "a document as its best passage (MaxP)",
}


def write_report(path, metrics, rows, search=None):
    """Write the page from the content of `metrics.json` and `search.json` and the rows of `log.jsonl`."""
    environment = Environment(
        loader=FileSystemLoader(Path(__file__).parent), autoescape=True, undefined=StrictUndefined
    )
    page = environment.get_template("report.html.j2").render(
        metrics=metrics,
        units=UNITS,
        unit_names=UNIT_NAMES,
        encoders=ENCODERS,
        bars={(split, unit): bar_chart(metrics, split, unit) for split in metrics["splits"] for unit in UNITS},
        curves=curves(rows),
        latency=latency_chart(metrics["timings"]["query"]),
        search=search,
        fronts=front_chart(metrics, search) if search and search["bundles"] else "",
    )
    write_text(path, page)


def bar_chart(metrics, split, unit):
    """P@1 by language, one bar an encoder, as SVG text."""
    figures, languages = metrics["splits"][split]["encoders"], metrics["languages"]
    figure, axes = _figure(max(4.5, 1.1 + 0.75 * len(languages)), 3)
    for place, name in enumerate(ENCODERS):
        heights = [100 * figures[name][unit][language]["p@1"] for language in languages]
        positions = [number + 0.2 * (place - 1.5) for number in range(len(languages))]
        axes.bar(positions, heights, 0.19, label=name, color=COLOURS[name])
    axes.set_xticks(range(len(languages)), languages)
    axes.set_ylim(0, 100)
    axes.set_ylabel("P@1, %")
    axes.legend(ncols=4, frameon=False, fontsize=8, loc="lower center", bbox_to_anchor=(0.5, 1.0))
    return _svg(figure)


def curves(rows):
    """Dev P@1 and loss over the steps of both stages, as SVG text."""
    from matplotlib.ticker import MaxNLocator

    figure, all_axes = _figure(8, 2.8, 2)
    for axes, stage in zip(all_axes, ("teacher", "student"), strict=True):
        points = [row for row in rows if row["event"] == stage]
        axes.plot(
            [row["step"] for row in points], [100 * row["p@1"] for row in points], "o-", color=COLOURS[stage], ms=3
        )
        axes.set_title(stage, fontsize=9)
        axes.set_xlabel("step")
        axes.set_ylabel("dev P@1, %")
        axes.xaxis.set_major_locator(MaxNLocator(6, integer=True))
        trained = [row for row in points if "loss" in row]
        other = axes.twinx()
        other.plot([row["step"] for row in trained], [row["loss"] for row in trained], "--", color="#888888", lw=1)
        other.set_ylabel("mean loss (dashed)", color="#888888")
    return _svg(figure)


def latency_chart(query):
    """Milliseconds a query at three percentiles, as SVG text."""
    figure, axes = _figure(5, 1.3)
    names = {"median_ms": "median", "p95_ms": "95 %", "p99_ms": "99 %"}
    axes.barh(list(names.values()), [query[key] for key in names], color=COLOURS["bundle"])
    axes.invert_yaxis()
    axes.set_xlabel("ms a query, tokenize + encode")
    return _svg(figure)


def front_chart(metrics, search):
    """P@1 against size and time: every bundle, the front joined; base, teacher and student at the whole bundle's."""
    figure, all_axes = _figure(9, 3.6, 2)
    means = {name: search_mean(metrics, name, search["languages"]) for name in ("base", "teacher", "student")}
    for axes, cost, scale, label in zip(
        all_axes, ("bytes", "ms"), (1e-6, 1), ("MB on disk", "ms a query"), strict=True
    ):
        for name, mean in means.items():
            axes.plot(scale * search["whole"][cost], 100 * mean, "s", color=COLOURS[name], label=name)
        rows = sorted(search["bundles"], key=lambda row: row[cost])
        for row in rows:
            chosen = row["name"] == search["chosen"]
            axes.plot(
                scale * row[cost], 100 * row["p@1"], "o", color=COLOURS["bundle"], ms=9 if chosen else 4,
                fillstyle="none" if chosen else "full",
            )  # fmt: skip
            axes.annotate(row["name"], (scale * row[cost], 100 * row["p@1"]), fontsize=6, rotation=20)
        best = np.maximum.accumulate([row["p@1"] for row in rows])
        axes.step([scale * row[cost] for row in rows], 100 * best, where="post", color=COLOURS["bundle"], lw=0.8)
        logarithmic(axes)
        axes.set_xlabel(label)
        axes.set_ylabel("dev P@1 (maxp), %")
    all_axes[0].legend(frameon=False, fontsize=8)
    return _svg(figure)


def search_mean(metrics, name, languages):
    """Mean dev P@1 of an encoder over languages, unit maxp: what the search compares."""
    table = metrics["splits"]["dev"]["encoders"][name]["maxp"]
    return float(np.mean([table[language]["p@1"] for language in languages]))


def _figure(width, height, columns=1):
    import matplotlib

    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    plt.rcParams.update({"svg.fonttype": "none", "svg.hashsalt": "distill", "font.size": 9, "axes.spines.top": False})
    return plt.subplots(1, columns, figsize=(width, height), layout="constrained")


def _svg(figure):
    import matplotlib.pyplot as plt

    text = io.StringIO()
    figure.savefig(text, format="svg", metadata={"Date": None})
    plt.close(figure)
    return text.getvalue()[text.getvalue().index("<svg") :]
