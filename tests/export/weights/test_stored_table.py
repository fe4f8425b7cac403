import numpy as np
from fixtures.tables import ROWS, WIDTH

from distill.export.weights.codecs import count_frequent
from distill.export.weights.precision import Precision
from distill.export.weights.stored_table import CODEC, StoredTable


def error(rows, wanted):
    return np.mean((rows - wanted) ** 2) / np.mean(wanted**2)


def test_rows_that_did_not_move_keep_their_codes(stored):
    # An average of two equal numbers may differ in the last bit.
    for before, after in zip(
        stored.arrays, stored.requantize(stored.values * np.float32(1 + 1e-6)).arrays, strict=True
    ):
        assert np.array_equal(before, after)


def test_rows_that_moved_take_the_nearest_codes_and_no_others_change(codeword_rows, stored):
    trained, often = stored.values.copy(), count_frequent(ROWS)
    moved = np.array([3, often + 1, ROWS - 1])
    # Others' rows, which the codewords were learned from, in another length.
    trained[moved] = 1.5 * codeword_rows[[4, often + 2, often + 3]]
    again = StoredTable(Precision(table=CODEC, stored=stored).encode_table(trained), ROWS, WIDTH)
    changed = np.flatnonzero(np.any(again.values != stored.values, axis=1))
    assert changed.tolist() == moved.tolist()
    assert error(again.values[3], trained[3]) < 0.02
    assert error(again.values[moved[1:]], trained[moved[1:]]) < 2 * error(stored.values[often:], codeword_rows[often:])


def test_all_rows_anew_lose_what_new_codewords_lose(codeword_rows, stored):
    again = stored.requantize(codeword_rows)
    assert error(again.values, codeword_rows) < 1.1 * error(stored.values, codeword_rows)


def test_moved_rows_of_codewords_come_into_four_bits_behind_the_frequent_ones(codeword_rows, stored):
    trained, often = stored.values.copy(), count_frequent(ROWS)
    moved = [3, often + 1, ROWS - 1]
    trained[moved] = 1.5 * codeword_rows[[4, often + 2, often + 3]]
    promoted, order = stored.promote(trained)
    rest = np.delete(np.arange(ROWS), [*range(often), *moved[1:]])
    assert order.tolist() == [*range(often), *moved[1:], *rest] and promoted.frequent_count == often + 2
    assert np.array_equal(promoted.values[often + 2 :], stored.values[rest])
    assert error(promoted.values[[3, often, often + 1]], trained[moved]) < 0.02
    assert np.array_equal(stored.keep(trained)[order], promoted.values)
    # What is promoted is stored again as it is.
    assert np.array_equal(promoted.requantize(promoted.values).values, promoted.values)


def test_as_many_rows_at_most_are_promoted_as_are_frequent_those_that_codewords_change_most(codeword_rows, stored):
    promoted, order = stored.promote(codeword_rows)
    often = count_frequent(ROWS)
    lost = np.square(stored.requantize(codeword_rows).values - codeword_rows).sum(axis=1)
    assert promoted.frequent_count == 2 * often and sorted(order) == list(range(ROWS))
    assert lost[order[often : 2 * often]].min() >= lost[order[2 * often :]].max()
