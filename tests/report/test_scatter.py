import re
from xml.etree import ElementTree

import numpy as np
import pytest

from distill.report.scatter import COLUMNS, SIDE, scatter

POINTS = {
    "en": {"questions": [[0.0, 0.0], [10.0, 0.0]], "candidates": [[0.0, 5.0]]},
    "de": {"questions": [[5.0, 5.0]], "candidates": []},
}


def read(svg):
    """`[(language, {class: its path's starts (n, 2)})]` and the faint points."""
    root = ElementTree.fromstring(svg)
    faint = root.find("defs/path")
    panels = [(group.find("text").text, group) for group in root.findall("g")]
    found = [(name, {p.get("class"): starts(p.get("d")) for p in group.iter("path")}) for name, group in panels]
    return root, found, starts(faint.get("d"))


def starts(path):
    return np.array(re.findall(r"M([-\d.]+) ([-\d.]+)", path), dtype=float).reshape(-1, 2)


def test_a_panel_shows_its_language_and_all_points_stand_behind():
    root, panels, faint = read(scatter(POINTS, "label", "plane"))
    counts = [(name, {kind: len(places) for kind, places in of.items()}) for name, of in panels]
    assert counts == [("en", {"candidates": 1, "questions": 2}), ("de", {"candidates": 0, "questions": 1})]
    assert len(faint) == 4
    assert [use.get("href") for use in root.iter("use")] == ["#plane"] * 2
    assert root.find("defs/path").get("id") == "plane"


def test_both_axes_have_one_scale_and_y_points_up():
    _, panels, faint = read(scatter(POINTS, "label", "plane"))
    (left, right), (upper,) = panels[0][1]["questions"], panels[0][1]["candidates"]
    assert right[0] - left[0] == pytest.approx(SIDE - 12, abs=0.1) and right[1] == left[1]
    assert left[1] - upper[1] == pytest.approx((SIDE - 12) / 2, abs=0.1)
    # The same point is at the same place in each panel.
    assert panels[1][1]["questions"][0] == pytest.approx(((left + right) / 2)[0:1].tolist() + [upper[1]], abs=0.1)
    assert faint.min() >= 0 and faint.max() <= SIDE


def test_questions_and_candidates_differ_by_their_marker():
    svg = scatter(POINTS, "label", "plane")
    dot, cross = (
        re.search(rf'class="{kind}" d="M[-\d.]+ [-\d.]+([^"M]*)', svg)[1] for kind in ("questions", "candidates")
    )
    assert dot == "h0" and cross.count("l") == 2


def test_panels_stand_in_rows():
    root, _, _ = read(scatter({f"l{number}": POINTS["de"] for number in range(COLUMNS + 1)}, "label", "plane"))
    places = [tuple(map(float, re.findall(r"[\d.]+", group.get("transform")))) for group in root.findall("g")]
    assert len({y for _, y in places}) == 2 and places[0][0] == places[COLUMNS][0] == 0
    width, height = (float(root.get(name)) for name in ("width", "height"))
    assert max(x for x, _ in places) + SIDE == width and max(y for _, y in places) + SIDE < height


def test_points_that_are_one_are_drawn_in_the_middle():
    _, panels, _ = read(scatter({"en": {"questions": [[3.0, 3.0]], "candidates": [[3.0, 3.0]]}}, "label", "plane"))
    np.testing.assert_allclose(panels[0][1]["questions"], [[SIDE / 2, SIDE / 2]])


def test_no_points_at_all_are_no_error():
    _, panels, faint = read(scatter({"<b>": {"questions": [], "candidates": []}}, '"', "plane"))
    assert panels[0][0] == "<b>" and len(faint) == 0
