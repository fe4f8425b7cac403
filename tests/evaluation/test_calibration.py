"""Probabilities of answers: what is fitted, and its figures, against scikit-learn and by hand."""

import numpy as np
import pytest
from fixtures.vectors import unit_rows
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import roc_auc_score

from distill.data.dataset import Dataset, Passage, Question
from distill.errors import DataError
from distill.evaluation.calibration import (
    as_card_entry,
    auroc,
    calibration_error,
    choose_threshold,
    confidence_figures,
    fit_calibration,
    fit_passage_weight,
    risk_coverage,
)
from distill.evaluation.unanswerable import Cases, EncodedSplit, half_unanswerable_cases, paired_cases
from distill.export.encode import COMPARED, Calibration


def cases_of(first, right, language="en", passages=1000, there=None):
    count = len(right)
    return Cases(
        np.asarray(first, np.float32),
        np.asarray(right),
        np.ones(count, bool) if there is None else np.asarray(there),
        np.arange(count),
        np.full(count, language),
        np.broadcast_to(passages, count),
    )


@pytest.fixture(scope="module")
def drawn():
    """Cases whose probability is known: the sigmoid of 4 x the best + 12 x its margin - 2 x how small it is - 5."""
    rng = np.random.default_rng(0)
    first = -np.sort(-rng.uniform(0.2, 1.2, (12000, COMPARED)), axis=1)
    passages = rng.choice([5, 10, 30, 100, 400], 12000)
    evidence = 4 * first[:, 0] + 12 * (first[:, 0] - first[:, 1:].mean(axis=1)) - 2 * 10 / np.maximum(passages, 10)
    truth = 1 / (1 + np.exp(5 - evidence))
    return cases_of(first, rng.uniform(size=12000) < truth, passages=passages), truth


def test_a_fit_gives_the_probabilities_that_cases_were_drawn_by_at_every_number_of_passages(drawn):
    cases, truth = drawn
    fitted = fit_calibration(cases)
    known = fitted.calibration.probabilities(cases.first, cases.passages)
    for size in (5, 10, 30, 100, 400):
        rows = cases.passages == size
        assert np.abs(known - truth)[rows].mean() < 0.03
    assert fitted.margin / fitted.best == pytest.approx(3, rel=0.2) and fitted.few == pytest.approx(-2, rel=0.15)
    assert fitted.at == sorted(fitted.at) and fitted.probability == sorted(fitted.probability)


def test_the_weights_are_those_of_a_logistic_regression_on_three_features(drawn):
    cases, _ = drawn
    margin = cases.first[:, 0] - cases.first[:, 1:].mean(axis=1)
    x = np.stack([cases.first[:, 0], margin, 10 / np.maximum(cases.passages, 10)], axis=1)
    expected = LogisticRegression(C=1e6, max_iter=1000, tol=1e-8).fit(x, cases.right).coef_[0]
    fitted = fit_calibration(cases)
    assert [fitted.best, fitted.margin, fitted.few] == pytest.approx(expected, rel=0.02)


def test_of_right_cases_at_most_a_share_is_missed_at_every_number_of_passages(drawn):
    cases, _ = drawn
    fitted = fit_calibration(cases, 0.04)
    nothing = fitted.calibration.probabilities(cases.first, cases.passages) < fitted.threshold
    # 5 and 10 passages count as one size.
    sizes = (cases.passages <= 10, *(cases.passages == size for size in (30, 100, 400)))
    missed = [nothing[cases.right & rows].mean() for rows in sizes]
    assert max(missed) == pytest.approx(0.04, abs=0.002) and max(missed) <= 0.04


def test_each_language_counts_alike():
    rng = np.random.default_rng(1)
    first = -np.sort(-rng.uniform(0, 1, (900, COMPARED)), axis=1)
    right = rng.uniform(size=900) < 0.5
    # The same cases, those of one language nine times: the fit is that of all once.
    few, count = (cases_of(first, right, language) for language in ("de", "en"))
    twice = Cases.concatenate([few, count])
    often = Cases.concatenate([few, *[count] * 9])
    one, other = fit_calibration(twice), fit_calibration(often)
    assert (one.best, one.margin) == pytest.approx((other.best, other.margin), abs=1e-3)
    assert one.threshold == other.threshold


def test_too_few_cases_are_refused():
    with pytest.raises(DataError, match="^5 .*20"):
        fit_calibration(cases_of(np.ones((20, COMPARED)), np.arange(20) < 5))


