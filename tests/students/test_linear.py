import numpy as np

from distill.students.linear import leading_axes, linear_map


def test_axes_are_orthonormal_and_in_the_order_of_their_singular_values():
    values = np.random.default_rng(0).normal(size=(50, 4)) * [1, 5, 2, 0.1]
    axes = leading_axes(values, 4)
    np.testing.assert_allclose(axes.T @ axes, np.eye(4), atol=1e-9)
    np.testing.assert_allclose(np.linalg.norm(values @ axes, axis=0), np.linalg.svd(values, compute_uv=False))


def test_a_map_is_numpys_least_squares():
    random = np.random.default_rng(0)
    x, y = random.normal(size=(50, 4)) + 3, random.normal(size=(50, 2))
    np.testing.assert_allclose(linear_map(x, y, 0), np.linalg.lstsq(x, y, rcond=None)[0], atol=1e-6)
