"""Rounding to codewords that are there, in a step, against the rounding of an export."""

import keras
import numpy as np
from keras import ops

from distill.training.fake_quantisation import Codewords, fake_codewords


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


def test_codewords_that_are_trained_give_the_rows_of_a_table_with_them(stored):
    words = stored.words + np.random.default_rng(5).normal(0, 9, stored.words.shape).astype(np.float32)
    other, ids = stored.with_words(words), np.array([[3, 0, 1099, 137, 136, 500, 800]])
    learned = Codewords(stored, keras.Variable(words * np.float32(stored.unit)))
    rows = learned.decode(ops.convert_to_tensor(stored.values[ids]), ids)
    np.testing.assert_allclose(ops.convert_to_numpy(rows)[0], other.values[ids[0]], rtol=1e-4, atol=1e-6)
    assert not np.allclose(other.values[ids[0, 2:]], stored.values[ids[0, 2:]], rtol=0.1)
    # Rows of frequent tokens have no codewords.
    assert np.array_equal(other.values[: stored.frequent_count], stored.values[: stored.frequent_count])
    assert np.array_equal(learned.store(stored, stored.values)[1], other.values)
    # An export finds the codewords in the table, and stores them without another loss.
    followed = stored.follow(other.values)
    assert all(map(np.array_equal, followed.requantize(other.values).arrays[:4], stored.arrays[:4]))
    np.testing.assert_allclose(followed.keep(other.values), other.values, rtol=1e-5)


def test_rows_that_moved_by_themselves_leave_the_codewords_as_they_are(codeword_rows, stored):
    one = stored.values.copy()
    one[500] *= 1.3
    assert stored.follow(codeword_rows) is stored and stored.follow(one) is stored
    assert np.array_equal(stored.follow(stored.values).values, stored.values)
