import numpy as np
import pytest

from distill.export.weights.parted import factorize_dense


def test_a_layer_of_fewer_dimensions_than_its_rank_is_the_nearest_one():
    random = np.random.default_rng(0)
    kernel, bias = random.normal(size=(9, 6)), random.normal(size=6)
    for dimension in (8, 6, 4):
        left, middle, following = factorize_dense(kernel, bias, dimension)
        assert (left.shape, middle.shape, following.shape) == ((9, dimension), (dimension,), (dimension, 6))
        error = np.sum((np.vstack([left, middle]) @ following - np.vstack([kernel, bias])) ** 2)
        lengths = np.linalg.svd(np.vstack([kernel, bias]), compute_uv=False)
        assert error == pytest.approx(np.sum(lengths[dimension:] ** 2), abs=1e-5)
