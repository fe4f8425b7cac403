import numpy as np

from distill.students.ngram.cutting import (
    compute_features,
    fit_ridge,
    keep_first_convolutions,
    refit_pooling,
    select_orders,
)

ROWS = [[3, 7, 11, 2], [19], [0, 4, 4, 5, 8, 9, 1], [6, 6]]


def test_ridge_is_numpys_least_squares_and_a_ridge_shrinks_the_kernel():
    random = np.random.default_rng(0)
    x, y = random.normal(size=(50, 4)) + 3, random.normal(size=(50, 2))
    solution, *_ = np.linalg.lstsq(np.column_stack([x, np.ones(50)]), y, rcond=None)
    kernel, bias = fit_ridge(x, y, 0)
    np.testing.assert_allclose(kernel, solution[:4], atol=1e-6)
    np.testing.assert_allclose(bias, solution[4], atol=1e-6)
    x, y = np.array([[1.0], [-1.0]]), np.array([[3.0], [-3.0]])
    # x'x = 2, a tenth of it more: 6 / 2.2
    np.testing.assert_allclose(fit_ridge(x, y, 0.1)[0], [[6 / 2.2]], rtol=1e-6)


def test_features_are_those_of_the_tokens_without_padding(model):
    rows = compute_features(model, ROWS)
    assert rows.shape == (14, 6 + 2 * 5)
    # A single token is its own text: LayerNorm with gain and shift undone has mean 0 and mean square 1.
    gamma, beta = (np.asarray(weight) for weight in model.get_layer("norm").weights)
    plain = (rows - beta) / gamma
    np.testing.assert_allclose(plain.mean(axis=1), 0, atol=1e-5)
    np.testing.assert_allclose((plain**2).mean(axis=1), 1, atol=1e-4)


def test_the_refitted_layer_is_the_best_for_the_rows_and_brings_the_vectors_nearer(model):
    """No other kernel has a smaller squared error: the error is at right angles to every feature."""
    pooling = model.get_layer("pooling")
    target = compute_features(model, ROWS) @ np.asarray(pooling.dense.kernel) + np.asarray(pooling.bias)
    smaller = refit_pooling(select_orders(model, (2,)), model, ROWS)
    x = compute_features(smaller, ROWS).astype(np.float64)
    error = x @ np.asarray(smaller.get_layer("pooling").dense.kernel) + np.asarray(smaller.get_layer("pooling").bias)
    error -= target
    np.testing.assert_allclose(error.sum(axis=0), 0, atol=1e-3)
    scale = np.linalg.norm(x, axis=0)[:, None] * np.linalg.norm(target, axis=0)
    assert np.abs((x - x.mean(axis=0)).T @ error / scale).max() < 1e-3
    ids = np.array([[3, 7, 11, 2], [0, 4, 4, 5]], dtype="int32")
    cut, whole = keep_first_convolutions(model), np.asarray(model(ids))
    before = np.sum(np.asarray(cut(ids)) * whole, axis=1)
    after = np.sum(np.asarray(refit_pooling(cut, model, ROWS)(ids)) * whole, axis=1)
    assert (after > before).all()
