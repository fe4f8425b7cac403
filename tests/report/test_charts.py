import re
import warnings

import numpy as np
import pytest

from distill.report.charts import bar_chart, curves, front_chart, latency_chart, runs_chart

ENCODERS = ("base", "teacher", "student", "bundle")


@pytest.fixture
def rows(shown):
    return shown["rows"]()


def texts(chart):
    return re.findall(r">([^<>\n]+)</text>", chart)


def corners(chart, name):
    """The bars of one colour as arrays of corners `(4, 2)`; a legend's patches have no clip path."""
    paths = re.findall(rf'<path d="([^"]*)" clip-path="[^"]*" style="fill: var\(--{name}\)', chart)
    return [np.array(re.findall(r"[ML] ([\d.]+) ([\d.]+)", path), dtype=float) for path in paths]


def test_a_bars_height_is_its_precision(metrics):
    chart = bar_chart(metrics, "dev", "passage")
    whole = re.search(r'id="p1-dev-passage-patch_2">\s*<path d="([^"]*)"', chart)[1]  # the axes, 0 to 100 %
    whole = np.ptp(np.array(re.findall(r"[ML] [\d.]+ ([\d.]+)", whole), dtype=float))
    heights = [np.ptp(bar[:, 1]) / whole for name in ("base", "student") for bar in corners(chart, name)]
    np.testing.assert_allclose(heights, [0.501, 0.112, 0.655, 0.556], rtol=1e-3)  # base, then student


def test_a_bar_chart_names_encoders_and_languages(metrics):
    texts = re.findall(r">([^<>\n]+)</text>", bar_chart(metrics, "dev", "passage"))
    assert {*ENCODERS, "en", "de", "P@1, %"} <= set(texts)


@pytest.mark.parametrize("languages", [1, 2, 12])
def test_the_bars_are_most_of_a_chart_however_few_the_languages(languages):
    names = [f"l{number}" for number in range(languages)]
    encoders = {encoder: {"maxp": {name: {"p@1": 0.5} for name in names}} for encoder in ENCODERS}
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        chart = bar_chart({"languages": names, "splits": {"dev": {"encoders": encoders}}}, "dev", "maxp")
    width = float(re.search(r'<svg[^>]* width="([\d.]+)pt"', chart)[1])
    drawn = np.concatenate([bar for name in ("base", "student") for bar in corners(chart, name)])
    assert np.ptp(drawn[:, 0]) > width / 3


def points(chart, name):
    """The places of the markers of one colour `(n, 2)`."""
    places = re.findall(rf'<use [^>]*x="([\d.]+)" y="([\d.]+)" style="fill: var\(--{name}\)', chart)
    return np.array(places, dtype=float)


def test_a_curve_has_a_point_for_each_evaluation_of_its_stage(rows):
    chart = curves(rows)
    assert [len(points(chart, name)) for name in ("teacher", "student")] == [2, 3]


def test_a_curve_shows_precision_over_steps(rows):
    # The student: steps 0, 5, 10; P@1 0.1, 0.2, 0.4; down is positive in an SVG.
    gaps = np.diff(points(curves(rows), "student"), axis=0)
    assert gaps[1, 0] / gaps[0, 0] == pytest.approx(1, rel=1e-3)
    assert gaps[1, 1] / gaps[0, 1] == pytest.approx(2, rel=1e-3) and gaps[0, 1] < 0


def test_the_loss_starts_at_the_first_evaluation_that_has_one(rows):
    lines = re.findall(r'<path d="([^"]*)"[^>]*stroke-dasharray[^>]*stroke: var\(--soft\)', curves(rows))
    assert [len(re.findall("[ML]", line)) for line in lines] == [1, 2]


def test_a_stage_that_was_only_measured_has_a_curve_of_one_point(rows):
    assert len(points(curves([row for row in rows if row.get("step", 0) == 0]), "student")) == 1


