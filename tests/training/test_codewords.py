"""Rounding to codewords that are there, in a step, against the rounding of an export."""

import numpy as np
from keras import ops

from distill.training.fake_quantisation import fake_codewords


def test_a_step_rounds_as_an_export_does(codeword_rows, stored):
    trained, moved = stored.values.copy(), [3, 136, 500, 1099]
    trained[moved] = codeword_rows[moved] * np.random.default_rng(4).normal(1, 0.3, (4, 1)).astype(np.float32)
    ids = np.array([[3, 0, 1099, 137, 136, 500, 800]])
    rounded = ops.convert_to_numpy(fake_codewords(ops.convert_to_tensor(trained[ids]), ids, stored))
    np.testing.assert_allclose(rounded[0], stored.keep(trained)[ids[0]], rtol=1e-4, atol=1e-5)


def test_rows_of_some_pieces_are_rounded_as_those_of_all(codeword_rows, stored):
    kept = np.array([0, 5, 136, 137, 900])
    part, trained = stored.take_rows(kept), codeword_rows * 1.2
    assert part.frequent_count == 3
    np.testing.assert_allclose(
        part.requantize(trained[kept]).values, stored.requantize(trained).values[kept], rtol=1e-4, atol=1e-5
    )
