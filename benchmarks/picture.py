"""The picture of README.md: P@1 against milliseconds a question, a disc an encoder, as large as its file.

    python benchmarks/picture.py docs/figures.md docs/quality.svg

reads the table of a page between the lines "<!-- picture -->" and "<!-- /picture -->": encoder, MB, ms a question,
P@1 in English and the mean of the other languages, in per cent. The picture follows a light or a dark screen.
"""

import argparse
import math
from dataclasses import dataclass
from html import escape
from pathlib import Path

MARKS = "<!-- picture -->", "<!-- /picture -->"
WIDTH, HEIGHT = 720, 400
# What is inside the axes: left, top, right, bottom.
LEFT, TOP, RIGHT, BOTTOM = 64, 30, 690, 340
# Milliseconds, on a logarithmic scale, and per cent.
FIRST, LAST, LEAST, MOST = 0.01, 100.0, 30.0, 90.0
TICKS = (0.01, 0.1, 1, 10, 100)
# Pixels of a disc's radius for the root of a megabyte.
RADIUS = 2.2
STYLE = (
    "text{font:14px sans-serif;fill:#24292f}.page{fill:#fff}.axis{stroke:#8c959f}.grid{stroke:#d0d7de}"
    ".disc{fill:#2f6fb0;fill-opacity:.55;stroke:#184e86}.english{fill:none;stroke:#24292f;stroke-width:1.5}"
    "@media(prefers-color-scheme:dark){text{fill:#e6edf3}.page{fill:#0d1117}.grid{stroke:#3d444d}.disc{fill:#6cb0f5;stroke:#a5d0fb}"
    ".english{stroke:#e6edf3}}"
)


@dataclass(frozen=True)
class Point:
    """An encoder with its megabytes, milliseconds a question, and P@1 in per cent: English, mean of others."""

    name: str
    megabytes: float
    milliseconds: float
    english: float
    others: float


def points(page: str) -> list[Point]:
    """The rows of the table between the marks of a page."""
    start, end = (page.index(mark) for mark in MARKS)
    rows = [line.strip("| ").split("|") for line in page[start:end].splitlines() if line.startswith("|")]
    return [Point(row[0].strip(" `"), *map(float, row[1:])) for row in rows[2:]]


def across(milliseconds: float) -> float:
    """The place of milliseconds on the horizontal axis."""
    return LEFT + (RIGHT - LEFT) * math.log(milliseconds / FIRST) / math.log(LAST / FIRST)


def up(share: float) -> float:
    """The place of a P@1 in per cent on the vertical axis."""
    return BOTTOM - (BOTTOM - TOP) * (share - LEAST) / (MOST - LEAST)


def text(x: float, y: float, words: str, anchor: str = "middle") -> str:
    """A line of text."""
    return f'<text x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}">{escape(words)}</text>'


def line(kind: str, x1: float, y1: float, x2: float, y2: float) -> str:
    """A straight line of a class."""
    return f'<line class="{kind}" x1="{x1:.1f}" y1="{y1:.1f}" x2="{x2:.1f}" y2="{y2:.1f}"/>'


def axes() -> list[str]:
    """Both axes with their lines and titles."""
    shares = range(int(LEAST), int(MOST) + 1, 10)
    return [
        f'<rect class="page" width="{WIDTH}" height="{HEIGHT}"/>',
        *(line("grid", LEFT, up(share), RIGHT, up(share)) for share in shares),
        *(text(LEFT - 10, up(share) + 5, str(share), "end") for share in shares),
        *(line("axis", across(tick), BOTTOM, across(tick), BOTTOM + 6) for tick in TICKS),
        *(text(across(tick), BOTTOM + 22, f"{tick:g}") for tick in TICKS),
        line("axis", LEFT, BOTTOM, RIGHT, BOTTOM),
        text((LEFT + RIGHT) / 2, HEIGHT - 12, "milliseconds a question, on one thread (left is faster)"),
        text(8, 18, "P@1, %; disc: mean of 6 languages, as large as the file; diamond: English", "start"),
    ]


def marks(point: Point) -> list[str]:
    """An encoder's disc, its diamond, and its name."""
    x, y, top = across(point.milliseconds), up(point.others), up(point.english)
    radius = RADIUS * math.sqrt(point.megabytes)
    return [
        line("axis", x, y, x, top),
        f'<circle class="disc" cx="{x:.1f}" cy="{y:.1f}" r="{radius:.1f}"/>',
        f'<path class="english" d="M{x:.1f} {top - 6:.1f}l6 6l-6 6l-6 -6z"/>',
        text(x + radius + 5, y - 2, point.name, "start"),
        text(x + radius + 5, y + 14, f"{point.megabytes:g} MB", "start"),
    ]


def picture(rows: list[Point]) -> str:
    """The SVG of the encoders."""
    head = f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {HEIGHT}" width="{WIDTH}" height="{HEIGHT}">'
    title = "<title>P@1 against milliseconds a question and megabytes</title>"
    parts = [head, title, f"<style>{STYLE}</style>", *axes(), *(mark for row in rows for mark in marks(row)), "</svg>"]
    return "\n".join(parts) + "\n"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("page", type=Path, help="a page with the table")
    parser.add_argument("output", type=Path, help="an SVG file")
    options = parser.parse_args()
    options.output.write_text(picture(points(options.page.read_text(encoding="utf-8"))), encoding="utf-8")


if __name__ == "__main__":
    main()
