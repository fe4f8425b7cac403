from dataclasses import asdict
from itertools import product
from math import comb, sqrt
from statistics import NormalDist

import numpy as np
import pytest
from scipy import stats

from distill.errors import InputError
from distill.evaluation.mcnemar import compare
from distill.evaluation.paired_comparison import compare_pooled, compare_rows, compare_scores, count_comparisons

IDS = [f"q{number}" for number in range(40)]


def right(only_a, only_b, both=5, questions=40):
    """Scores of P@1 with these counts."""
    a = np.zeros(questions)
    b = np.zeros(questions)
    a[: only_a + both] = 1
    b[only_a : only_a + both] = 1
    b[only_a + both : only_a + both + only_b] = 1
    return a, b


def scores(seed, mean=0.0):
    random = np.random.default_rng(seed)
    return random.normal(mean, 1, 40), random.normal(0, 1, 40)


def p_at_1(**counts):
    return {language: (IDS, *right(*pair)) for language, pair in counts.items()}


def binomial(least, n):
    """Two-sided p of `least` or fewer of n."""
    return 2 * sum(comb(n, k) for k in range(least + 1)) / 2**n


def test_a_row_by_hand_of_plain_values_whatever_the_scores_come_in():
    row = compare_scores({"maxp": p_at_1(de=(9, 1))}, "p@1")["maxp"]["de"]
    assert (row.a, row.b, row.difference) == (14 / 40, 6 / 40, pytest.approx(8 / 40))
    assert (row.only_a, row.only_b, row.questions, row.clusters) == (9, 1, 40, 40)
    assert (row.test, row.p) == ("mcnemar", pytest.approx(22 / 1024))
    assert row.low < 0.2 < row.high and row.effect_low < row.effect < row.effect_high
    assert {type(value) for value in asdict(row).values()} == {float, int, str, bool}
    lists = (IDS, *(part.tolist() for part in right(9, 1)))
    assert compare_scores({"maxp": {"de": lists}}, "p@1")["maxp"]["de"] == row


def test_intervals_effect_and_sign_flips_of_other_metrics_are_scipys():
    a, b = scores(1, 0.5)
    row = compare_scores({"maxp": {"de": (IDS, a, b)}}, "mrr@10", draws=20_000)["maxp"]["de"]
    options = {"method": "percentile", "n_resamples": 20_000, "rng": np.random.default_rng(0)}
    expected = stats.bootstrap((a - b,), np.mean, **options).confidence_interval
    assert (row.low, row.high) == pytest.approx(tuple(expected), abs=0.03)
    assert row.effect == pytest.approx(np.mean(a - b) / np.std(a - b, ddof=1))
    a, b = a[:10], b[:10]
    row = compare_scores({"maxp": {"de": (IDS[:10], a, b)}}, "mrr@10")["maxp"]["de"]
    expected = stats.permutation_test((a - b,), np.mean, permutation_type="samples", n_resamples=np.inf).pvalue
    assert (row.test, row.p) == ("sign-flip", pytest.approx(expected))
    assert (row.only_a, row.only_b) == (np.sum(a > b), np.sum(a < b))


def test_right_answers_alone_are_tested_as_before():
    pairs = {"de": (9, 1), "hi": (20, 8), "th": (3, 4)}
    rows = compare_scores({"maxp": p_at_1(**pairs)}, "p@1")["maxp"]
    ranks = [{name: 2 - right(*pair)[n].astype(int) for name, pair in pairs.items()} for n in range(2)]
    for language, old in compare(*ranks).items():
        row = asdict(rows[language])
        assert {key: row[key] for key in asdict(old)} == asdict(old)