def test_a_line_is_evaluated_as_numpy_interpolates_and_missing_passages_score_as_usual():
    fields = {"best": 2.0, "margin": 10.0, "usual": 0.3, "at": [0.0, 4.0, 8.0], "probability": [0.1, 0.5, 0.9]}
    line = Calibration({**fields, "few": -1.0, "threshold": 0.5})
    # 2 x .9 + 10 x (.9 - .6) - 10 / 50 = 4.6: a part of .15 of the way from .5 to .9.
    assert line.probability([0.9, 0.6, 0.6, 0.6, 0.6, 0.1], 50) == pytest.approx(0.56)
    # 2 x .9 + 10 x (.9 - (.6 + 3 x .3) / 4) - 1 = 6.05: two passages are as few as ten.
    assert line.probability([0.9, 0.6], 2) == pytest.approx(0.5 + 0.4 * 2.05 / 4)
    assert line.probability([0.9, 0.6], 2) == line.probability([0.9, 0.6], 10)
    assert line.probability([], 0) == 0.0 and line.probability([-1.0], 1) == 0.1 and line.probability([2.0], 1) == 0.9


def test_figures_are_scikit_learns_and_those_by_hand(drawn):
    cases, truth = drawn
    assert auroc(truth, cases.right) == pytest.approx(roc_auc_score(cases.right, truth))
    rounded = truth.round(1)
    assert auroc(rounded, cases.right) == pytest.approx(roc_auc_score(cases.right, rounded))
    assert auroc(truth, np.ones(8000, bool)) is None
    right = np.array([True, True, False, True, False])
    known = np.array([0.9, 0.8, 0.85, 0.3, 0.35])
    # Bins .8-.9 (two), .9-1 (one), .3-.4 (two): |.8 + .85 - 1| + |.9 - 1| + |.3 + .35 - 1|, of five.
    assert calibration_error(known, right) == pytest.approx((0.65 + 0.1 + 0.35) / 5)
    assert risk_coverage(known, right, 5) == [[0.2, 0], [0.4, 0.5], [0.6, 1 / 3], [0.8, 0.5], [1, 0.4]]
    cases = cases_of(np.ones((5, COMPARED)), right, there=[True, True, False, True, False])
    figures = confidence_figures(cases, known, 0.8)
    assert (figures.answered, figures.precision, figures.right) == (0.6, pytest.approx(2 / 3), 0.6)
    # One of three right ones is below .8, and one of the two without their documents.
    assert (figures.missed, figures.told) == (pytest.approx(1 / 3), 0.5)
    assert confidence_figures(cases, known, 0.95).precision is None and confidence_figures(cases, known).ece is None
    assert confidence_figures(cases.of(right), known[right], 0.8).told is None


def test_a_threshold_is_the_highest_below_which_few_enough_lie():
    known, ones = np.array([0.9, 0.7, 0.7, 0.5, 0.2]), np.ones(5)
    # Below .5 lies a fifth, below .7 two fifths, below .9 four.
    assert [choose_threshold(known, ones, share) for share in (0, 0.19, 0.2, 0.4, 0.79, 0.8)] == [
        0.2,
        0.2,
        0.5,
        0.7,
        0.7,
        0.9,
    ]
    assert choose_threshold(known, np.array([1, 1, 1, 1, 4.0]), 0.2) == 0.2


