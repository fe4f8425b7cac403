import re
from xml.etree import ElementTree

import numpy as np
import pytest

from distill.report.heatmap import CELL, FAINTEST, HEIGHT, STRONGEST, heat_map, highest_of, opacity

ROWS = {"en": {"en": 0.8, "de": 0.2}, "de": {"en": 0.4, "de": None}}


def read(svg):
    root = ElementTree.fromstring(svg)
    return root, [dict(cell.attrib, title=cell[0].text) for cell in root.iter("rect")]


def test_a_cell_has_its_number_in_per_cent_and_says_its_languages():
    root, cells = read(heat_map(ROWS, "label", 0.8))
    assert [text.text for text in root.iter("text") if text.get("class") == "number"] == ["80", "20", "40", "–"]
    assert [cell["title"] for cell in cells] == [
        "question en, answer en: 80.0 %",
        "question en, answer de: 20.0 %",
        "question de, answer en: 40.0 %",
        "question de, answer de: none",
    ]


def test_rows_are_question_languages_from_the_top_and_columns_answer_languages_from_the_left():
    root, cells = read(heat_map({"en": {"de": 0.1, "zh": 0.2}}, "label", 1))
    names = [(text.text, float(text.get("x")), float(text.get("y"))) for text in root.iter("text")]
    places = {name: (x, y) for name, x, y in names}
    assert places["de"][0] < places["zh"][0] and places["de"][1] == places["zh"][1] < places["en"][1]
    assert places["10"] == (places["de"][0], places["en"][1]) and places["20"] == (places["zh"][0], places["en"][1])
    assert float(cells[1]["x"]) - float(cells[0]["x"]) == CELL == float(cells[0]["width"])


def test_shade_grows_with_the_value_and_never_hides_the_number():
    _, cells = read(heat_map(ROWS, "label", 0.8))
    shades = np.array([float(cell["fill-opacity"]) for cell in cells])
    assert shades[3] == 0 and shades[0] == pytest.approx(STRONGEST)
    np.testing.assert_allclose((shades[:3] - FAINTEST) / (STRONGEST - FAINTEST), [1, 0.25, 0.5], atol=1e-3)


def luminance(colour):
    """WCAG 2.1 of `#rrggbb` or three numbers in 0-255."""
    parts = np.array([int(colour[i : i + 2], 16) for i in (1, 3, 5)] if isinstance(colour, str) else colour) / 255
    return np.where(parts <= 0.04045, parts / 12.92, ((parts + 0.055) / 1.055) ** 2.4) @ [0.2126, 0.7152, 0.0722]


@pytest.mark.parametrize("scheme", [0, 1], ids=["light", "dark"])
def test_numbers_are_legible_on_every_shade_in_light_and_dark(scheme):
    from distill.report.page import TEMPLATES

    style = (TEMPLATES / "style.css").read_text(encoding="utf-8")
    ink, paper, heat = (re.findall(rf"--{name}: (#\w{{6}})", style)[scheme] for name in ("ink", "paper", "heat"))
    back, front = (np.array([int(colour[i : i + 2], 16) for i in (1, 3, 5)]) for colour in (paper, heat))
    for share in (FAINTEST, STRONGEST):
        one, two = sorted([luminance(ink), luminance(share * front + (1 - share) * back)])
        assert (two + 0.05) / (one + 0.05) >= 4.5
    # In shades of grey the strongest differs clearly from the paper.
    cell, page = luminance(STRONGEST * front + (1 - STRONGEST) * back), luminance(paper)
    assert (max(cell, page) + 0.05) / (min(cell, page) + 0.05) > 1.6


def test_a_scale_ends_at_the_largest_value_of_all_maps():
    assert highest_of([ROWS, {"en": {"en": 0.9, "de": None}}]) == 0.9
    assert highest_of([]) == 0 and opacity(0.0, 0) == FAINTEST


def test_the_size_follows_the_languages():
    sizes = [heat_map({name: {"en": 0.1} for name in names}, "label", 1) for names in (["a"], ["a", "b", "c"])]
    heights = [int(re.search(r' height="(\d+)" viewBox', svg)[1]) for svg in sizes]
    assert heights[1] - heights[0] == 2 * HEIGHT


def test_names_are_escaped():
    root, cells = read(heat_map({'<b>"&': {"en": 0.5}}, '<i>"&', 1))
    assert root.get("aria-label") == '<i>"&' and cells[0]["title"].startswith('question <b>"&, ')
