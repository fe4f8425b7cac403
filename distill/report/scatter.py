"""Vectors of many languages in a plane as small multiples: a panel a language, all others faint behind, as SVG text.

Which language a point is of shows by its panel and what it is by its marker, neither by hue.
"""

from html import escape
from itertools import chain

SIDE, GAP, HEAD, COLUMNS = 148, 12, 20, 6
KINDS = ("questions", "candidates")


def scatter(points, label, name):
    """`points` is `{language: {"questions": [[x, y], …], "candidates": [[x, y], …]}}`; `name` is the figure's own id.

    One scale for both axes and all panels.
    """
    place = _placing(points)
    faint = _dots(place, list(chain.from_iterable(of[kind] for of in points.values() for kind in KINDS)))
    columns = max(1, min(COLUMNS, len(points)))
    width = columns * (SIDE + GAP) - GAP
    height = -(-len(points) // columns) * (SIDE + HEAD + GAP)
    head = f'<svg role="img" aria-label="{escape(label)}" class="scatter" width="{width}" height="{height}"'
    shared = f'<defs><path id="{escape(name)}" class="faint" d="{faint}"/></defs>'
    panels = [
        _panel(number, columns, language, of, place, name) for number, (language, of) in enumerate(points.items())
    ]
    return f'{head} viewBox="0 0 {width} {height}">{shared}{"".join(panels)}</svg>'


def _placing(points):
    """A function from a point to its place in a panel, with a margin for markers."""
    every = [point for of in points.values() for kind in KINDS for point in of[kind]] or [[0, 0]]
    low, high = ([end(point[axis] for point in every) for axis in (0, 1)] for end in (min, max))
    scale = (SIDE - 12) / (max(b - a for a, b in zip(low, high, strict=True)) or 1)
    middle = [(a + b) / 2 for a, b in zip(low, high, strict=True)]

    def place(point):
        return SIDE / 2 + scale * (point[0] - middle[0]), SIDE / 2 - scale * (point[1] - middle[1])

    return place


def _panel(number, columns, language, of, place, name):
    left, top = number % columns * (SIDE + GAP), number // columns * (SIDE + HEAD + GAP)
    return (
        f'<g transform="translate({left} {top})"><text x="2" y="13">{escape(language)}</text>'
        f'<g transform="translate(0 {HEAD})"><rect width="{SIDE}" height="{SIDE}" rx="3"/><use href="#{escape(name)}"/>'
        f'<path class="candidates" d="{_crosses(place, of["candidates"])}"/>'
        f'<path class="questions" d="{_dots(place, of["questions"])}"/></g></g>'
    )


def _dots(place, points):
    """A line of no length each, which a round cap makes a dot."""
    return "".join("M{:.1f} {:.1f}h0".format(*place(point)) for point in points)


def _crosses(place, points):
    return "".join("M{:.1f} {:.1f}m-2-2l4 4m-4 0l4-4".format(*place(point)) for point in points)
