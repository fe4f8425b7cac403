import numpy as np
import pytest

from distill.retrieval.codes import FEW, packed_width, quantise_packed, unpack

ROWS = np.array([[0.6, -0.8, 0.1, 0.0, -0.1], [0.0, 0.0, 0.0, 0.0, 0.0]], dtype=np.float32)


def unit(n, axes):
    rows = np.random.default_rng(0).standard_normal((n, axes)).astype(np.float32)
    return rows / np.linalg.norm(rows, axis=1, keepdims=True)


def test_one_bit_is_the_sign_the_first_axis_the_lowest_bit():
    codes, scales = quantise_packed(ROWS, 1)
    assert codes.tolist() == [[0b01101], [0b11111]]
    assert unpack(codes, 1, 5).tolist() == [[1, -1, 1, 1, -1], [1] * 5]
    # The squares of the row by the sum of its magnitudes.
    np.testing.assert_allclose(scales, [1.02 / 1.6, 0], rtol=1e-6)


@pytest.mark.parametrize("bits, byte, numbers", [(2, 0b11_10_01_00, [-3, -1, 1, 3]), (4, 0x3F, [15, -9])])
def test_codes_are_odd_numbers_from_the_lowest_bits_on(bits, byte, numbers):
    assert unpack(np.array([[byte]], dtype=np.uint8), bits, len(numbers)).tolist() == [numbers]


@pytest.mark.parametrize("bits, least", [(1, 0.77), (2, 0.92), (4, 0.99)])
@pytest.mark.parametrize("axes", [64, 37])
def test_a_row_keeps_its_direction_and_its_product_with_itself(bits, least, axes):
    rows = unit(200, axes)
    codes, scales = quantise_packed(rows, bits)
    assert codes.shape == (200, packed_width(axes, bits)) and codes.dtype == np.uint8 and scales.dtype == np.float32
    values = unpack(codes, bits, axes) * scales[:, None]
    np.testing.assert_allclose((values * rows).sum(axis=1), 1, rtol=1e-5)
    cosines = (values * rows).sum(axis=1) / np.linalg.norm(values, axis=1)
    assert cosines.mean() > least


@pytest.mark.parametrize("bits", FEW)
def test_unused_bits_are_0_and_no_rows_are_no_rows(bits):
    codes, _ = quantise_packed(unit(20, 3), bits)
    assert (codes >> (3 * bits % 8 or 8) == 0)[:, -1].all()
    empty, scales = quantise_packed(np.zeros((0, 16), np.float32), bits)
    assert empty.shape == (0, 2 * bits) and unpack(empty, bits, 16).shape == (0, 16) and scales.shape == (0,)
