import re

import pytest

from distill.report.answers import (
    judge_against_base,
    judge_against_peers,
    judge_best_peer,
    judge_by_language,
    label_rows,
    list_costs,
    list_verdicts,
    make_language_rows,
    order_splits,
    print_remark,
)
from distill.report.verdicts import BAD, EVEN, GOOD

# P@1, passage, in English on test; in German they are .563, .119 and .221.
ENGLISH = {"student": 0.665, "base": 0.507, "muse": 0.713}


def rounded(metrics):
    """The metrics with means that are no half of a tenth."""
    for name, figures in metrics["splits"]["test"]["encoders"].items():
        figures["passage"]["en"]["p@1"] = ENGLISH.get(name, 0.5)
    return metrics


@pytest.fixture
def beside(shown):
    return rounded(shown["beside"]())


def numbers(verdict):
    return re.findall(r"\d[\d,.]*\d|\d", verdict.figures)


def test_the_student_is_compared_to_each_peer_over_all_languages_and_over_those_it_knows(beside):
    verdict = judge_against_peers(beside)
    assert (verdict.mark, verdict.word) == (GOOD, "+14.7 points on muse")
    assert verdict.figures == (
        "Mean P@1 over all 2 languages: student 61.4 %, muse 46.7 % (p < 0.001 by a sign-flip test). "
        "Over the 1 of them that muse knows: +34.2 points."
    )
    del beside["peers"]
    assert judge_against_peers(beside).figures.endswith("muse 46.7 % (p < 0.001 by a sign-flip test).")


def ship(metrics, p_values, p=0.01, **cost):
    """The metrics with another peer of these P@1 in English and German, its test, bytes and ms."""
    part = metrics["splits"]["test"]
    figures = {name: {"p@1": of} for name, of in zip(("en", "de"), p_values, strict=True)}
    part["encoders"]["multi12"], part["mean_p@1"]["multi12"] = {"passage": figures}, {"passage": p_values[1]}
    flips = part["sign_flips"]["student against base"]["passage"]
    difference = 0.614 - sum(p_values) / 2
    part["sign_flips"]["student against multi12"] = {"passage": {**flips, "p": p, "difference": difference}}
    metrics["timings"]["query"]["beside"]["multi12"] = {"bytes": 26_000_000, "ms": 2.12, **cost}
    return metrics


def test_the_best_encoder_beside_is_named_where_it_is_above_the_student(beside):
    """The student has 61.4 in the mean, muse 46.7: the headline had no word of what is better than the student."""
    assert judge_best_peer(beside) is None
    assert judge_best_peer(ship(beside, (0.664, 0.563))) is None
    verdict = judge_best_peer(ship(beside, (0.8, 0.7)))
    assert (verdict.mark, verdict.word) == (EVEN, "better")
    means = "75.0 % against 61.4 %, mean of 2 languages (p = 0.010 by a sign-flip test)."
    # The bundle has 69.5 MB and .25 ms.
    choice = " Take the bundle where time counts: 0.25 ms a query against 2.12."
    assert verdict.evidence == f"multi12, untouched, is better: {means}{choice}"
    assert verdict.figures == f"P@1 {means}{choice}"
    both = judge_best_peer(ship(beside, (0.8, 0.7), p=0.05, bytes=100_000_000))
    assert both.word == "above, not significantly"
    assert both.evidence.endswith("where time or size counts: 0.25 ms a query against 2.12, 69.5 MB against 100.0.")
    assert judge_best_peer(ship(beside, (0.8, 0.7), ms=0.2)).evidence.endswith("smaller: take multi12.")
    del beside["timings"]["query"]["beside"]["multi12"]
    assert judge_best_peer(beside).evidence == f"multi12, untouched, is better: {means}"


def test_a_mean_over_languages_is_no_verdict_where_all_questions_say_the_contrary(beside):
    """A language of few questions that is won may turn the mean, and the test is of all questions together."""
    part = ship(beside, (0.8, 0.7))["splits"]["test"]["sign_flips"]
    part["student against multi12"]["passage"]["difference"] = 0.02
    assert judge_best_peer(beside).word == "above, not significantly"
    for name in ("muse", "multi12"):
        part[f"student against {name}"]["passage"]["difference"] = {"muse": -0.05, "multi12": 0.02}[name]
    assert judge_against_peers(beside).mark == EVEN


