"""Question language by answer language as a grid of shaded cells with their numbers, as SVG text.

A shade is the page's colour at an opacity that grows with the value: a cell is dark on paper and bright on a dark
screen, its number is in the colour of the text, and without colour the shades still differ.
"""

from html import escape

CELL, HEIGHT, MARGIN, HEAD = 34, 24, 34, 36
# Less than whole, so that the number over it stays legible.
FAINTEST, STRONGEST = 0.03, 0.62


def heat_map(rows, label, highest):
    """`rows` is `{question language: {answer language: value in [0, 1] or None}}`; cells show per cent.

    `highest` has the strongest shade, so that several maps may share a scale.
    """
    columns = list(dict.fromkeys(name for row in rows.values() for name in row))
    parts = [_text(MARGIN + CELL * len(columns) / 2, 11, "answer language", "axis")]
    parts += [_text(MARGIN + CELL * (x + 0.5), HEAD - 7, name, "name") for x, name in enumerate(columns)]
    for y, (asked, row) in enumerate(rows.items()):
        parts.append(_text(MARGIN / 2, _middle(y), asked, "name"))
        parts += [_cell(x, y, asked, name, row.get(name), highest) for x, name in enumerate(columns)]
    width, height = MARGIN + CELL * len(columns) + 1, HEAD + HEIGHT * len(rows) + 1
    head = f'<svg role="img" aria-label="{escape(label)}" class="heat" width="{width}" height="{height}"'
    return f'{head} viewBox="0 0 {width} {height}">{"".join(parts)}</svg>'


def _cell(x, y, asked, answered, value, highest):
    place = f'x="{MARGIN + CELL * x}" y="{HEAD + HEIGHT * y}" width="{CELL}" height="{HEIGHT}"'
    said = "none" if value is None else f"{100 * value:.1f} %"
    title = f"<title>question {escape(asked)}, answer {escape(answered)}: {said}</title>"
    shade = 0 if value is None else opacity(value, highest)
    number = "–" if value is None else f"{100 * value:.0f}"
    cell = f'<rect {place} fill-opacity="{shade:.3f}">{title}</rect>'
    return cell + _text(MARGIN + CELL * (x + 0.5), _middle(y), number, "number")


def opacity(value, highest):
    """Of a cell: linear in its value, between the faintest and the strongest shade."""
    share = min(1, max(0, value / highest)) if highest > 0 else 0
    return FAINTEST + (STRONGEST - FAINTEST) * share


def _middle(y):
    return HEAD + HEIGHT * (y + 0.5) + 4


def _text(x, y, text, kind):
    return f'<text x="{x:g}" y="{y:g}" class="{kind}">{escape(str(text))}</text>'


def highest_of(maps):
    """The largest value of several maps, 0 where there is none: the end of their scale."""
    values = [value for rows in maps for row in rows.values() for value in row.values() if value is not None]
    return max(values, default=0)
