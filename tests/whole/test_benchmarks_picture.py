import math
import re
import runpy

import pytest
from fixtures.commands import ROOT

SCRIPT = runpy.run_path(str(ROOT / "benchmarks" / "picture.py"))
ROWS = ("| a | MB | ms | en | 6 |", "|---|---|---|---|---|", "| `x` | 25 | 10 | 50 | 40 |")
PAGE = "\n".join(("<!-- picture -->", *ROWS, "<!-- /picture -->"))


def numbers(names, text):
    return {name: float(value) for name, value in re.findall(rf'\b({names})="([\d.]+)"', text)}


def test_a_disc_stands_at_its_milliseconds_and_quality():
    [point] = SCRIPT["points"](PAGE)
    svg = SCRIPT["picture"]([point])
    disc = numbers("cx|cy|r", re.search("<circle[^>]*>", svg)[0])
    # From .01 to 100 ms between 64 and 690, logarithmic; from 30 to 90 % between 340 and 30.
    expected = {"cx": 64 + 626 * math.log10(10 / 0.01) / 4, "cy": 340 - 310 * 10 / 60, "r": 2.2 * 5}
    assert disc == pytest.approx(expected, abs=0.06)
    assert "25 MB" in svg and f"M{disc['cx']:.1f} {340 - 310 * 20 / 60 - 6:.1f}l" in svg


def test_the_picture_is_of_the_figures_as_they_are():
    page = (ROOT / "docs" / "figures.md").read_text(encoding="utf-8")
    points = SCRIPT["points"](page)
    assert [point.name for point in points] == ["mUSE-small", "released", "released-small", "e5-small"]
    assert SCRIPT["picture"](points) == (ROOT / "docs" / "quality.svg").read_text(encoding="utf-8")
    # Each number stands in a table or a sentence of what was measured, too.
    measured = page.partition("<!-- /picture -->")[2]
    for point in points:
        assert all(f"{value:g}".lstrip("0") in measured for value in (point.english, point.others, point.milliseconds))