def test_a_fixed_teacher_has_no_curve(rows):
    chart = curves([row for row in rows if row["event"] != "teacher"])
    assert [len(points(chart, name)) for name in ("teacher", "student")] == [0, 3]
    assert chart.count("dev P@1, %") == 1 and curves([]).count("dev P@1, %") == 1


def test_latency_bars_are_in_proportion(metrics):
    lengths = [np.ptp(bar[:, 0]) for bar in corners(latency_chart(metrics["timings"]["query"]), "bundle")]
    np.testing.assert_allclose(np.array(lengths) / lengths[0], [1, 3, 6], rtol=1e-3)


def test_a_language_with_a_markup_name_does_not_break_its_chart(metrics, read_page):
    for part in metrics["splits"]["dev"]["encoders"].values():
        part["passage"]["<x>"] = part["passage"]["en"]
    chart = bar_chart({**metrics, "languages": ["<x>", "de"]}, "dev", "passage")
    assert "<x>" in read_page(chart).words and "<x>" not in chart


@pytest.mark.parametrize("draw", ["bars", "curves", "latency", "front", "runs"])
def test_a_chart_takes_every_colour_from_the_page(draw, metrics, rows, shown):
    chart = {
        "bars": lambda: bar_chart(metrics, "dev", "maxp"),
        "curves": lambda: curves(rows),
        "latency": lambda: latency_chart(metrics["timings"]["query"]),
        "front": lambda: front_chart(metrics, shown["search"]()),
        "runs": lambda: runs_chart({"a": dict.fromkeys(ENCODERS, 0.5)}, "title"),
    }[draw]()
    assert not re.findall(r"#[0-9a-fA-F]{6}|<style", chart)
    # What has no colour of its own is black, also on a dark page.
    assert all("fill: var(--" in style for style in re.findall(r'<text style="([^"]*)"', chart))
    assert re.match(r'<svg role="img" aria-label="[^"]+"', chart)


def test_teacher_and_bundle_are_hatched_each_otherwise_so_that_bars_need_no_colour(metrics):
    chart = bar_chart(metrics, "dev", "passage")
    patterns = re.findall(r'<pattern id="([^"]*)"(.*?)</pattern>', chart, re.DOTALL)
    assert [re.findall(r"--(teacher|bundle)", drawn)[0] for _, drawn in patterns] == ["teacher", "bundle"]
    lines = [re.search(r' d="([^"]*)"', drawn)[1] for _, drawn in patterns]
    assert lines[0] != lines[1]
    used = [re.findall(rf"fill: url\(#{id}\)", chart) for id, _ in patterns]
    assert [len(found) for found in used] == [3, 3]  # two bars and the legend


def test_ids_are_a_charts_own(metrics):
    ids = [set(re.findall(r' id="([^"]*)"', bar_chart(metrics, split, "maxp"))) for split in ("dev", "test")]
    assert all(ids) and not ids[0] & ids[1]


def test_the_front_has_every_bundle_under_its_number(metrics, shown):
    chart = front_chart(metrics, shown["search"]())
    assert [texts(chart).count(number) for number in ("1", "2", "3")] == [2, 2, 0]
    # Bundle 1 is a full circle, the chosen one an open one; in both panels.
    filled = re.findall(r'<use [^>]*style="(fill[^;]*); stroke: var\(--bundle\)', chart)
    assert filled == ["fill: var(--bundle)", "fill-opacity: 0"] * 2


def test_bars_of_runs_are_in_proportion_and_carry_their_figures():
    means = {
        "a": {"base": 0.2, "teacher": 0.3, "student": 0.4, "bundle": 0.35},
        "$b$": {"base": 0.1, "teacher": 0.3, "student": 0.8, "bundle": 0.35},
    }
    chart = runs_chart(means, "title")
    lengths = [np.ptp(bar[:, 0]) for name in ("base", "student") for bar in corners(chart, name)]
    np.testing.assert_allclose(np.array(lengths) / lengths[1], [2, 1, 4, 8], rtol=1e-3)
    assert {"a", "$b$", "20.0", "80.0"} <= set(texts(chart))
