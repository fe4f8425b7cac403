"""The table of a run with a teacher of one's own, and the share of its gain."""

import pytest
from fixtures.pages import OFFSET, comparison

from distill.report.run_page import write_report
from distill.report.verdicts import describe_closeness, describe_gain, make_closeness_rows


def row(spearman, neighbours, *cosines):
    names = ("cosine_mean", "cosine_p5", "cosine_min")
    cosines = dict(zip(names, cosines or (None, None, None), strict=True))
    return {"texts": 40, "spearman": spearman, "neighbours": neighbours, **cosines}


@pytest.fixture
def taught(shown):
    """A run whose teacher is significantly above the base in German, and in English below it."""
    metrics = shown["beside"]()
    metrics["settings"]["teacher"]["model"] = "st:mine"
    encoders = {
        "base": {"en": row(0.36, 0.3), "de": row(0.251, 0.2)},
        "student": {"en": row(0.64, 0.35, 0.67, 0.41, 0.23), "de": row(0.5, 0.3, 0.6, 0.1, -0.05)},
    }
    metrics["closeness"] = {"split": "test", "encoders": encoders}
    tests = {"en": comparison(0.575, 0.916, 0.01), "de": comparison(0.9, 0.5, 0.01)}
    metrics["splits"]["test"]["mcnemar"]["teacher against base"] = dict.fromkeys(OFFSET, tests)
    figures = metrics["splits"]["test"]["encoders"]["bundle"]["passage"]
    figures["en"]["p@1"], figures["de"]["p@1"] = 0.952, 0.75
    return metrics


ROWS = [
    ["en", "base", "–", "–", "–", "0.36", "30.0"],
    ["", "student", "0.67", "0.41", "0.23", "0.64", "35.0"],
    ["de", "base", "–", "–", "–", "0.25", "20.0"],
    ["", "student", "0.60", "0.10", "−0.05", "0.50", "30.0"],
]


def test_base_and_student_stand_side_by_side_by_language(taught, metrics):
    assert make_closeness_rows(taught) == ROWS
    assert make_closeness_rows(metrics) == [] and describe_closeness(metrics) == ""
    assert "40 in de" in describe_closeness(taught) and "start" not in describe_closeness(taught)
    taught["closeness"]["encoders"]["start"] = taught["closeness"]["encoders"]["student"]
    assert "start is" in describe_closeness(taught)


def test_a_share_is_of_a_gain_and_only_where_the_teacher_is_significantly_above_the_base(taught, metrics):
    """In English the bundle has 95.2 where the teacher has 57.5, which was called 166 % of the teacher."""
    assert describe_gain(taught) == (
        # (.75 - .5) / (.9 - .5)
        "Of the teacher's gain over the base the bundle has 62 % in de (50.0 to 75.0, teacher 90.0) (P@1, test, "
        "passage; where the gain is significant)."
    )
    german = taught["splits"]["test"]["mcnemar"]["teacher against base"]["passage"]["de"]
    bundle = taught["splits"]["test"]["encoders"]["bundle"]["passage"]["de"]
    for figure, share in ((0.95, "all in de"), (0.5, "none in de")):
        bundle["p@1"] = figure
        assert share in describe_gain(taught)
    german["significant"] = False
    assert "no language" in describe_gain(taught) and "%" not in describe_gain(taught).replace("P@1", "")
    assert describe_gain(metrics) == ""


def test_the_report_has_the_table_the_sentence_and_a_row_of_the_teacher(taught, shown, read_page, tmp_path):
    del taught["splits"]["dev"]
    write_report(tmp_path / "report.html", taught, shown["rows"]())
    page = read_page(tmp_path / "report.html")
    assert [row for row in ROWS if row not in page.rows] == []
    assert "62 % in de" in page.words and describe_closeness(taught) in page.words
    assert ["teacher", "71.0", "22.1", "46.5"] in page.rows[:7]
    assert "#closeness" in [attrs["href"] for tag, attrs in page.starts if tag == "a"]
