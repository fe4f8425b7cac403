import numpy as np
import pytest

from distill.export.weights.codecs import column_rows, column_values
from distill.export.weights.products import compute_rotation, dct_matrix, deal_columns, keep_mean


@pytest.fixture(scope="module")
def rows():
    """Of 42 columns, whose directions are of variances from 1 to 1/400, at any angle to the columns."""
    random = np.random.default_rng(0)
    axes = np.linalg.qr(random.normal(size=(42, 42)))[0]
    return (random.normal(size=(3000, 42)) * np.geomspace(1, 0.05, 42) @ axes + 0.1).astype(np.float32)


def test_variances_are_dealt_so_that_their_products_are_equal_by_hand():
    assert deal_columns(np.array([16, 8, 4, 2, 1.0]), 2).tolist() == [0, 3, 1, 2, 4]
    assert deal_columns(np.array([1, 2, 4, 8.0]), 2).tolist() == [3, 0, 2, 1]
    assert deal_columns(np.array([1, 3, 2.0]), 5).tolist() == [1, 2, 0]


@pytest.mark.parametrize("size", [1, 4, 5])
def test_cosines_are_orthogonal_and_spread_each_direction(size):
    matrix = dct_matrix(size)
    assert matrix @ matrix.T == pytest.approx(np.eye(size))
    assert np.all(matrix**2 <= 2 / size)


@pytest.mark.parametrize("count", [1, 7, 3000])
@pytest.mark.parametrize("width", [3, 5, 42])
def test_lengths_and_means_of_rows_are_kept(rows, count, width):
    part = rows[:count, :width]
    basis = compute_rotation(part, 5)
    assert basis @ basis.T == pytest.approx(np.eye(width))
    assert (part @ basis).mean(axis=1) == pytest.approx(part.mean(axis=1), abs=1e-6)
    assert compute_rotation(np.zeros_like(part), 5).sum(axis=0) == pytest.approx(np.ones(width))


def test_a_matrix_of_the_opposite_mean_is_taken_negative():
    assert keep_mean(-np.eye(4)) == pytest.approx(np.eye(4))


def test_each_place_has_its_part_of_the_variance(rows):
    after = rows @ compute_rotation(rows, 5)
    products = [np.linalg.det(np.cov(after[:, start : start + 5].T)) for start in range(0, 40, 5)]
    before = [np.linalg.det(np.cov(rows[:, start : start + 5].T)) for start in range(0, 40, 5)]
    assert max(products) < 0.2 * min(before)
    # What is left are the directions of the least variance.
    assert after[:, 40:].var(axis=0).max() < 0.3 * after[:, :40].var(axis=0).min()


def test_codewords_lose_less_of_turned_rows(rows):
    turned = (rows @ compute_rotation(rows, 5)).astype(np.float32)
    plain, after = (np.sum((part - column_values(*column_rows(part, 5))[:, :42]) ** 2) for part in (rows, turned))
    assert after < 0.7 * plain