def test_holm_is_over_languages_and_tasks_by_hand():
    # Ten disagreements: p 2, 22, 112 and 352 of 1024, times 4, 3, 2 and 1.
    tasks = {"document": p_at_1(de=(10, 0), vi=(3, 7)), "maxp": p_at_1(de=(1, 9), vi=(8, 2))}
    compared = compare_scores(tasks, "p@1")
    assert binomial(2, 10) == 112 / 1024
    expected = {("document", "de"): 8, ("maxp", "de"): 66, ("maxp", "vi"): 224, ("document", "vi"): 352}
    for (task, language), hits in expected.items():
        assert compared[task][language].p_holm == pytest.approx(hits / 1024)
        assert compared[task][language].significant is (hits / 1024 < 0.05)


def test_the_rows_of_all_languages_are_a_family_of_their_own():
    tasks = {"document": p_at_1(de=(7, 0), vi=(0, 0)), "maxp": p_at_1(de=(0, 0), vi=(0, 0))}
    compared = compare_scores(tasks, "p@1")
    # Seven questions differ, always the same way: 2 of 2^7 signs.
    assert (compared["document"]["all"].p, compared["document"]["all"].p_holm) == (2 / 128, 4 / 128)
    assert compared["document"]["all"].significant is True
    assert compared["document"]["de"].p_holm == pytest.approx(8 / 128)


def test_all_pools_languages_by_question_and_is_tested_by_signs_as_are_questions_that_come_twice():
    pair, others = right(6, 0), [*IDS[:39], "another"]
    row = compare_scores({"maxp": {"de": (IDS, *pair), "vi": (others, *pair)}}, "p@1")["maxp"]["all"]
    assert (row.questions, row.clusters, row.test) == (80, 41, "sign-flip")
    assert (row.only_a, row.difference) == (12, pytest.approx(12 / 80))
    # Six questions, not twelve, differ.
    assert row.p == 2 / 2**6
    others = [f"v{number}" for number in range(40)]
    row = compare_scores({"maxp": {"de": (IDS, *pair), "vi": (others, *pair)}}, "p@1")["maxp"]["all"]
    assert (row.test, row.clusters) == ("sign-flip", 80)
    row = compare_scores({"bitext": {"de": (IDS[:20] * 2, *pair)}}, "p@1")["bitext"]["de"]
    assert (row.test, row.clusters) == ("sign-flip", 20)


def test_one_language_has_no_row_of_all():
    assert list(compare_scores({"maxp": p_at_1(de=(1, 9))}, "p@1")["maxp"]) == ["de"]
    assert list(compare_scores({"maxp": p_at_1(de=(1, 9), hi=(1, 1))}, "p@1")["maxp"]) == ["de", "hi", "all"]
    assert compare_scores({"maxp": {}}, "p@1") == {"maxp": {}} and compare_scores({}, "p@1") == {}


def test_the_detectable_difference_is_at_holms_strictest_level():
    pairs = {language: (IDS, *scores(seed)) for seed, language in enumerate(("de", "hi", "vi"))}
    tasks = {"document": pairs, "maxp": {"de": pairs["de"]}}
    compared = compare_scores(tasks, "mrr@10")
    deviation = np.std(pairs["hi"][1] - pairs["hi"][2], ddof=1)
    # Two normal quantiles, of a two-sided level and of a power of 80 %, times the standard error of 40 questions.
    quantiles = {level: NormalDist().inv_cdf(1 - level / 2) + NormalDist().inv_cdf(0.8) for level in (0.05, 0.05 / 4)}
    expected = quantiles[0.05 / 4] * deviation / sqrt(40)
    assert compared["document"]["hi"].detectable == pytest.approx(expected, rel=1e-3)
    sums = np.mean([a - b for _, a, b in pairs.values()], axis=0)
    expected = quantiles[0.05] * np.std(sums, ddof=1) / sqrt(40)
    assert compared["document"]["all"].detectable == pytest.approx(expected, rel=1e-3)


def test_the_level_decides():
    tasks = {"maxp": p_at_1(de=(1, 9))}
    strict, loose = (compare_scores(tasks, "p@1", level)["maxp"]["de"] for level in (0.02, 0.05))
    assert (strict.significant, loose.significant) == (False, True)
    assert strict.detectable > loose.detectable


