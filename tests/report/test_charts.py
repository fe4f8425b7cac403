import re
import warnings

import numpy as np
import pytest

from distill.report.charts import (
    FAINTEST,
    STRONGEST,
    Cost,
    compute_opacity,
    draw_bar_chart,
    draw_cost_chart,
    draw_curves,
    draw_front_chart,
    draw_heat_map,
    draw_latency_chart,
    draw_plane,
    draw_runs_chart,
    list_distinct_encoders,
)
from distill.report.page import TEMPLATES

ENCODERS = ("base", "teacher", "student", "bundle")
SHARES = {"en": {"en": 0.8, "de": 0.2}, "<b>": {"en": 0.4, "de": None}}
POINTS = {
    "en": {"questions": [[0.0, 0.0], [10.0, 0.0]], "candidates": [[0.0, 5.0]]},
    "$de$": {"questions": [[5.0, 5.0]], "candidates": []},
}


COSTS = [
    Cost("base", 0.5, 20_000_000, 60),
    Cost("bundle", 0.5, 20_000_000, 60, "student's bundle"),
    Cost("a$b$", 9, 320_000_000, 70),
]


def texts(chart):
    return re.findall(r">([^<>\n]+)</text>", chart)


def corners(chart, name):
    """The bars of one colour as arrays of corners `(4, 2)`; a legend's patches have no clip path."""
    paths = re.findall(rf'<path d="([^"]*)" clip-path="[^"]*" style="fill: var\(--{name}\)', chart)
    return [np.array(re.findall(r"[ML] ([\d.]+) ([\d.]+)", path), dtype=float) for path in paths]


def test_a_bar_has_its_precisions_height_and_teacher_and_bundle_are_hatched_each_otherwise(metrics):
    chart = draw_bar_chart(metrics, "dev", "passage")
    whole = re.search(r'id="p1-dev-passage-patch_2">\s*<path d="([^"]*)"', chart)[1]  # the axes, 0 to 100 %
    whole = np.ptp(np.array(re.findall(r"[ML] [\d.]+ ([\d.]+)", whole), dtype=float))
    heights = [np.ptp(bar[:, 1]) / whole for name in ("base", "student") for bar in corners(chart, name)]
    np.testing.assert_allclose(heights, [0.501, 0.112, 0.655, 0.556], rtol=1e-3)  # base, then student
    assert {*ENCODERS, "en", "de", "P@1, %"} <= set(texts(chart))
    patterns = re.findall(r'<pattern id="([^"]*)"(.*?)</pattern>', chart, re.DOTALL)
    assert [re.findall(r"--(teacher|bundle)", drawn)[0] for _, drawn in patterns] == ["teacher", "bundle"]
    lines = [re.search(r' d="([^"]*)"', drawn)[1] for _, drawn in patterns]
    assert lines[0] != lines[1]
    used = [re.findall(rf"fill: url\(#{id}\)", chart) for id, _ in patterns]
    assert [len(places) for places in used] == [3, 3]  # two bars and the legend


@pytest.mark.parametrize("languages", [1, 2, 12])
def test_the_bars_are_most_of_a_chart_however_few_the_languages(languages):
    names = [f"l{number}" for number in range(languages)]
    encoders = {encoder: {"maxp": {name: {"p@1": 0.5} for name in names}} for encoder in ENCODERS}
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        chart = draw_bar_chart({"languages": names, "splits": {"dev": {"encoders": encoders}}}, "dev", "maxp")
    width = float(re.search(r'<svg[^>]* width="([\d.]+)pt"', chart)[1])
    drawn = np.concatenate([bar for name in ("base", "student") for bar in corners(chart, name)])
    assert np.ptp(drawn[:, 0]) > width / 3


def points(chart, name):
    """The places of the markers of one colour `(n, 2)`."""
    places = re.findall(rf'<use [^>]*x="([\d.]+)" y="([\d.]+)" style="fill: var\(--{name}\)', chart)
    return np.array(places, dtype=float)


