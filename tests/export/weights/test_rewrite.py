import numpy as np
import pytest

from distill.export.weights.rewrite import balance, complement, merge

HIDDEN, DIMENSION = 6, 4


@pytest.fixture
def kernels():
    """A head's, with an outlier in one outgoing row and a unit that nothing reads."""
    random = np.random.default_rng(3)
    sizes = {"first": (DIMENSION, HIDDEN), "second": (HIDDEN, HIDDEN), "second_skip": (DIMENSION, HIDDEN)}
    sizes |= {"third": (HIDDEN, DIMENSION), "fourth": (DIMENSION, DIMENSION), "fourth_skip": (HIDDEN, DIMENSION)}
    kernels = {name: random.normal(size=size).astype(np.float32) for name, size in sizes.items()}
    kernels["fourth_skip"][2] *= 30
    kernels["fourth_skip"][4] = 0
    return kernels


def head(x, k):
    """Before tanh, in plain NumPy."""
    hidden = np.maximum(x @ k["second_skip"] + np.maximum(x @ k["first"], 0) @ k["second"], 0)
    return hidden @ k["fourth_skip"] + np.maximum(hidden @ k["third"], 0) @ k["fourth"]


def test_a_balanced_head_computes_the_same_and_leaves_its_input_alone(kernels):
    copies = {name: kernel.copy() for name, kernel in kernels.items()}
    x, after = np.random.default_rng(4).normal(size=(20, DIMENSION)), balance(kernels)
    assert all(np.array_equal(kernels[name], copy) for name, copy in copies.items())
    assert head(x, after) == pytest.approx(head(x, kernels), rel=1e-4, abs=1e-4)
    # A unit that `fourth_skip` does not read stays readable.
    ratio = after["third"][4] / kernels["third"][4]
    assert ratio == pytest.approx(np.full(DIMENSION, 8))


def test_balanced_rows_are_the_roots_of_what_they_were(kernels):
    before, after = (np.abs(k["fourth_skip"]).max(axis=1) for k in (kernels, balance(kernels)))
    # A row of 9 and one of 4 become 3 and 2, times one number for all.
    rows = [0, 1, 2, 3, 5]
    ratio = after[rows] / np.sqrt(before[rows])
    assert ratio == pytest.approx(np.full(5, ratio[0]), rel=1e-5)
    assert after[2] / np.median(after[rows]) < before[2] / np.median(before[rows])


def test_merged_by_hand():
    dense, bias = np.array([[1.0, 2.0], [0.0, 1.0], [3.0, 0.0]]), np.array([1.0, -1.0])
    kernels = {"first": np.array([[1.0], [10.0]]), "second_skip": np.array([[2.0], [-1.0]])}
    kernel, offset = merge(dense, bias, kernels)
    assert kernel.tolist() == [[21, 0], [10, -1], [3, 6]]
    assert offset.tolist() == [-9, 3]
    assert kernel.dtype == offset.dtype == np.float32


def test_a_projection_that_takes_two_directions_off_is_two_thin_products():
    # Of length 1 and 1/2, in float32 as a weight is.
    directions = np.linalg.qr(np.random.default_rng(1).normal(size=(12, 2)))[0]
    kernel = (np.eye(12) - directions @ np.diag([1, 0.5]) @ directions.T).astype(np.float32)
    down, up = complement(kernel)
    assert (down.shape, up.shape) == ((12, 2), (2, 12))
    assert np.eye(12) - down @ up == pytest.approx(kernel, abs=1e-6)


def test_a_projection_that_is_no_shorter_so_stays_one_product():
    random = np.random.default_rng(1).normal(size=(12, 12))
    for kernel in (np.eye(12), np.linalg.qr(random)[0], np.linalg.qr(random)[0][:, :5], np.diag([1] * 6 + [0] * 6)):
        assert complement(kernel.astype(np.float32)) is None