def test_encoders_that_never_differ_or_everywhere_the_same():
    row = compare_scores({"maxp": {"de": (IDS, *right(0, 0))}}, "p@1")["maxp"]["de"]
    assert (row.difference, row.low, row.high, row.effect, row.p) == (0, 0, 0, 0, 1)
    assert (row.detectable, row.significant) == (None, False)
    row = compare_scores({"maxp": {"de": (IDS, np.ones(40), np.zeros(40))}}, "p@1")["maxp"]["de"]
    assert (row.difference, row.effect, row.effect_low, row.effect_high) == (1, None, None, None)


def test_the_same_seed_gives_the_same_rows_of_the_draws_asked_for():
    tasks = {"maxp": {"de": (IDS, *scores(3, 0.2)), "hi": (IDS, *scores(4))}}
    assert compare_scores(tasks, "mrr@10", seed=5) == compare_scores(tasks, "mrr@10", seed=5)
    one, other = (compare_scores(tasks, "mrr@10", seed=seed)["maxp"]["de"] for seed in (5, 6))
    assert all(getattr(one, key) != getattr(other, key) for key in ("low", "high", "effect_low", "p"))
    tasks = {"maxp": {"de": (IDS, np.linspace(1, 2, 40), np.zeros(40))}}
    few, count = (compare_scores(tasks, "mrr@10", draws=draws)["maxp"]["de"] for draws in (100, 2000))
    assert (few.p, count.p) == (1 / 101, 1 / 2001)
    assert few.low != count.low


def test_every_row_is_told_as_progress():
    tasks, told = {"document": p_at_1(de=(1, 2), hi=(2, 2)), "maxp": p_at_1(de=(1, 2))}, []
    compare_scores(tasks, "p@1", draws=100, progress=lambda: told.append(1))
    assert len(told) == count_comparisons(tasks) == 4


@pytest.mark.parametrize(
    "language, pair, metric, said",
    [
        ("de", ([], [], []), "mrr@10", "mrr@10, maxp, de"),
        ("de", (["x"], [1.0], [1.0, 0.0]), "mrr@10", "1 ids, 1 scores of A and 2 of B"),
        ("de", (["x", "y"], [1.0], [1.0]), "mrr@10", "2 ids, 1 scores of A and 1 of B"),
        ("de", (["x", "y"], [1.0, np.nan], [1.0, np.inf]), "mrr@10", "mrr@10, maxp, de: 2 "),
        ("de", (["x"], [0.5], [1.0]), "p@1", "p@1, maxp, de"),
        ("all", (["x"], [1.0], [1.0]), "p@1", '"all"'),
    ],
)
def test_what_cannot_be_compared_is_refused(language, pair, metric, said):
    with pytest.raises(InputError) as error:
        compare_scores({"maxp": {language: pair}}, metric)
    assert said in str(error.value)


def test_draws_that_could_show_nothing_are_refused():
    # 1 / (d + 1) is the least p; for three tests it has to be below 0.05 / 3.
    tasks = {"maxp": {language: (IDS, *scores(0)) for language in ("de", "hi", "vi")}}
    with pytest.raises(InputError, match="59 .* 3 .* 60 "):
        compare_scores(tasks, "mrr@10", draws=59)
    assert compare_scores(tasks, "mrr@10", draws=60)


