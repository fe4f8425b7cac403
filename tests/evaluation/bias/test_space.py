import numpy as np
import pytest

from distill.data.pool import pool_of
from distill.evaluation.bias.space import identify, project


def pool(**counts):
    """`de=(questions, sentences)`: a pool of so many."""
    found = {}
    for language, (questions, sentences) in counts.items():
        texts = [f"{language} {number}" for number in range(sentences)]
        found[language] = (texts, texts, [(f"q{number}", "?", [0]) for number in range(questions)])
    return pool_of("toys", found)


def test_projection_onto_the_two_widest_axes():
    """Variance 9 along the third axis, 4 along the first, none along the second; the mean is (1, 1, 1)."""
    asked = np.array([[1, 1, 4], [1, 1, -2]], dtype=np.float32)
    given = np.array([[3, 1, 1], [-1, 1, 1]], dtype=np.float32)
    found = project(asked, given, pool(en=(2, 2)))
    assert found["explained"] == pytest.approx([9 / 13, 4 / 13])
    points = found["points"]["en"]
    np.testing.assert_allclose(np.abs(points["questions"]), [[3, 0], [3, 0]], atol=1e-4)
    np.testing.assert_allclose(np.abs(points["candidates"]), [[0, 2], [0, 2]], atol=1e-4)
    assert points["questions"][0][0] == -points["questions"][1][0]


def test_projection_is_that_of_the_singular_vectors():
    random = np.random.default_rng(0)
    asked, given = random.normal(size=(9, 6)), random.normal(size=(20, 6)) * [5, 3, 1, 1, 1, 1]
    found = project(asked, given, pool(de=(4, 12), en=(5, 8)), points=100)
    every = np.concatenate([asked, given])
    centred = every - every.mean(axis=0)
    values, axes = np.linalg.svd(centred)[1:]
    assert found["explained"] == pytest.approx(values[:2] ** 2 / (values**2).sum())
    expected = np.abs(centred @ axes[:2].T)
    shown = np.concatenate(
        [found["points"][language][kind] for kind in ("questions", "candidates") for language in ("de", "en")]
    )
    np.testing.assert_allclose(np.abs(shown), expected, atol=1e-4)


def test_a_figure_shows_some_points_and_always_the_same():
    random = np.random.default_rng(0)
    asked, given = random.normal(size=(9, 3)), random.normal(size=(20, 3))
    found = project(asked, given, pool(en=(9, 20)), points=5, seed=1)
    assert [len(found["points"]["en"][kind]) for kind in ("questions", "candidates")] == [5, 5]
    assert found == project(asked, given, pool(en=(9, 20)), points=5, seed=1)
    assert found != project(asked, given, pool(en=(9, 20)), points=5, seed=2)


def test_languages_that_lie_apart_are_told():
    sizes = pool(de=(6, 12), en=(6, 12), th=(6, 12))
    axes = 9 * np.eye(3, dtype=np.float32)
    found = identify(axes[sizes.asked_in], axes[sizes.language_of], sizes, "en")
    assert found == {"accuracy": 1, "chance": pytest.approx(1 / 3), "pivot": "en", "against": {"de": 1, "th": 1}}


def test_languages_that_lie_together_are_not_told():
    """All vectors are one, so the most frequent language is always said: 8 of the 12 held out are right."""
    sizes = pool(de=(4, 8), en=(8, 16))
    found = identify(np.ones((12, 2)), np.ones((24, 2)), sizes)
    assert found == {
        "accuracy": pytest.approx(8 / 12),
        "chance": pytest.approx(2 / 3),
        "pivot": "de",
        "against": {"en": pytest.approx(8 / 12)},
    }


def test_one_language_is_not_to_be_told():
    assert identify(np.ones((3, 2)), np.ones((5, 2)), pool(en=(3, 5))) is None


def test_a_pivot_that_is_not_there_is_the_first():
    sizes = pool(de=(6, 12), en=(6, 12))
    axes = np.eye(2)
    assert identify(axes[sizes.asked_in], axes[sizes.language_of], sizes, "th")["pivot"] == "de"
