"""The picture of README.md: size, time and quality of the encoders that ship and of peers, from docs/figures.json.

    python benchmarks/picture.py docs/quality.svg

Left: P@1 against milliseconds per question. Right: P@1 against megabytes under mteb's protocol, with published peers.
"""

import argparse
import runpy
from pathlib import Path

import matplotlib as mpl
from matplotlib.figure import Figure
from matplotlib.ticker import FuncFormatter

FIGURES = runpy.run_path(str(Path(__file__).with_name("figures.py")))
OURS, OTHERS, INK = "#1f6fb5", "#8a6d3b", "#24292f"
TITLE = "Size: mteb's MLQA, one vector per passage"
STYLE = {
    "svg.fonttype": "none",
    "svg.hashsalt": "distill",
    "font.family": "sans-serif",
    "font.size": 10,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.axisbelow": True,
    **dict.fromkeys(("text.color", "axes.labelcolor", "axes.edgecolor", "xtick.color", "ytick.color"), INK),
}
# Where a name is put that would lie on another, or outside of the axes, right of its disc: the rest is there.
SIDES = {
    "e5-small, 4 bits": "left",
    "bekko-embedding-v1-a8m": "left",
    "bekko-embedding-v1-a25m": "left",
    "EmbeddingGemma-300m": "left",
    "potion-multilingual-128M": "left",
    "static-similarity-mrl-multilingual-v1": "left",
    "LaBSE": "above",
}


def label_place(side, radius):
    """Return the offset in points and the alignment of a label on a side of its disc."""
    far = radius + 4
    return {
        "right": ((far, 0), "left", "center"),
        "left": ((-far, 0), "right", "center"),
        "above": ((0, far), "center", "bottom"),
        "below": ((0, -far), "center", "top"),
    }[side]


def short_name(name):
    """Return a name without the words that many models have in theirs."""
    return name.replace("-embedding", "").replace("-multilingual", "")


def draw_point(axes, name, x, y, shipped, area, label):
    """Draw an encoder as a disc with its name beside it."""
    axes.scatter([x], [y], area, color=OURS if shipped else OTHERS, alpha=0.6, edgecolors=INK, linewidths=0.6)
    offset, across, up = label_place(SIDES.get(name, "right"), area**0.5 / 2)
    words = {"fontsize": 8.5, "weight": "bold" if shipped else "normal", "ha": across, "va": up, "parse_math": False}
    axes.annotate(label, (x, y), offset, textcoords="offset points", **words)


def draw_axes(axes, across, ticks, title):
    """Label the axes of a panel, with a logarithmic one across."""
    axes.set_xscale("log")
    axes.set_xticks(ticks)
    axes.xaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:g}"))
    axes.minorticks_off()
    axes.set_xlabel(across)
    axes.set_ylabel("P@1, %, mean of 6 languages")
    axes.set_title(title, fontsize=10, loc="left")
    axes.grid(axis="y", alpha=0.25)


def draw_times(axes, figures):
    """Draw P@1 against milliseconds; the area of a disc is the size of the file."""
    for name, megabytes, milliseconds, others, _ in FIGURES["points"](figures):
        shipped = figures["encoders"][name]["shipped"]
        draw_point(axes, name, milliseconds, others, shipped, 6 * megabytes, f"{name}\n{megabytes} MB, {others} %")
    axes.set_xlim(0.02, 200)
    axes.set_ylim(32, 74)
    draw_axes(axes, "milliseconds per question, one thread", (0.1, 1, 10, 100), "Time: disc area is file size")


def draw_sizes(axes, figures):
    """Draw P@1 under mteb's protocol against megabytes."""
    for name, megabytes, _, others, published in FIGURES["peers"](figures):
        shipped = not published and figures["encoders"][name]["shipped"]
        draw_point(axes, name, megabytes, others, shipped, 40, f"{short_name(name)} {others}")
    axes.set_xlim(6, 4000)
    axes.set_ylim(32, 78)
    draw_axes(axes, "megabytes, and P@1 beside the name", (10, 30, 100, 300, 1000), TITLE)


def draw(figures, output):
    """Write the picture as SVG, or as what the ending of `output` says."""
    with mpl.rc_context(STYLE):
        figure = Figure(figsize=(10.6, 4.4), layout="constrained")
        left, right = figure.subplots(1, 2)
        draw_times(left, figures)
        draw_sizes(right, figures)
        metadata = {"Date": None} if Path(output).suffix == ".svg" else None
        figure.savefig(output, metadata=metadata, facecolor="white")


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("output", type=Path, help="an SVG file")
    draw(FIGURES["read_figures"](), parser.parse_args().output)


if __name__ == "__main__":
    main()