def test_a_curve_shows_each_evaluation_of_its_stage_over_steps(shown):
    rows = shown["rows"]()
    chart = draw_curves(rows)
    assert [len(points(chart, name)) for name in ("teacher", "student")] == [2, 3]
    # The student: steps 0, 5, 10; P@1 0.1, 0.2, 0.4; down is positive in an SVG.
    gaps = np.diff(points(chart, "student"), axis=0)
    assert gaps[1, 0] / gaps[0, 0] == pytest.approx(1, rel=1e-3)
    assert gaps[1, 1] / gaps[0, 1] == pytest.approx(2, rel=1e-3) and gaps[0, 1] < 0
    lines = re.findall(r'<path d="([^"]*)"[^>]*stroke-dasharray[^>]*stroke: var\(--soft\)', chart)
    assert [len(re.findall("[ML]", line)) for line in lines] == [1, 2]
    # A stage that was only measured has one point, a fixed teacher none.
    assert len(points(draw_curves([row for row in rows if row.get("step", 0) == 0]), "student")) == 1
    chart = draw_curves([row for row in rows if row["event"] != "teacher"])
    assert [len(points(chart, name)) for name in ("teacher", "student")] == [0, 3]
    assert chart.count("dev P@1, %") == 1 and draw_curves([]).count("dev P@1, %") == 1


def test_bars_of_latency_and_of_runs_are_in_proportion(metrics):
    lengths = [np.ptp(bar[:, 0]) for bar in corners(draw_latency_chart(metrics["timings"]["query"]), "bundle")]
    np.testing.assert_allclose(np.array(lengths) / lengths[0], [1, 3, 6], rtol=1e-3)
    means = {
        "a": {"base": 0.2, "teacher": 0.3, "student": 0.4, "bundle": 0.35},
        "$b$": {"base": 0.1, "teacher": 0.3, "student": 0.8, "bundle": 0.35},
    }
    chart = draw_runs_chart(means, "title")
    lengths = [np.ptp(bar[:, 0]) for name in ("base", "student") for bar in corners(chart, name)]
    np.testing.assert_allclose(np.array(lengths) / lengths[1], [2, 1, 4, 8], rtol=1e-3)
    assert {"a", "$b$", "20.0", "80.0"} <= set(texts(chart))


@pytest.mark.parametrize("draw", ["bars", "curves", "latency", "front", "runs", "map", "plane", "cost"])
def test_a_chart_takes_every_colour_from_the_page(draw, metrics, shown):
    chart = {
        "bars": lambda: draw_bar_chart(metrics, "dev", "maxp"),
        "curves": lambda: draw_curves(shown["rows"]()),
        "latency": lambda: draw_latency_chart(metrics["timings"]["query"]),
        "front": lambda: draw_front_chart(metrics, shown["search"]()),
        "runs": lambda: draw_runs_chart({"a": dict.fromkeys(ENCODERS, 0.5)}, "title"),
        "map": lambda: draw_heat_map(SHARES, "label", "map", 0.8),
        "plane": lambda: draw_plane(POINTS, "label", "plane"),
        "cost": lambda: draw_cost_chart(COSTS),
    }[draw]()
    assert not re.findall(r"#[0-9a-fA-F]{6}|<style", chart)
    # What has no colour of its own is black, also on a dark page.
    assert all("fill: var(--" in style for style in re.findall(r'<text style="([^"]*)"', chart))
    assert re.findall("^<svg.*?>", chart)[0].count(' aria-label="') == 1


def test_ids_are_a_charts_own_whose_languages_may_have_markup(metrics, read_page):
    ids = [set(re.findall(r' id="([^"]*)"', draw_bar_chart(metrics, split, "maxp"))) for split in ("dev", "test")]
    assert all(ids) and not ids[0] & ids[1]
    for part in metrics["splits"]["dev"]["encoders"].values():
        part["passage"]["<x>"] = part["passage"]["en"]
    chart = draw_bar_chart({**metrics, "languages": ["<x>", "de"]}, "dev", "passage")
    assert "<x>" in read_page(chart).words and "<x>" not in chart


def test_the_front_has_every_bundle_under_its_number(metrics, shown):
    chart = draw_front_chart(metrics, shown["search"]())
    assert [texts(chart).count(number) for number in ("1", "2", "3")] == [2, 2, 0]
    # Bundle 1 is a full circle, the chosen one an open one; in both panels.
    filled = re.findall(r'<use [^>]*style="(fill[^;]*); stroke: var\(--bundle\)', chart)
    assert filled == ["fill: var(--bundle)", "fill-opacity: 0"] * 2


