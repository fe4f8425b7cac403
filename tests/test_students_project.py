import numpy as np
import pytest

from distill.students.ngram import NGramEncoder
from distill.students.project import projected

IDS = np.array([[3, 7, 11, 2, -1], [19, 0, 4, 4, 5], [1, 2, 3, -1, -1]], dtype="int32")


@pytest.fixture(scope="module")
def model(randomised):
    return randomised(NGramEncoder(vocabulary=20, width=6, channels=5, orders=(2,), hidden=9, dimension=8))


@pytest.fixture(scope="module")
def vectors():
    """The teacher's, unit rows."""
    made = np.random.default_rng(2).normal(size=(40, 8)) * np.arange(1, 9)
    return made / np.linalg.norm(made, axis=1, keepdims=True)


def test_vectors_are_the_models_on_the_leading_right_singular_vectors(model, vectors):
    _, _, right = np.linalg.svd(vectors, full_matrices=False)
    expected = np.asarray(model(IDS)) @ right[:3].T
    expected /= np.linalg.norm(expected, axis=1, keepdims=True)
    found = np.asarray(projected(model, vectors, 3)(IDS))
    # The sign of an axis is free.
    np.testing.assert_allclose(found @ found.T, expected @ expected.T, atol=1e-5)
    np.testing.assert_allclose(np.abs(found), np.abs(expected), atol=1e-5)


def test_on_all_axes_no_similarity_changes(model, vectors):
    before, after = np.asarray(model(IDS)), np.asarray(projected(model, vectors, 8)(IDS))
    np.testing.assert_allclose(after @ after.T, before @ before.T, atol=1e-5)


def test_a_prefix_at_unit_length_is_the_student_of_fewer_dimensions(model, vectors):
    whole, small = projected(model, vectors, 6), projected(model, vectors, 2)
    prefix = np.asarray(whole(IDS))[:, :2]
    np.testing.assert_allclose(
        prefix / np.linalg.norm(prefix, axis=1, keepdims=True), np.asarray(small(IDS)), atol=1e-5
    )


def test_projected_again_it_keeps_its_axes(model, vectors):
    whole = projected(model, vectors, 6)
    again = projected(whole, np.eye(6), 2)
    assert (again.space, again.dimension) == (8, 2)
    np.testing.assert_allclose(np.asarray(again(IDS)), np.asarray(projected(model, vectors, 2)(IDS)), atol=1e-6)


def test_the_projection_does_not_train(model, vectors):
    assert not projected(model, vectors, 3).get_layer("projection").trainable_weights
