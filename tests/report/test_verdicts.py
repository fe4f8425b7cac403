import pytest

from distill.report import verdicts
from distill.report.verdicts import (
    BAD,
    EVEN,
    GOOD,
    choose_split,
    choose_unit,
    format_signed,
    judge_bundle,
    judge_search,
    kept_of_teacher,
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


def test_a_bundle_that_lost_what_is_allowed_is_as_good_unless_significantly_worse_in_a_language(metrics):
    metrics["gate"]["texts"] = 290
    verdict = judge_bundle(metrics)
    assert (verdict.mark, verdict.word, verdict.kind) == (GOOD, "as good", "good")
    # Means of .69 and .608, and of .71 and .604.
    assert verdict.figures == (
        "On dev, unit document, mean P@1 of 2 languages 64.9 % against 65.7 %, −0.8 points (allowed −1.5). "
        "Significantly worse in none."
    )
    gate = metrics["gate"]["p@1"]
    gate["de"]["significant"] = True  # better there
    assert judge_bundle(metrics).mark == GOOD
    gate["en"]["significant"] = True
    assert judge_bundle(metrics).mark == BAD and "(en)" in judge_bundle(metrics).figures
    gate["en"]["significant"], metrics["settings"]["export"]["max_drop"] = False, 0.7
    assert (judge_bundle(metrics).mark, judge_bundle(metrics).word) == (BAD, "worse")
    metrics["gate"]["texts"] = 29  # one of which is 3.4 points
    assert judge_bundle(metrics).mark == GOOD


def test_an_older_run_has_means_without_a_test(metrics):
    del metrics["gate"]
    # German, passage, on test: .555 and .563.
    assert (judge_bundle(metrics).mark, judge_bundle(metrics).word) == (EVEN, "about as good")
    assert judge_bundle(metrics).figures == "Mean P@1 55.5 % against 56.3 %, −0.8 points; no test is recorded."
    metrics["settings"]["export"]["max_drop"] = 0.7
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


def test_a_fixed_teacher_has_a_share_that_the_bundle_keeps(metrics):
    assert kept_of_teacher(metrics) == ""
    metrics["settings"]["teacher"] = {"model": "e5", "language": "en"}
    test = metrics["splits"]["test"]
    test["mean_p@1"] = {"teacher": {"passage": 0.8}, "bundle": {"passage": 0.6}}
    test["encoders"] = {name: {"passage": {"en": {"p@1": of}}} for name, of in (("teacher", 0.5), ("bundle", 0.1))}
    assert kept_of_teacher(metrics).count(" 75 %, 60.0 of 80.0 ") == kept_of_teacher(metrics).count(" 20 %") == 1
