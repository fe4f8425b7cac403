import numpy as np
import pytest
from fixtures.vectors import unit

from distill.encoders.batching import pack
from distill.students.linear import compute_whitening
from distill.students.ngram import NGramEncoder
from distill.students.project import STRENGTH, factorise, fold_matrix, map_space, project_student, whiten
from distill.students.static import StaticEncoder

IDS = np.array([[3, 7, 11, 2, -1], [19, 0, 4, 4, 5], [1, 2, 3, -1, -1]], dtype="int32")


@pytest.fixture(scope="module")
def model(randomised):
    return randomised(NGramEncoder(vocabulary=20, width=6, channels=5, orders=(2,), hidden=9, dimension=8))


@pytest.fixture(scope="module")
def vectors():
    """The teacher's, unit rows."""
    return unit(np.random.default_rng(2).normal(size=(40, 8)) * np.arange(1, 9))


def test_vectors_are_the_models_on_the_leading_right_singular_vectors(model, vectors):
    _, _, right = np.linalg.svd(vectors, full_matrices=False)
    expected = unit(np.asarray(model(IDS)) @ right[:3].T)
    small = np.asarray(project_student(model, vectors, 3)(IDS))
    # The sign of an axis is free.
    np.testing.assert_allclose(small @ small.T, expected @ expected.T, atol=1e-5)
    np.testing.assert_allclose(np.abs(small), np.abs(expected), atol=1e-5)


def test_on_all_axes_no_similarity_changes_and_a_prefix_or_a_projection_again_is_the_student_of_fewer(model, vectors):
    before, after = np.asarray(model(IDS)), np.asarray(project_student(model, vectors, 8)(IDS))
    np.testing.assert_allclose(after @ after.T, before @ before.T, atol=1e-5)
    whole, small = project_student(model, vectors, 6), project_student(model, vectors, 2)
    np.testing.assert_allclose(unit(np.asarray(whole(IDS))[:, :2]), np.asarray(small(IDS)), atol=1e-5)
    again = project_student(whole, np.eye(6), 2)
    assert (again.space, again.dimension) == (8, 2)
    np.testing.assert_allclose(np.asarray(again(IDS)), np.asarray(small(IDS)), atol=1e-6)
    assert not small.get_layer("projection").trainable_weights


def ridge_by_hand(x, y):
    """Hoerl and Kennard (1970): (X'X + k I)^-1 X'Y, k in parts of the mean square of a column's length."""
    square = x.T.astype(np.float64) @ x
    return np.linalg.solve(square + STRENGTH * np.trace(square) / len(square) * np.eye(len(square)), x.T @ y)


def random_unit(n, d, seed=7):
    return unit(np.random.default_rng(seed).normal(size=(n, d)))


@pytest.mark.parametrize("dimension", [5, 8, 12])
def test_a_map_into_another_space_is_ridge_regression_and_learns(kind, dimension):
    rows, labels = random_unit(30, 8), random_unit(30, dimension, 8)
    model = map_space(kind, rows, labels)
    expected = unit(np.asarray(kind(IDS)) @ ridge_by_hand(rows, labels))
    np.testing.assert_allclose(np.asarray(model(IDS)), expected, atol=1e-5)
    assert (type(model), model.space, model.dimension, model.foreign) == (type(kind), 8, dimension, True)
    assert model.label_dimension == dimension
    assert [weight.path for weight in model.get_layer("projection").trainable_weights] == ["projection/kernel"]


def test_a_map_goes_through_the_projection_that_is_there(model, vectors):
    small, labels = project_student(model, vectors, 3), random_unit(30, 5)
    rows = random_unit(30, 3, 9)
    through = map_space(small, rows, labels)
    expected = unit(np.asarray(small(IDS)) @ ridge_by_hand(rows, labels))
    np.testing.assert_allclose(np.asarray(through(IDS)), expected, atol=1e-5)
    assert (small.label_dimension, through.label_dimension, through.space, through.dimension) == (8, 5, 8, 5)


def without(vectors, directions):
    """Unit rows without what lies along orthonormal `directions` `(r, d)`, unit rows again."""
    return unit(vectors - (vectors @ directions.T) @ directions)


@pytest.fixture(scope="module")
def directions():
    return np.linalg.qr(np.random.default_rng(4).normal(size=(8, 3)))[0].T


