"""Rounding to codewords that are there, in a step, against the rounding of an export."""

import numpy as np
import pytest
from keras import ops

from distill.export.weights.codecs import encoded
from distill.export.weights.stored import CODEC, StoredTable
from distill.training.fake_quantisation import fake_codewords

ROWS, WIDTH = 1100, 12


@pytest.fixture(scope="module")
def rows():
    random = np.random.default_rng(3)
    return (random.normal(size=(ROWS, WIDTH)) * random.lognormal(sigma=0.5, size=(ROWS, 1))).astype(np.float32)


@pytest.fixture(scope="module")
def stored(rows):
    return StoredTable(encoded(CODEC, rows), ROWS, WIDTH)


def test_a_step_rounds_as_an_export_does(rows, stored):
    trained = rows * np.random.default_rng(4).normal(1, 0.3, rows.shape).astype(np.float32)
    ids = np.array([[3, 0, 1099, 137, 136, 500, -1]])
    rounded = ops.convert_to_numpy(fake_codewords(ops.convert_to_tensor(trained[ids]), ids, stored))
    np.testing.assert_allclose(rounded[0, :-1], stored.kept(trained)[ids[0, :-1]], rtol=1e-4, atol=1e-5)


def test_rows_of_some_pieces_are_rounded_as_those_of_all(rows, stored):
    kept = np.array([0, 5, 136, 137, 900])
    part, trained = stored.taken(kept), rows * 1.2
    assert part.frequent == 3
    np.testing.assert_allclose(part.kept(trained[kept]), stored.kept(trained)[kept], rtol=1e-4, atol=1e-5)
