"""How close a student is to its teacher, against SciPy and by hand."""

import numpy as np
import pytest
from fixtures.vectors import unit
from scipy.stats import rankdata, spearmanr

from distill.data.dataset import Dataset, Passage, Question
from distill.errors import InputError
from distill.evaluation import closeness
from distill.evaluation.closeness import correlate_ranks, measure_closeness, pair_texts, rank_numbers


@pytest.fixture
def random():
    return np.random.default_rng(0)


@pytest.mark.parametrize("digits", [1, 8], ids=["with ties", "without"])
def test_spearmans_correlation_is_scipys(random, digits):
    a = random.normal(size=300).round(digits)
    b = (a + random.normal(size=300)).round(digits)
    np.testing.assert_array_equal(rank_numbers(a), rankdata(a))
    assert correlate_ranks(a, b) == pytest.approx(spearmanr(a, b).statistic, abs=1e-12)
    assert correlate_ranks(a, np.ones(300)) is None


def test_vectors_are_compared_by_cosine_pairs_by_spearman_and_neighbours_by_count(random):
    labels = random.normal(size=(40, 6))
    vectors = labels + random.normal(size=(40, 6))
    measured = measure_closeness(vectors, labels)
    rows, targets = unit(vectors), unit(labels)
    to_teacher = np.sum(rows * targets, axis=1)
    assert measured.texts == 40
    assert (measured.cosine_mean, measured.cosine_min) == pytest.approx((to_teacher.mean(), to_teacher.min()))
    assert measured.cosine_p5 == pytest.approx(np.quantile(to_teacher, 0.05))
    pairs = [(a, b) for a in range(40) for b in range(a)]
    cosines = [[one[a] @ one[b] for a, b in pairs] for one in (rows, targets)]
    assert measured.spearman == pytest.approx(spearmanr(*cosines).statistic)
    near = [
        [set(sorted(set(range(40)) - {text}, key=lambda other: -one[text] @ one[other])[:10]) for text in range(40)]
        for one in (rows, targets)
    ]
    assert measured.neighbours == pytest.approx(np.mean([len(a & b) / 10 for a, b in zip(*near, strict=True)]))


def test_in_another_space_pairs_and_neighbours_are_compared_and_vectors_are_not(random):
    labels = random.normal(size=(20, 5))
    turned = labels @ np.linalg.qr(random.normal(size=(5, 5)))[0]
    measured = measure_closeness(np.hstack([turned, np.zeros((20, 3))]), labels, same_space=False)
    assert measured.spearman == pytest.approx(1) and measured.neighbours == 1
    assert (measured.cosine_mean, measured.cosine_p5, measured.cosine_min) == (None, None, None)


def test_of_few_texts_all_others_are_neighbours_and_of_two_nothing_is_said():
    assert measure_closeness(np.eye(4)[::-1] + 0.1, np.eye(4) + 0.1).neighbours == 1
    with pytest.raises(InputError, match="3 texts"):
        measure_closeness(np.eye(2), np.eye(2))


def lines():
    """Four English lines that ask in German, four French ones that ask by halves."""
    passages = [Passage(f"{row}/0", f"line {row}", row) for row in range(4)]
    passages += [Passage(f"{row}/0", f"moitié {row}", row, (), "fr") for row in range(4, 8)]
    german = {str(row): Question(str(row), "de", f"Zeile {row}", row) for row in range(4)}
    french = {str(row): Question(str(row), "fr", f"première {row}", row) for row in range(4, 8)}
    english = {"9": Question("9", "en", "a half", 0)}
    splits = {"train": (), "test": tuple(map(str, range(10)))}
    titles = tuple(f"line {row}" for row in range(8))
    return Dataset("lines", "en", titles, tuple(passages), {"de": german, "fr": french, "en": english}, splits)


def test_a_line_has_the_label_of_what_it_translates_and_a_text_of_its_own_language_its_own(monkeypatch):
    pairs = pair_texts(lines(), "test", ("en", "de", "fr"), "en", lines=True)
    assert pairs["de"] == [(f"Zeile {row}", f"line {row}") for row in range(4)]
    assert sorted(pairs["en"]) == sorted([("a half", "a half"), *((f"line {row}", f"line {row}") for row in range(4))])
    assert ("première 4", "première 4") in pairs["fr"] and ("moitié 7", "moitié 7") in pairs["fr"]
    monkeypatch.setattr(closeness, "MOST", 3)
    fewer = pair_texts(lines(), "test", ("en", "de", "fr"), "en", lines=True)
    assert {name: len(of) for name, of in fewer.items()} == {"en": 3, "de": 3, "fr": 3}
    assert set(fewer["de"]) < set(pairs["de"])


def test_a_question_has_the_label_of_its_version_in_the_teachers_language_and_passages_were_learned(sample):
    pairs = pair_texts(sample, "dev", ("en", "de"), "en", lines=False)
    english, german = ({one.id: one.text for one in sample.select(name, "dev")} for name in ("en", "de"))
    assert pairs == {"en": [(of, of) for of in english.values()], "de": [(german[id], english[id]) for id in german]}
    without = pair_texts(lines(), "test", ("en", "de", "fr"), "en", lines=False)
    assert without == {}