@pytest.fixture(scope="module", params=["ngram", "static", "static, channels"])
def kind(request, model, randomised):
    if request.param == "ngram":
        return model
    channels = 4 if "channels" in request.param else 0
    return randomised(StaticEncoder(vocabulary=20, width=6, hidden=5, dimension=8, channels=channels))


def test_a_folded_matrix_is_a_product_behind_the_encoder(kind, directions):
    model = fold_matrix(kind, np.eye(8) - directions.T @ directions)
    expected = without(np.asarray(kind(IDS)), directions)
    np.testing.assert_allclose(np.asarray(model(IDS)), expected, atol=1e-5)
    rows = [[id for id in row if id >= 0] for row in IDS.tolist()]
    np.testing.assert_allclose(np.asarray(model.encode_packed(**pack(rows, model.gap))), expected, atol=1e-5)
    assert (type(model), model.space, model.dimension) == (type(kind), 8, 8)
    assert not model.get_layer("projection").trainable_weights


def test_a_matrix_is_folded_into_the_projection_that_is_there(model, vectors):
    small = project_student(model, vectors, 3)
    through = fold_matrix(small, np.diag([1, 0, 1]))
    np.testing.assert_allclose(np.asarray(through(IDS)), without(np.asarray(small(IDS)), np.eye(3)[1:2]), atol=1e-5)
    assert (through.space, through.dimension, len(through.layers)) == (8, 3, len(small.layers))


def test_a_folded_encoder_is_cut_to_its_own_leading_axes(model, vectors, directions):
    matrix = np.eye(8) - directions.T @ directions
    cut = np.asarray(project_student(fold_matrix(model, matrix), vectors, 3)(IDS))
    _, _, right = np.linalg.svd(vectors @ matrix, full_matrices=False)
    expected = unit(np.asarray(model(IDS)) @ matrix @ right[:3].T)
    np.testing.assert_allclose(cut @ cut.T, expected @ expected.T, atol=1e-5)


def test_a_whitened_encoder_has_its_own_vectors_times_the_matrix_and_learns_them(kind, vectors):
    model = whiten(kind, vectors, 0.2)
    expected = unit(np.asarray(kind(IDS)) @ compute_whitening(vectors, 0.2))
    np.testing.assert_allclose(np.asarray(model(IDS)), expected, atol=1e-5)
    # Its labels are vectors of the new space.
    assert (model.space, model.dimension, model.foreign, model.label_dimension) == (8, 8, True, 8)
    again = whiten(model, vectors, 0.1)
    expected = unit(np.asarray(model(IDS)) @ compute_whitening(vectors, 0.1))
    np.testing.assert_allclose(np.asarray(again(IDS)), expected, atol=1e-5)


def table_of(model):
    """The table that a model computes with, its factor multiplied in."""
    table = model.get_layer("embedding").get_weights()[0]
    return table @ model.get_layer("factor").get_weights()[0] if model.rank else table


@pytest.mark.parametrize("rank", [1, 3, 5])
def test_the_small_table_is_numpys_truncated_svd(model, rank):
    left, singular, right = np.linalg.svd(table_of(model).astype(np.float64), full_matrices=False)
    smaller = factorise(model, rank)
    assert smaller.rank == rank and smaller.get_layer("embedding").get_weights()[0].shape == (20, rank)
    np.testing.assert_allclose(table_of(smaller), left[:, :rank] * singular[:rank] @ right[:rank], atol=1e-6)


def test_factorised_again_it_is_the_best_of_the_lower_rank_uncut_itself_and_loses_nothing_of_low_rank(model):
    twice = factorise(factorise(model, 5), 3)
    np.testing.assert_allclose(table_of(twice), table_of(factorise(model, 3)), atol=1e-5)
    assert factorise(model, 6) is model and factorise(model, 9) is model
    copy = NGramEncoder.from_config(model.get_config())
    copy.set_weights(model.get_weights())
    random = np.random.default_rng(1)
    copy.get_layer("embedding").set_weights([random.normal(size=(20, 2)) @ random.normal(size=(2, 6))])
    np.testing.assert_allclose(np.asarray(factorise(copy, 2)(IDS)), np.asarray(copy(IDS)), atol=1e-5)


def test_rows_that_count_more_are_kept_better(model):
    counts = np.ones(20)
    counts[4] = 1e6
    row = table_of(model)[4]
    np.testing.assert_allclose(table_of(factorise(model, 1, counts))[4], row, atol=1e-4)
    assert np.abs(table_of(factorise(model, 1))[4] - row).max() > 0.05
