import numpy as np
import pytest

from distill.students.ngram import NGramEncoder
from distill.students.ngram.cutting import (
    compute_features,
    find_largest,
    fit_ridge,
    keep_first_convolutions,
    refit_pooling,
    select_channels,
    select_orders,
    shrink_head,
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


def weights(model):
    return {weight.path: np.asarray(weight) for weight in model.weights}


def set_weight(model, path, value):
    next(weight for weight in model.weights if weight.path == path).assign(value)


def copy_of(model):
    copy = NGramEncoder.from_config(model.get_config())
    copy.set_weights(model.get_weights())
    return copy


def vectors(model):
    return np.asarray(model(np.array([[3, 7, 11, 2, -1], [19, 0, 4, 4, 5]], dtype="int32")))


def test_largest_keeps_places_in_order_and_an_order_that_there_is_not_is_refused(model):
    assert find_largest([1, 5, 3, 5, 3], 3).tolist() == [1, 2, 3]
    assert find_largest([2, 2, 2], 2).tolist() == [0, 1]
    with pytest.raises(ValueError):
        select_orders(model, (4,))
    # Where nothing is cut the model itself comes back.
    assert select_channels(model, 5) is select_orders(model, (2, 3)) is shrink_head(model, 9, 8) is model


def test_fewer_channels_are_the_ones_that_pooling_reads_most(model):
    model = copy_of(model)
    kernel, gamma = weights(model)["pooling/dense/kernel"], weights(model)["norm/gamma"]
    # Branch 2: channels 1 and 4; branch 3: channels 0 and 2, the second by its gain alone.
    scale = np.full(16, 0.01)
    scale[[6 + 1, 6 + 4, 11 + 0]] = 1
    gamma = np.ones(16)
    gamma[11 + 2] = 1000
    set_weight(model, "pooling/dense/kernel", kernel / np.linalg.norm(kernel, axis=1, keepdims=True) * scale[:, None])
    set_weight(model, "norm/gamma", gamma)
    w, thin = weights(model), weights(select_channels(model, 2))
    np.testing.assert_array_equal(thin["order_2/projection/kernel"], w["order_2/projection/kernel"][:, [1, 4]])
    np.testing.assert_array_equal(thin["order_3/projection/bias"], w["order_3/projection/bias"][[0, 2]])
    np.testing.assert_array_equal(thin["order_3/norm/beta"], w["order_3/norm/beta"][[0, 2]])
    joined = [0, 1, 2, 3, 4, 5, 7, 10, 11, 13]
    np.testing.assert_array_equal(thin["norm/beta"], w["norm/beta"][joined])
    np.testing.assert_array_equal(thin["pooling/dense/kernel"], w["pooling/dense/kernel"][joined])
    # A window of order 3 has its channels three times, 5 apart.
    rows = [0, 2, 5, 7, 10, 12]
    np.testing.assert_array_equal(
        thin["order_3/second/dense/kernel"], w["order_3/second/dense/kernel"][rows][:, [0, 2]]
    )


@pytest.mark.parametrize("orders, columns", [((3,), [0, 1, 2, 3, 4, 5, 11, 12, 13, 14, 15]), ((2,), list(range(11)))])
def test_an_order_takes_its_columns_with_it(model, orders, columns):
    smaller = select_orders(model, orders)
    assert smaller.orders == orders
    np.testing.assert_array_equal(weights(smaller)["norm/gamma"], weights(model)["norm/gamma"][columns])
    assert not any(path.startswith(f"order_{5 - orders[0]}/") for path in weights(smaller))


def test_shallow_keeps_the_first_convolution_and_all_that_the_second_gave_nothing_to(model):
    smaller = keep_first_convolutions(model)
    assert smaller.convolutions == 1
    assert keep_first_convolutions(smaller) is smaller
    w, thin = weights(model), weights(smaller)
    assert set(w) - set(thin) == {f"order_{n}/second/dense/{part}" for n in (2, 3) for part in ("kernel", "bias")}
    for path, value in thin.items():
        np.testing.assert_array_equal(value, w[path], err_msg=path)
    model = copy_of(model)
    for order in (2, 3):
        set_weight(model, f"order_{order}/second/dense/bias", np.full(5, -100.0))
    np.testing.assert_allclose(vectors(keep_first_convolutions(model)), vectors(model), atol=1e-6)


def test_units_of_the_head_that_nothing_reads_are_cut_without_a_change(model):
    model = copy_of(model)
    w = weights(model)
    for name, dead in (("second", [0, 3, 8]), ("third", [1, 2]), ("fourth_skip", [2, 5, 7]), ("fourth", [0, 6])):
        kernel = w[f"head/{name}/kernel"].copy()
        kernel[dead] = 0
        if name == "third":
            kernel[[2, 5, 7]] = 0
        set_weight(model, f"head/{name}/kernel", kernel)
    smaller = shrink_head(model, 6, 6)
    assert (smaller.hidden, smaller.inner) == (6, 6)
    np.testing.assert_allclose(vectors(smaller), vectors(model), atol=1e-6)
