import numpy as np
import pytest

from distill.export.weights.codecs import CODECS, column_rows, column_values, decoded, encoded, stored_bytes
from distill.export.weights.products import CODEWORDS, nearest, product_codes


@pytest.fixture(scope="module")
def table():
    return np.random.default_rng(0).normal(size=(2000, 12)).astype(np.float32)


def values(codes, books):
    return np.concatenate([books[place][codes[:, place]] for place in range(codes.shape[1])], axis=1)


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
    by_chance = drawn[nearest(table[:, :4], drawn)]
    error = ((table[:, :4] - books[0][codes[:, 0]]) ** 2).sum()
    assert error < 0.8 * ((table[:, :4] - by_chance) ** 2).sum()


def test_few_different_values_are_kept_exactly():
    table = np.random.default_rng(0).normal(size=(7, 8)).astype(np.float32)[np.arange(300) % 7]
    np.testing.assert_array_equal(values(*product_codes(table, 4)), table)


def test_what_was_quantised_once_stays_as_it_is(table):
    once = decoded("pq4", encoded("pq4", table), 12)
    # But for a unit of the fixed-point scale, times 127.
    np.testing.assert_allclose(decoded("pq4", encoded("pq4", once), 12), once, atol=127 * 2**-24)


@pytest.mark.parametrize("name, size", [("pq4", 4), ("pq8", 8)])
@pytest.mark.parametrize("width", [8, 12, 13])
def test_the_codec_decodes_to_its_codewords_whatever_the_width(table, name, size, width):
    rows = np.resize(table, (300, width))
    codes, books = product_codes(rows, size)
    vectors = decoded(name, encoded(name, rows), width)
    assert vectors.shape == (300, width)
    # A codeword is stored in 8 bits, a scale each.
    np.testing.assert_allclose(vectors, values(codes, books)[:, :width], atol=np.abs(books).max() / 127)


def test_codewords_of_a_place_share_a_step_by_hand():
    rows = np.float32([[1.27, 0.5, 254], [-0.304, 0.1, -100.9]])
    codes, words, steps = column_rows(rows, 2)
    # The steps are 1.27 / 127 and 254 / 127; 30.4 and 50.45 are rounded, and what stands beyond the width is zero.
    assert (codes.dtype, codes.shape, words.dtype, words.shape) == (np.uint8, (2, 2), np.int8, (512, 2))
    assert (steps.dtype, steps) == (np.float32, pytest.approx(np.array([0.01, 0.01, 2, 2]), abs=2**-24))
    assert words[codes + np.array([0, 256])].tolist() == [[[127, 50], [127, 0]], [[-30, 10], [-50, 0]]]
    vectors = column_values(codes, words, steps)
    assert vectors.dtype == np.float32
    np.testing.assert_allclose(vectors, [[1.27, 0.5, 254, 0], [-0.3, 0.1, -100, 0]], rtol=1e-5)


@pytest.mark.parametrize("width", [10, 12])
def test_a_codeword_is_within_half_a_step_of_its_place(table, width):
    codes, books = product_codes(table[:, :width], 5)
    stored, words, steps = column_rows(table[:, :width], 5)
    largest = np.abs(books).max(axis=(1, 2)) / 127
    assert np.array_equal(stored, codes) and steps == pytest.approx(np.repeat(largest, 5), abs=2**-24)
    error = np.abs(column_values(stored, words, steps) - values(codes, books))
    assert np.all(error <= 0.501 * steps) and error.max() > 0.4 * steps.min()


@pytest.mark.parametrize("name", CODECS)
def test_bytes_are_told_before_anything_is_encoded(table, name):
    assert stored_bytes(name, 2000, 12) == sum(array.nbytes for array in encoded(name, table))