@pytest.fixture(scope="module")
def encoded():
    """Four articles, two of one title, of two passages each; a question about each passage in two languages."""
    titles = ("a", "b", "c", "b")
    passages = tuple(Passage(str(row), f"{row}.", row // 2) for row in range(8))
    questions = {
        language: {str(row): Question(str(row), language, "?", row) for row in range(8)} for language in ("de", "en")
    }
    data = Dataset("toy", "en", titles, passages, questions, {"dev": tuple(map(str, range(8)))})
    vectors = {"passage": unit_rows(8, 5, 2)}
    questions = {"de": unit_rows(8, 5, 3), "en": unit_rows(8, 5, 4)}
    return EncodedSplit(data, "dev", questions, vectors)


def expected(encoded, language, row, kept):
    """The first scores of a question among the kept passages, and whether its own is first."""
    scores = encoded.vectors["passage"] @ encoded.questions[language][row]
    order = sorted(kept, key=lambda place: -scores[place])
    first = [float(scores[place]) for place in order[:COMPARED]]
    return [*first, *[np.nan] * (COMPARED - len(first))], order[0] == row


def test_an_unanswerable_question_has_all_documents_of_its_title_taken_out(encoded):
    cases = paired_cases(encoded, "vector")
    for number in range(32):
        language, there, row = "de" if number < 16 else "en", number % 16 < 8, number % 8
        article = {0: {0, 1}, 1: {2, 3, 6, 7}, 2: {4, 5}, 3: {2, 3, 6, 7}}[row // 2]
        first, right = expected(encoded, language, row, set(range(8)) if there else set(range(8)) - article)
        assert cases.first[number] == pytest.approx(first, abs=1e-6, nan_ok=True)
        assert (cases.right[number], cases.there[number], cases.language[number]) == (there and right, there, language)
    assert len(cases) == 32 and cases.passages.tolist() == [*[8] * 8, 6, 6, 4, 4, 6, 6, 4, 4] * 2


def test_a_cut_collection_has_the_passage_that_answers_or_none_of_its_article(encoded):
    cases = paired_cases(encoded, "vector", (3, 8, 9))
    assert len(cases) == 32 and (cases.passages == 3).all()
    scores = np.concatenate([encoded.questions[name] @ encoded.vectors["passage"].T for name in ("de", "en")])
    article = np.array([0, 0, 1, 1, 2, 2, 1, 1])
    for number, row in enumerate(cases.first):
        language, there, gold = number // 16, number % 16 < 8, number % 8
        shown = scores[8 * language + gold]
        drawn = [int(np.argmin(np.abs(shown - score))) for score in row[:3]]
        assert np.isnan(row[3:]).all() and len(set(drawn)) == 3
        assert gold in drawn if there else article[gold] not in article[drawn]
        assert cases.right[number] == (drawn[0] == gold)


def test_without_its_article_a_cut_collection_has_as_many_passages_as_are_left(encoded):
    cases = paired_cases(encoded, "vector", (7,))
    assert cases.passages[cases.there].tolist() == [7] * 16
    assert cases.passages[~cases.there].tolist() == [6, 6, 4, 4, 6, 6, 4, 4] * 2


def test_a_passage_that_ties_with_the_right_one_counts_against_it(encoded):
    rows = {"passage": np.ones((8, 5), np.float32) / 5**0.5}
    assert not paired_cases(EncodedSplit(encoded.dataset, "dev", encoded.questions, rows), "vector").right.any()


def test_half_of_the_ids_have_no_answer_alike_in_all_languages(encoded):
    cases, both = half_unanswerable_cases(encoded, "vector", 3), paired_cases(encoded, "vector")
    assert cases.there.sum() == 8 and cases.there[:8].tolist() == cases.there[8:].tolist()
    places = [16 * (row // 8) + row % 8 + (0 if cases.there[row] else 8) for row in range(16)]
    assert np.array_equal(cases.first, both.first[places], equal_nan=True)
    assert half_unanswerable_cases(encoded, "vector", 4).there.tolist() != cases.there.tolist()
    fitted = fit_calibration(cases_of(np.random.default_rng(0).uniform(size=(300, COMPARED)), np.arange(300) % 2 == 0))
    entry = as_card_entry({"vector": fitted}, encoded)
    assert entry["questions"] == {"de": 8, "en": 8} and entry["scores"]["vector"]["threshold"] == fitted.threshold


def split_of(by_passage, by_sentence):
    """One question, which the first of two passages answers; their scores, and those of the one sentence of each."""
    passages = tuple(Passage(str(number), f"{number}.", number) for number in range(2))
    data = Dataset("d", "en", ("a", "b"), passages, {"en": {"q": Question("q", "en", "q", 0)}}, {"all": ("q",)})
    scores = {"passage": by_passage, "sentence": by_sentence}
    vectors = {kind: np.array([[x, np.sqrt(1 - x * x)] for x in pair]) for kind, pair in scores.items()}
    return EncodedSplit(data, "all", {"en": np.array([[1.0, 0.0]])}, vectors)


def test_the_weight_of_a_passage_is_that_of_the_highest_mean_reciprocal_rank():
    # By its sentence the right passage leads by .2, by its own vector it is .5 behind: first for weights below .4.
    sentences = split_of((0.1, 0.6), (0.7, 0.5))
    # Here it leads by .5 and is .15 behind: first for weights above .3.
    wholes = split_of((0.6, 0.1), (0.5, 0.65))
    assert fit_passage_weight([sentences, wholes]) == 0.35
    # Of equal ones the greatest.
    assert (fit_passage_weight([sentences]), fit_passage_weight([wholes])) == (0.35, 1)
    assert fit_passage_weight([wholes, wholes, sentences], (0.25, 0.5)) == 0.5