def test_the_area_of_a_circle_is_the_size_and_names_never_lie_on_each_other():
    chart = draw_cost_chart(COSTS)
    names, sizes = ["base", "student's bundle", "a$b$"], ["20.0 MB, 0.50 ms, 60.0 %", "320.0 MB, 9.00 ms, 70.0 %"]
    assert {*names, *sizes} <= set(texts(chart))
    outline = r'd="([^"]*)" clip-path="[^"]*" style="fill: none; stroke: var\(--(\w+)\); stroke-width: 1.2"'
    circles = {name: re.findall(r"([\d.]+) [\d.]+ \n", path) for path, name in re.findall(outline, chart)}
    widths = {name: np.ptp(np.array(places, dtype=float)) for name, places in circles.items()}
    assert widths["ink"] / widths["base"] == pytest.approx(4) and widths["bundle"] == widths["base"]
    heights = [float(re.search(rf"([\d.]+)\)\">{re.escape(name)}<", chart)[1]) for name in names[:2]]
    assert abs(heights[0] - heights[1]) >= 2 * 8


def test_an_encoder_of_unknown_cost_is_a_dashed_line_and_the_axis_ends_at_tens():
    chart = draw_cost_chart(COSTS, {"m$use$": 42.0})
    assert "m$use$ 42.0 %" in texts(chart)
    assert {"30", "80"} <= set(texts(chart)) and "90" not in texts(chart)
    dashed = re.findall(r'<path d="M [\d.]+ ([\d.]+) \nL [\d.]+ ([\d.]+)[^>]*stroke-dasharray', chart)
    assert len(dashed) == 1 and dashed[0][0] == dashed[0][1]


def test_a_teacher_that_is_the_base_has_no_bars_and_a_peer_has_markers(metrics, shown):
    assert list_distinct_encoders(metrics) == ENCODERS
    for part in metrics["splits"].values():
        part["encoders"]["teacher"] = part["encoders"]["base"]
    names = list_distinct_encoders(metrics)
    assert names == ("base", "student", "bundle")
    chart = draw_bar_chart(metrics, "dev", "passage", names)
    assert "teacher" not in texts(chart) and len(corners(chart, "base")) == 2
    beside = draw_bar_chart(shown["beside"](), "dev", "passage", ("muse", *ENCODERS))
    assert "muse" in texts(beside) and len(points(beside, "ink")) + beside.count("stroke: var(--ink)") > 2
    same = dict.fromkeys(("base", "teacher"), 0.4)
    assert "teacher" not in texts(draw_runs_chart({"a": {**same, "student": 0.5, "bundle": 0.5}}, "title"))


def test_a_cell_has_its_number_in_per_cent_and_its_row_and_column_are_languages():
    chart = draw_heat_map(SHARES, '<i>"', "map", 0.8)
    assert texts(chart) == ["en", "de", "en", "&lt;b&gt;", "80", "20", "40", "–", "answer language"]
    assert 'aria-label="&lt;i&gt;&quot;"' in chart
    places = dict(zip(texts(chart), re.findall(r'<text [^>]*x="([\d.]+)" y="([\d.]+)"', chart), strict=True))
    (x, y), (right, top), (left, bottom) = (np.array(places[number], float) for number in ("80", "20", "40"))
    assert (left, top) == (x, y) and right > x and bottom > y
    assert float(places["de"][0]) == pytest.approx(right)


def test_shade_grows_with_the_share_and_there_is_none_of_none():
    shares = np.array([[0.8, 0.2], [0.4, np.nan]])
    shades = compute_opacity(shares, 0.8)
    assert shades[1, 1] == 0 and shades[0, 0] == pytest.approx(STRONGEST)
    np.testing.assert_allclose((shades.ravel()[:3] - FAINTEST) / (STRONGEST - FAINTEST), [1, 0.25, 0.5])
    assert compute_opacity(np.zeros((1, 1)), 0) == FAINTEST
    drawn = re.findall(r"fill: var\(--student\); fill-opacity: ([\d.]+)", draw_heat_map(SHARES, "label", "map", 0.8))
    np.testing.assert_allclose(np.array(drawn, float), shades.ravel()[: len(drawn)], atol=1e-6)
    assert len(drawn) >= 3


def luminance(colour):
    """WCAG 2.1 of three numbers in 0-255."""
    parts = np.array(colour) / 255
    return np.where(parts <= 0.04045, parts / 12.92, ((parts + 0.055) / 1.055) ** 2.4) @ [0.2126, 0.7152, 0.0722]


