import numpy as np
import pytest

from distill.export.weights.codecs import (
    CODECS,
    WHOLE,
    column_rows,
    column_values,
    decode_rows,
    encode_table,
    stored_bytes,
)
from distill.export.weights.products import (
    CODEWORDS,
    compute_rotation,
    dct_matrix,
    deal_columns,
    find_nearest,
    keep_mean,
    product_codes,
)


@pytest.fixture(scope="module")
def table():
    return np.random.default_rng(0).normal(size=(2000, 12)).astype(np.float32)


def values(codes, books):
    return np.concatenate(
        [np.zeros((len(codes), 0)), *(book[place] for book, place in zip(books, codes.T, strict=True))], axis=1
    )


def test_each_code_is_the_nearest_codeword(table):
    codes, books = product_codes(table, 4)
    assert (codes.dtype, codes.shape, books.shape) == (np.uint8, (2000, 3), (3, CODEWORDS, 4))
    distances = np.linalg.norm(table[:, None, 4:8] - books[1][None], axis=2)
    chosen = np.take_along_axis(distances, codes[:, 1:2].astype(int), axis=1)[:, 0]
    np.testing.assert_allclose(chosen, distances.min(axis=1), atol=1e-5)
    again = product_codes(table, 4)
    assert np.array_equal(again[0], codes) and np.array_equal(again[1], books)


def test_codewords_are_nearly_the_means_of_their_values(table):
    codes, books = product_codes(table, 4)
    used = [word for word in range(CODEWORDS) if (codes[:, 0] == word).sum() > 5]
    means = np.stack([table[codes[:, 0] == word, :4].mean(axis=0) for word in used])
    assert np.linalg.norm(books[0][used] - means, axis=1).mean() < 0.15 * np.linalg.norm(means, axis=1).mean()


def test_the_error_is_far_below_that_of_codewords_drawn_by_chance(table):
    codes, books = product_codes(table, 4)
    drawn = table[np.random.default_rng(1).choice(2000, CODEWORDS, replace=False), :4]
    by_chance = drawn[find_nearest(table[:, :4], drawn)]
    error = ((table[:, :4] - books[0][codes[:, 0]]) ** 2).sum()
    assert error < 0.8 * ((table[:, :4] - by_chance) ** 2).sum()


def test_few_different_values_are_kept_exactly():
    table = np.random.default_rng(0).normal(size=(7, 8)).astype(np.float32)[np.arange(300) % 7]
    np.testing.assert_array_equal(values(*product_codes(table, 4)), table)


def test_what_was_quantised_once_stays_as_it_is(table):
    once = decode_rows("pq4", encode_table("pq4", table), 12)
    # But for a unit of the fixed-point scale, times 127.
    np.testing.assert_allclose(decode_rows("pq4", encode_table("pq4", once), 12), once, atol=127 * 2**-24)


@pytest.mark.parametrize("name, size", [("pq4", 4), ("pq8", 8)])
@pytest.mark.parametrize("width", [8, 12, 13])
def test_the_codec_decodes_to_its_codewords_whatever_the_width(table, name, size, width):
    rows = np.resize(table, (300, width))
    codes, books = product_codes(rows, size)
    vectors = decode_rows(name, encode_table(name, rows), width)
    assert vectors.shape == (300, width)
    # A codeword is stored in 8 bits, a scale each.
    np.testing.assert_allclose(vectors, values(codes, books)[:, :width], atol=np.abs(books).max() / 127)


def test_codewords_share_a_step_and_the_last_one_has_the_length_by_hand():
    # Of length 13 and 5, and 5 is 48.8 steps of 13 / 127: 49. Of few values the codewords are these, sorted.
    codes, words, step = column_rows(np.float32([[3, 4, 12], [0, 3, 4]]), 2)
    short = 49 * 13 / 127
    assert (codes.dtype, codes.tolist()) == (np.uint8, [[1, 1], [0, 0]])
    assert (words.dtype, words.shape) == (np.int8, (512, 2))
    # 82.3 of 3 / short, 31.7 and 42.3 of 3 / 13 and 4 / 13, and 110.1 of 4 / 5, to 12 / 13.
    assert words[[0, 1, 256, 257]].tolist() == [[0, 82], [32, 42], [110, 49], [127, 127]]
    assert (step.dtype, step.shape, step[0]) == (np.float32, (1,), pytest.approx(12 / 127**2, rel=1e-5))
    vectors = column_values(codes, words, step)
    assert vectors.dtype == np.float32
    unit = 12 / 13 / 127
    expected = [[32 * 13 * unit, 42 * 13 * unit, 12], [0, 82 * short * unit, 110 * short * unit]]
    np.testing.assert_allclose(vectors, expected, rtol=1e-4)


@pytest.mark.parametrize("width", [5, 10, 12, 14])
def test_a_codeword_is_within_half_a_step_of_its_place(table, width):
    rows = np.resize(table, (2000, width)) * np.linspace(1, 9, 2000, dtype=np.float32)[:, None]
    codes, words, step = column_rows(rows, 5)
    body, places = width // 5 * 5, width // 5 + 1
    assert (codes.shape, words.shape, step.shape) == ((2000, places), (places * 256, 5), (1,))
    # The longest row's is 127.
    unit = np.exp(np.log(np.linalg.norm(rows, axis=1)).max()) / 127
    lengths = words[256 * (places - 1) :, 4][codes[:, -1]] * unit
    plain, books = product_codes(rows[:, :body] / lengths[:, None], 5, WHOLE)
    error = np.abs(column_values(codes, words, step)[:, :body] / lengths[:, None] - values(plain, books))
    assert np.mean(error <= 0.501 * step / unit) > 0.999


def test_rows_of_other_lengths_have_no_larger_error_but_for_codewords_of_all_lengths(table):
    random = np.random.default_rng(5)
    rows = np.concatenate([table] * 3)[:, :11] * np.exp(random.normal(size=(6000, 1))).astype(np.float32)

    def error(kept):
        return np.mean(np.sum((rows - kept) ** 2, axis=1) / np.sum(rows**2, axis=1))

    apart = error(column_values(*column_rows(rows, 5))[:, :11])
    assert apart < 0.6 * error(values(*product_codes(rows, 5))[:, :11])


def test_a_row_of_zeros_stays_near_zero(table):
    rows = np.concatenate([table, np.zeros_like(table[:1])])
    kept = column_values(*column_rows(rows, 5))[:, :12]
    assert np.linalg.norm(kept[-1]) < 0.02 * np.linalg.norm(kept[:-1], axis=1).max()
    assert not column_values(*column_rows(rows[-1:], 5)).any()


@pytest.mark.parametrize("name", CODECS)
def test_bytes_are_told_before_anything_is_encoded(table, name):
    assert stored_bytes(name, 2000, 12) == sum(array.nbytes for array in encode_table(name, table))


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
