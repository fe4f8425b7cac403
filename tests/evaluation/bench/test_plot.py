import numpy as np
import pytest

from distill.errors import InputError
from distill.evaluation.bench.plot import draw, interval_lengths, require_format, write_plot
from distill.report.charts import shorten

NOTE = {"threads": 2}


def row(median, low, high, p95):
    return {"median_ms": median, "p95_ms": p95, "intervals": {"median_ms": [low, high]}}


FOUND = {"slow": row(40.0, 38.0, 44.0, 60.0), "quick": row(0.4, 0.35, 0.5, 0.6), "$odd": row(2.0, 2.0, 2.0, 3.0)}


def test_the_fastest_is_on_top_and_figures_are_where_they_belong():
    axes = draw(FOUND, NOTE).axes[0]
    assert [label.get_text() for label in axes.get_yticklabels()] == ["quick", "$odd", "slow"]
    bottom, top = axes.get_ylim()
    assert bottom > top
    by_marker = {(line.get_marker(), line.get_color()): line for line in axes.lines}
    medians, p95 = by_marker["o", "#184e86"], by_marker["|", "#e0a030"]
    assert list(medians.get_xdata()) == [0.4, 2.0, 40.0]
    assert list(p95.get_xdata()) == [0.6, 3.0, 60.0]
    assert axes.get_xscale() == "log" and "2 thread(s)" in axes.get_xlabel()
    # Bars reach over the interval.
    [bars] = axes.collections
    ends = [segment[:, 0].tolist() for segment in bars.get_segments()]
    np.testing.assert_allclose(ends, [[0.35, 0.5], [2.0, 2.0], [38.0, 44.0]])


def test_no_whisker_is_negative():
    rows = {"a": row(1.0, 1.0000001, 0.9999999, 1.0)}
    assert interval_lengths(rows, ["a"]) == [[0], [0]]


def test_one_encoder_has_numbers_on_its_axis():
    figure = draw({"quick": row(0.42, 0.4, 0.44, 0.6)}, NOTE)
    figure.canvas.draw()
    low, high = figure.axes[0].get_xlim()
    shown = [float(tick.get_text()) for tick in figure.axes[0].get_xticklabels() if tick.get_text()]
    assert any(low <= number <= high for number in shown)


def test_a_long_name_is_shown_by_its_end():
    assert shorten("x" * 32) == "x" * 32
    assert shorten("away/" + "y" * 31) == "…" + "y" * 31


@pytest.mark.parametrize(("name", "begins"), [("plot.png", b"\x89PNG"), ("plot.SVG", b"<?xml")])
def test_a_plot_is_one_whole_file(tmp_path, name, begins):
    write_plot(tmp_path / name, FOUND, NOTE)
    assert [path.name for path in tmp_path.iterdir()] == [name]
    assert (tmp_path / name).read_bytes().startswith(begins)


@pytest.mark.parametrize("name", ["plot.pdf", "plot", "png"])
def test_other_formats_are_refused(name):
    with pytest.raises(InputError, match=name):
        require_format(name)
    assert require_format("a/plot.PNG") == "a/plot.PNG"
