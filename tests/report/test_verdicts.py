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
