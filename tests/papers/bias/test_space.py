import numpy as np
import pytest

from distill.data.pool import make_pool
from distill.papers.bias.space import Identification, identify, project


def pool(**counts):
    """`de=(questions, sentences)`: a pool of so many."""
    rows = {}
    for language, (questions, sentences) in counts.items():
        texts = [f"{language} {number}" for number in range(sentences)]
        rows[language] = (texts, texts, [(f"q{number}", "?", [0]) for number in range(questions)])
    return make_pool("toys", rows)


def test_projection_is_that_of_the_singular_vectors():
    random = np.random.default_rng(0)
    questions, candidates = random.normal(size=(9, 6)), random.normal(size=(20, 6)) * [5, 3, 1, 1, 1, 1]
    projection = project(questions, candidates, pool(de=(4, 12), en=(5, 8)), points=100)
    every = np.concatenate([questions, candidates])
    centred = every - every.mean(axis=0)
    values, axes = np.linalg.svd(centred)[1:]
    assert projection.explained == pytest.approx(values[:2] ** 2 / (values**2).sum())
    expected, points = centred @ axes[:2].T, projection.points
    shown = np.concatenate([points[name][kind] for kind in ("questions", "candidates") for name in ("de", "en")])
    # The sign of an axis is free.
    np.testing.assert_allclose(shown, expected * np.sign(np.sum(shown * expected, axis=0)), atol=1e-4)


def test_vectors_that_are_all_one_have_no_axes_and_no_warning():
    projection = project(np.ones((4, 3)), np.ones((8, 3)), pool(en=(4, 8)))
    assert projection.explained == [0, 0]


def test_a_figure_shows_some_points_and_always_the_same():
    random = np.random.default_rng(0)
    questions, candidates = random.normal(size=(9, 3)), random.normal(size=(20, 3))
    projection = project(questions, candidates, pool(en=(9, 20)), points=5, seed=1)
    assert [len(projection.points["en"][kind]) for kind in ("questions", "candidates")] == [5, 5]
    assert projection == project(questions, candidates, pool(en=(9, 20)), points=5, seed=1)
    assert projection != project(questions, candidates, pool(en=(9, 20)), points=5, seed=2)


def test_languages_that_lie_apart_are_told_but_not_one_and_a_pivot_that_is_not_there_is_the_first():
    sizes = pool(de=(6, 12), en=(6, 12), th=(6, 12))
    axes = 9 * np.eye(3, dtype=np.float32)
    identification = identify(axes[sizes.asked_in], axes[sizes.language_of], sizes, "en")
    assert identification == Identification(1, pytest.approx(1 / 3), "en", {"de": 1, "th": 1})
    sizes = pool(de=(6, 12), en=(6, 12))
    axes = np.eye(2)
    assert identify(axes[sizes.asked_in], axes[sizes.language_of], sizes, "th").pivot == "de"
    assert identify(np.ones((3, 2)), np.ones((5, 2)), pool(en=(3, 5))) is None


def test_languages_that_lie_together_are_not_told():
    """All vectors are one, so the most frequent language is always said: 8 of the 12 held out are right."""
    sizes = pool(de=(4, 8), en=(8, 16))
    identification = identify(np.ones((12, 2)), np.ones((24, 2)), sizes)
    right = pytest.approx(8 / 12)
    assert identification == Identification(right, pytest.approx(2 / 3), "de", {"en": right})