def test_all_languages_questions_together_are_flipped_by_id():
    ids = {"en": ["q0", "q1", "q2", "q3"], "de": ["q3", "q0", "q2"]}
    a = {"en": np.array([1, 1, 1, 2]), "de": np.array([1, 1, 5])}
    b = {"en": np.array([2, 7, 1, 1]), "de": np.array([3, 2, 1])}
    pooled = compare_pooled(ids, a, b)
    assert (pooled.questions, pooled.clusters) == (7, 4)
    assert (pooled.a, pooled.b, pooled.difference) == pytest.approx((5 / 7, 3 / 7, 2 / 7))
    # The sums by id, 2, 1, -1 and 0: of their 16 signs how many give 2 or more, either way.
    sums = [abs(np.dot(signs, (2, 1, -1, 0))) for signs in product((-1, 1), repeat=4)]
    assert pooled.p == np.mean(np.array(sums) >= 2)
    assert compare_pooled(ids, a, a).p == 1
    # Of four ids drawn anew the mean of the differences is that of (sum, questions) (2, 2), (1, 1), (-1, 2) and (0, 2).
    draws = [np.sum(of, axis=0) for of in product([(2, 2), (1, 1), (-1, 2), (0, 2)], repeat=4)]
    means = np.sort([total / questions for total, questions in draws])
    assert pooled.low == pytest.approx(means[round(0.025 * 255)], abs=0.08)
    assert pooled.high == pytest.approx(means[round(0.975 * 255)], abs=0.08)


# Rows of a table


def row_of(**languages):
    return {language: dict(zip(IDS, map(float, scores), strict=False)) for language, scores in languages.items()}


def test_each_two_rows_are_compared_by_the_questions_of_all_languages_with_holm_over_the_table():
    """By hand: 8 questions, whose translations flip together, so that 2^8 signs are all there are."""
    all_right, none, half = [1] * 8, [0] * 8, [1] * 4 + [0] * 4
    rows = {
        "good": row_of(de=all_right, es=all_right),
        "bad": row_of(de=none, es=none),
        "half": row_of(de=half, es=half),
    }
    compared = compare_rows(rows, "p@1")
    assert list(compared) == [("good", "bad"), ("good", "half"), ("bad", "half")]
    assert all((row.test, row.questions, row.clusters) == ("sign-flip", 16, 8) for row in compared.values())
    # All eight differ one way: 2 / 2^8. Four do: 2 / 2^4, whatever the signs of the others.
    assert [row.p for row in compared.values()] == pytest.approx([2 / 256, 2 / 16, 2 / 16])
    assert [row.p_holm for row in compared.values()] == pytest.approx([6 / 256, 4 / 16, 4 / 16])
    assert [row.significant for row in compared.values()] == [True, False, False]
    assert compared["good", "half"].difference == 0.5 and compared["bad", "half"].difference == -0.5


def test_rows_in_one_language_are_compared_by_mcnemar_and_those_of_other_questions_not_at_all():
    rows = {"a": row_of(de=right(9, 1)[0], es=[1]), "b": row_of(de=right(9, 1)[1], ar=[1])}
    row = compare_rows(rows, "p@1")["a", "b"]
    assert (row.test, row.p, row.p_holm) == ("mcnemar", pytest.approx(22 / 1024), pytest.approx(22 / 1024))
    assert (row.only_a, row.only_b, row.questions) == (9, 1, 40)
    with pytest.raises(InputError, match="^a and b: .* de; "):
        compare_rows({"a": row_of(de=[1, 0]), "b": row_of(de=[1])}, "p@1")
    with pytest.raises(InputError):
        compare_rows({"a": row_of(de=[1]), "b": row_of(es=[1])}, "p@1")


def test_differences_to_one_base_compare_rows_as_their_scores_do():
    """Which questions each answers and the base does not, and the other way, is what `compare --differences` leaves."""
    random = np.random.default_rng(0)
    a, b, base = (random.integers(0, 2, 40) for _ in range(3))
    scores = compare_rows({"a": row_of(de=a, es=b), "b": row_of(de=b, es=a[::-1])}, "p@1")["a", "b"]
    less = {"a": row_of(de=a - base, es=b - base), "b": row_of(de=b - base, es=a[::-1] - base)}
    assert compare_rows(less, "difference")["a", "b"].p == scores.p
