import pytest
from fixtures.pages import OFFSET, comparison

from distill.report import verdicts
from distill.report.run_page import write_report
from distill.report.verdicts import (
    BAD,
    EVEN,
    GOOD,
    choose_split,
    choose_unit,
    describe_closeness,
    describe_gain,
    format_signed,
    judge_bundle,
    judge_search,
    make_closeness_rows,
    make_headline,
    weigh,
)


def test_verdicts_are_about_test_and_the_unit_that_the_student_was_steered_by(metrics):
    assert choose_split(metrics) == "test"
    del metrics["splits"]["test"]
    assert choose_split(metrics) == "dev"
    assert choose_unit(metrics) == "passage"
    del metrics["settings"]["student"]
    assert choose_unit(metrics) == "document"


@pytest.mark.parametrize(
    ("points", "better", "worse", "expected"),
    [
        (1, ["de"], [], (GOOD, "better")),
        (1, [], [], (EVEN, "no significant difference")),
        (-1, [], [], (EVEN, "no significant difference")),
        (1, ["de"], ["en"], (EVEN, "mixed")),
        (-1, ["de"], [], (EVEN, "mixed")),
        (-1, ["de"], ["en"], (BAD, "worse")),
        (1, [], ["en"], (BAD, "worse")),
    ],
)
def test_a_gain_is_one_that_is_significant_somewhere_and_a_loss_nowhere(points, better, worse, expected):
    assert weigh(points, better, worse) == expected


def test_points_have_their_sign():
    assert [format_signed(points) for points in (1.25, -1.26, 0.04, -0.04)] == ["+1.2", "−1.3", "0.0", "0.0"]


def bundle_test(metrics, difference, low, high, **languages):
    """The metrics with this test, in points, of the bundle on test; `languages` are those that differ significantly."""
    part, test = metrics["splits"]["test"], "bundle against student"
    ends = {"difference": difference / 100, "low": low / 100, "high": high / 100}
    part["sign_flips"][test]["passage"] = {**part["sign_flips"][test]["passage"], **ends}
    rows = part["mcnemar"][test]["passage"]
    part["mcnemar"][test]["passage"] = {
        name: {**row, "significant": name in languages, **languages.get(name, {})} for name, row in rows.items()
    }
    return metrics


def test_a_bundle_is_judged_where_the_headline_is_and_not_by_documents_on_dev(shown):
    """The gate on dev finds nothing; on test, in the unit of the headline, ten questions are won and 21 lost."""
    metrics = bundle_test(shown["beside"](), -0.88, -1.68, -0.08)
    assert metrics["gate"]["drop"] < metrics["settings"]["export"]["max_drop"]
    verdict = judge_bundle(metrics)
    assert (verdict.mark, verdict.word) == (BAD, "loses 0.9 points (0.1 to 1.7)")
    assert verdict.figures == (
        "On test, unit passage, 1,234 questions: 60.8 % against 61.0 %, −0.9 points (95 % interval −1.7 to −0.1; as "
        "good is above −1.0). Significantly worse in none."
    )
    gain = verdicts.Verdict("", GOOD, "", "")
    assert make_headline(gain, verdict).word == (
        "The student beats its base, but the bundle loses 0.9 points (0.1 to 1.7)."
    )


def test_a_bundle_that_answers_as_many_questions_neither_gains_nor_loses(shown):
    verdict = judge_bundle(bundle_test(shown["beside"](), -0.04, -2.5, 2.5))
    assert (verdict.mark, verdict.word) == (EVEN, "differs by 0.0 points (−2.5 to +2.5)")


LOST = {"de": {"a": 0.5, "b": 0.6}}


@pytest.mark.parametrize(
    ("ends", "languages", "mark", "word"),
    [
        ((-0.2, -0.6, 0.3), {}, GOOD, "as good"),
        ((-0.5, -0.99, -0.1), {}, GOOD, "as good"),
        # Too few questions to tell.
        ((-0.2, -1.6, 1.1), {}, EVEN, "loses 0.2 points (−1.1 to 1.6)"),
        ((0.4, -1.2, 2.0), {}, EVEN, "gains 0.4 points (−1.2 to +2.0)"),
        ((-0.2, -0.6, 0.3), LOST, BAD, "loses 0.2 points (−0.3 to 0.6), significantly in de"),
        ((0.4, -0.2, 1.0), LOST, BAD, "gains 0.4 points (−0.2 to +1.0), but loses significantly in de"),
        ((-0.2, -0.6, 0.3), {"de": {"a": 0.6, "b": 0.5}}, GOOD, "as good"),
    ],
)
def test_a_bundle_is_as_good_if_its_interval_ends_above_a_point_and_no_language_is_worse(
    shown, ends, languages, mark, word
):
    verdict = judge_bundle(bundle_test(shown["beside"](), *ends, **languages))
    assert (verdict.mark, verdict.word) == (mark, word)
    assert verdict.evidence == ("" if mark == GOOD else f"the bundle {word}")


def test_an_older_run_has_means_without_a_test(metrics):
    # German, passage, on test: .555 and .563.
    assert (judge_bundle(metrics).mark, judge_bundle(metrics).word) == (EVEN, "about as good")
    assert judge_bundle(metrics).figures == "Mean P@1 55.5 % against 56.3 %, −0.8 points; no test is recorded."
    metrics["splits"]["test"]["mean_p@1"]["bundle"]["passage"] = 0.552
    assert judge_bundle(metrics).mark == BAD


def test_a_smaller_bundle_keeps_the_budget_or_does_not(shown):
    search = shown["search"]()
    assert (judge_search(search).mark, judge_search(search).word) == (GOOD, "yes")
    assert judge_search(search).figures == (
        "tiny-used-int4: 6.3 MB, 0.041 ms per query, −0.4 points to the student (dev, maxp)."
    )
    near = judge_search({**search, "excess": {"ms": [0.041, 0.03]}})
    assert (near.mark, near.word) == (BAD, "no")
    assert judge_search({**search, "chosen": None, "bundles": []}).mark == BAD
    assert judge_search(None) is None


@pytest.mark.parametrize(
    ("student", "bundle", "mark", "words"),
    [
        (GOOD, GOOD, GOOD, "The student beats its base, and the bundle is as good as the student."),
        (GOOD, BAD, BAD, "The student beats its base, but the bundle is worse than the student."),
        (GOOD, EVEN, EVEN, "The student beats its base, and the bundle is about as good as the student."),
        (BAD, GOOD, BAD, "The student is worse than its base, but the bundle is as good as the student."),
        (EVEN, BAD, BAD, "No clear gain of the student over its base, and the bundle is worse than the student."),
    ],
)
def test_the_headline_is_as_bad_as_its_worse_half(student, bundle, mark, words):
    verdict = make_headline(*(verdicts.Verdict("", mark, "", "") for mark in (student, bundle)))
    assert (verdict.mark, verdict.word) == (mark, words)


def test_a_better_encoder_beside_is_said_in_a_sentence_of_its_own_and_no_run_is_good_then():
    good, above = verdicts.Verdict("", GOOD, "", ""), verdicts.Verdict("", EVEN, "", "", "muse is better.")
    verdict = make_headline(good, good, above)
    assert verdict.mark == EVEN and verdict.word.endswith("is as good as the student. muse is better.")


# The table of a run with a teacher of one's own, and the share of its gain.
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
