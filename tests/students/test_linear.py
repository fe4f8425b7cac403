import numpy as np
import pytest

from distill.students.linear import compute_leading_axes, compute_whitening, factorize_dense, fit_linear_map


def test_axes_are_orthonormal_and_in_the_order_of_their_singular_values():
    values = np.random.default_rng(0).normal(size=(50, 4)) * [1, 5, 2, 0.1]
    axes = compute_leading_axes(values, 4)
    np.testing.assert_allclose(axes.T @ axes, np.eye(4), atol=1e-9)
    np.testing.assert_allclose(np.linalg.norm(values @ axes, axis=0), np.linalg.svd(values, compute_uv=False))


def test_a_map_is_numpys_least_squares():
    random = np.random.default_rng(0)
    x, y = random.normal(size=(50, 4)) + 3, random.normal(size=(50, 2))
    np.testing.assert_allclose(fit_linear_map(x, y, 0), np.linalg.lstsq(x, y, rcond=None)[0], atol=1e-6)


def test_energy_is_evened_out_by_a_power_over_the_principal_directions():
    random = np.random.default_rng(0)
    turn = np.linalg.qr(random.normal(size=(4, 4)))[0]
    vectors = (random.normal(size=(500, 4)) * [8, 4, 2, 1]) @ turn.T
    before = np.linalg.svd(vectors, compute_uv=False) ** 2
    for power in (0, 0.1, 0.25):
        matrix = compute_whitening(vectors, power)
        np.testing.assert_allclose(matrix, matrix.T, atol=1e-12)
        after = np.linalg.svd(vectors @ matrix, compute_uv=False) ** 2
        np.testing.assert_allclose(after / after[0], (before / before[0]) ** (1 - 2 * power), rtol=0.02)
    np.testing.assert_allclose(compute_whitening(vectors, 0), np.eye(4), atol=1e-12)
    # A direction that no vector has is not blown up.
    assert np.abs(compute_whitening(vectors * [1, 1, 1, 0], 0.5)).max() < 1e3


def test_a_layer_of_fewer_dimensions_than_its_rank_is_the_nearest_one():
    random = np.random.default_rng(0)
    kernel, bias = random.normal(size=(9, 6)), random.normal(size=6)
    for dimension in (8, 6, 4):
        left, middle, following = factorize_dense(kernel, bias, dimension)
        assert (left.shape, middle.shape, following.shape) == ((9, dimension), (dimension,), (dimension, 6))
        error = np.sum((np.vstack([left, middle]) @ following - np.vstack([kernel, bias])) ** 2)
        lengths = np.linalg.svd(np.vstack([kernel, bias]), compute_uv=False)
        assert error == pytest.approx(np.sum(lengths[dimension:] ** 2), abs=1e-5)