@pytest.mark.parametrize("scheme", [0, 1], ids=["light", "dark"])
def test_numbers_are_legible_on_every_shade_in_light_and_dark(scheme):
    style = (TEMPLATES / "style.css").read_text(encoding="utf-8")
    colours = (re.findall(rf"--{name}: #(\w{{6}})", style)[scheme] for name in ("ink", "paper", "student"))
    ink, back, front = (np.array(list(bytes.fromhex(colour))) for colour in colours)
    for share in (FAINTEST, STRONGEST):
        darker, brighter = sorted([luminance(ink), luminance(share * front + (1 - share) * back)])
        assert (brighter + 0.05) / (darker + 0.05) >= 4.5
    # In shades of grey the strongest differs clearly from the paper.
    cell, paper = luminance(STRONGEST * front + (1 - STRONGEST) * back), luminance(back)
    assert (max(cell, paper) + 0.05) / (min(cell, paper) + 0.05) > 1.6


def panels(chart):
    """`[(the panel's corners (4, 2), {colour: places of its markers (n, 2)})]`."""
    parts = chart.split('<g id="plane-axes_')[1:]
    boxes = [np.array(re.findall(r"[ML] ([\d.]+) ([\d.]+)", part)[:4], dtype=float) for part in parts]
    marks = [
        re.findall(r'<use [^>]*x="([\d.]+)" y="([\d.]+)" style="[^"]*?(student|ink|soft)\)', part) for part in parts
    ]
    by_colour = [
        {
            name: np.array([xy[:2] for xy in row if xy[2] == name], dtype=float).reshape(-1, 2)
            for name in ("student", "ink", "soft")
        }
        for row in marks
    ]
    return list(zip(boxes, by_colour, strict=True))


def cloud(chart):
    """The points of the marker that stands behind each panel, from the panel's middle, `(n, 2)`."""
    name = re.search(r'<use xlink:href="#([^"]*)"[^>]*var\(--soft\)', chart)[1]
    paths = re.findall(rf'<path id="{name}" d="([^"]*)"', chart)
    assert len(paths) == 1
    return np.array(re.findall(r"M ([-\d.]+) ([-\d.]+)", paths[0]), dtype=float)


def test_a_panel_shows_its_languages_points_and_those_of_all_stand_behind_on_one_scale():
    chart = draw_plane(POINTS, "label", "plane")
    assert texts(chart) == ["en", "$de$"]
    counts = [{name: len(places) for name, places in of.items()} for _, of in panels(chart)]
    assert counts == [{"student": 2, "ink": 1, "soft": 1}, {"student": 1, "ink": 0, "soft": 1}]
    (box, english), (other, german) = panels(chart)
    middle, side = box.mean(axis=0), np.ptp(box, axis=0)
    # From the middle, in panels: x from -5 to 5 of 10 is the widest, y points up.
    expected = {"student": [[-0.46, 0.23], [0.46, 0.23]], "ink": [[-0.46, -0.23]], "soft": [[0, 0]]}
    for name, places in expected.items():
        np.testing.assert_allclose((english[name] - middle) / side, places, atol=1e-3)
    np.testing.assert_allclose((german["student"] - other.mean(axis=0)) / side, [[0, -0.23]], atol=1e-3)
    np.testing.assert_allclose(
        cloud(chart) / side, [[-0.46, 0.23], [0.46, 0.23], [-0.46, -0.23], [0, -0.23]], atol=1e-3
    )


def test_panels_stand_in_rows():
    boxes = [
        box for box, _ in panels(draw_plane({f"l{number}": POINTS["en"] for number in range(7)}, "label", "plane"))
    ]
    lefts, tops = (np.round([box[:, axis].min() for box in boxes], 2) for axis in (0, 1))
    assert len(set(lefts)) == 6 and lefts[6] == lefts[0]
    assert len(set(tops)) == 2 and tops[6] > tops[0] == tops[5]


@pytest.mark.parametrize("places", [[], [[3.0, 3.0]]])
def test_no_points_or_points_that_are_one_are_no_error(places):
    ((box, of),) = panels(draw_plane({"<b>": {"questions": places, "candidates": places}}, "label", "plane"))
    assert [len(of[name]) for name in ("student", "ink")] == [len(places)] * 2
    np.testing.assert_allclose(of["student"], np.array([box.mean(axis=0)] * len(places)).reshape(-1, 2), atol=1e-3)