@pytest.mark.parametrize(("p", "p_1", "mark"), [(0.01, 0.9, GOOD), (0.05, 0.2, EVEN), (0.2, 0.01, BAD)])
def test_one_peer_that_is_as_good_or_better_decides_the_mark(beside, p, p_1, mark):
    part = beside["splits"]["test"]
    for name in ("encoders", "mean_p@1"):
        part[name]["e5"] = part[name]["student" if mark == GOOD else "teacher"]
    part["encoders"]["e5"] = {"passage": {name: {"p@1": 0.6 if mark == GOOD else 0.99} for name in ("en", "de")}}
    flips = part["sign_flips"]["student against muse"]["passage"]
    part["sign_flips"]["student against muse"]["passage"] = {**flips, "p": p}
    part["sign_flips"]["student against e5"] = {
        "passage": {**flips, "p": p if mark == GOOD else p_1, "difference": 0.014 if mark == GOOD else -0.376}
    }
    verdict = judge_against_peers(beside)
    assert verdict.mark == mark
    assert verdict.word == f"+14.7 points on muse, {'+1.4' if mark == GOOD else '−37.6'} points on e5"


@pytest.mark.parametrize(
    ("difference", "p", "expected"),
    [
        (0.3, 0.0123, (GOOD, "+30.0 points, better")),
        (0.3, 0.05, (EVEN, "+30.0 points, not significant")),
        (-0.012, 0.049, (BAD, "−1.2 points, worse")),
    ],
)
def test_the_base_is_compared_by_all_questions_together(beside, difference, p, expected):
    flips = beside["splits"]["test"]["sign_flips"]["student against base"]
    flips["passage"] = {**flips["passage"], "difference": difference, "p": p}
    verdict = judge_against_base(beside)
    assert (verdict.mark, verdict.word) == expected
    assert numbers(verdict) == ["1,234", "61.0", "31.0", f"{p:.3f}", "617"]


def test_an_earlier_run_has_means_and_tests_by_language(metrics):
    # Significantly better in German, worse in English.
    peers, base, languages = list_verdicts(rounded(metrics))
    assert peers.mark == EVEN and numbers(peers) == ["1", "2", "61.4"]
    assert (base.mark, base.word) == (EVEN, "+30.1 points, mixed") and numbers(base) == ["1", "61.4", "31.3"]
    assert (languages.mark, languages.word) == (EVEN, "better in 1 of 2, worse in 1")
    assert re.findall(r": (\w+)", languages.figures) == ["de", "en"]
    metrics["splits"]["test"]["mcnemar"]["student against base"]["passage"]["en"]["significant"] = False
    assert (judge_against_base(metrics).mark, judge_by_language(metrics).mark) == (GOOD, GOOD)
    assert re.findall(r": (\w+)", judge_by_language(metrics).figures) == ["de", "none"]


def test_the_table_has_peers_base_student_and_the_difference_with_its_signs(beside):
    rows = {row.name: row for row in make_language_rows(beside)}
    assert list(rows) == ["muse", "base", "teacher", "bundle", "student", "difference"]
    assert rows["base"].values == pytest.approx({"en": 50.7, "de": 11.9}) and rows["base"].mean == pytest.approx(31.3)
    assert rows["difference"].values == pytest.approx({"en": 15.8, "de": 44.4})
    assert rows["difference"].mean == pytest.approx(30.1)
    assert rows["difference"].signs == {"en": "worse", "de": "better"} and rows["student"].signs == {}


def test_the_picture_has_what_was_measured_in_full(beside):
    rows = [tuple(vars(cost).values()) for cost in list_costs(beside)]
    assert [row[:3] for row in rows] == [
        ("base", 0.5, 20_000_000),
        ("bundle", 0.25, 69_500_000),
        ("muse", 9.5, 278_000_000),
    ]
    # The bundle .5 and .555.
    assert [row[3] for row in rows] == pytest.approx([31.3, 52.75, 46.7])
    del beside["peers"]["muse"]["ms"], beside["timings"]["query"]["beside"]
    assert [cost.name for cost in list_costs(beside)] == ["bundle"]
    assert order_splits(["dev", "test"]) == ["test", "dev"] and order_splits(["dev"]) == ["dev"]


@pytest.mark.parametrize("kept", [True, False])
def test_a_row_that_is_the_bases_or_as_it_began_says_so(beside, kept):
    """The terminal's tables and the page's have these rows."""
    beside["stages"] = {"student": {"kept_start": kept}}
    assert list(label_rows(beside)) == ["muse", "base", "teacher", "student", "bundle"]
    for part in beside["splits"].values():
        part["encoders"]["teacher"] = part["encoders"]["base"]
    student = "student, as it began" if kept else "student"
    assert list(label_rows(beside).values()) == ["muse", "base, also teacher", student, "bundle"]


@pytest.mark.parametrize(
    ("probability", "threshold", "first"),
    [(0.64, 0.1, "64"), (0.5, 0.1, "50"), (0.49, 0.1, "unsure: 49"), (0.1, 0.1, "unsure: 10")]
    + [(0.06, 0.1, "nothing found: 6"), (0.53, 0.6, "nothing found: 53"), (0.7, 0.6, "70")],
)
def test_how_likely_a_passage_answers_is_one_line(probability, threshold, first, capsys):
    print_remark(probability, threshold)
    [line] = capsys.readouterr().out.splitlines()
    assert line.startswith(f"{first} % ")
