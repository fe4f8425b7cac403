import numpy as np
import pytest

from distill.export.weights.codecs import encoded, frequent
from distill.export.weights.precision import Precision
from distill.export.weights.stored import CODEC, StoredTable

# 1,100 rows of 12 numbers: 137 in int4, the rest two codewords and an end with two columns and the length.
ROWS, WIDTH = 1100, 12


@pytest.fixture(scope="module")
def table():
    random = np.random.default_rng(3)
    return (random.normal(size=(ROWS, WIDTH)) * random.lognormal(sigma=0.5, size=(ROWS, 1))).astype(np.float32)


@pytest.fixture(scope="module")
def stored(table):
    return StoredTable(encoded(CODEC, table), ROWS, WIDTH)


def error(rows, wanted):
    return np.mean((rows - wanted) ** 2) / np.mean(wanted**2)


def test_rows_that_did_not_move_keep_their_codes(stored):
    # An average of two equal numbers may differ in the last bit.
    for before, after in zip(stored.arrays, stored.again(stored.values * np.float32(1 + 1e-6)), strict=True):
        assert np.array_equal(before, after)


def test_rows_that_moved_take_the_nearest_codes_and_no_others_change(table, stored):
    trained, often = stored.values.copy(), frequent(ROWS)
    moved = np.array([3, often + 1, ROWS - 1])
    # Others' rows, which the codewords were learned from, in another length.
    trained[moved] = 1.5 * table[[4, often + 2, often + 3]]
    again = StoredTable(Precision(table=CODEC, stored=stored).encoded(trained), ROWS, WIDTH)
    changed = np.flatnonzero(np.any(again.values != stored.values, axis=1))
    assert changed.tolist() == moved.tolist()
    assert error(again.values[3], trained[3]) < 0.02
    assert error(again.values[moved[1:]], trained[moved[1:]]) < 2 * error(stored.values[often:], table[often:])


def test_all_rows_anew_lose_what_new_codewords_lose(table, stored):
    again = StoredTable(stored.again(table), ROWS, WIDTH)
    assert error(again.values, table) < 1.1 * error(stored.values, table)
