import numpy as np
import pytest

from distill.export.weights.kernels import (
    compensate_rounding,
    fit_kernel,
    is_rounded,
    quantize_channels,
    rank_by_rounding,
)


@pytest.fixture
def kernel():
    """Channels that differ in scale by nine orders of magnitude."""
    random = np.random.default_rng(0)
    return (random.normal(size=(30, 12)) * np.logspace(-6, 3, 12)).astype(np.float32)


def test_channels_by_hand():
    whole, scale = quantize_channels(np.array([[1.27, -0.5], [0.014, 0.25]], dtype=np.float32))
    assert whole.tolist() == [[127, -127], [1, 64]]
    assert scale == pytest.approx([0.01, 0.5 / 127])


def test_channels_are_whole_numbers_that_reach_127_and_off_by_at_most_half_a_step(kernel):
    # A kernel whose largest is 127 has the converter's scale 127 / 127 = 1, which is what keeps it exact.
    whole, scale = quantize_channels(kernel)
    assert whole.dtype == scale.dtype == np.float32
    assert (whole.shape, scale.shape) == ((30, 12), (12,))
    assert np.array_equal(whole, np.round(whole))
    assert np.abs(whole).max(axis=0).tolist() == [127] * 12
    step = np.abs(kernel.astype(np.float64)).max(axis=0) / 127
    # A thousandth of a step for the float32 of the division.
    assert np.all(np.abs(whole * scale.astype(np.float64) - kernel) <= 0.501 * step)


def test_a_channel_of_zeros_stays_zero():
    whole, scale = quantize_channels(np.array([[0.0, 1.0], [0.0, -1.0]], dtype=np.float32))
    assert whole[:, 0].tolist() == [0, 0]
    assert np.isfinite(scale).all() and (scale > 0).all()


def test_what_one_input_loses_the_other_makes_up_for_by_hand():
    # The largest number stands apart, so that the scale is 1. Of two inputs that are always alike the first loses .4,
    # which the second, 1.3, gains: 1.7 is 2, where alone it would be 1.
    kernel = np.array([[7.0], [0.4], [1.3]], dtype=np.float32)
    moments = np.array([[1e3, 0.0, 0.0], [0.0, 101.0, 100.0], [0.0, 100.0, 100.0]])
    assert compensate_rounding(kernel, moments)[:, 0].tolist() == pytest.approx([7, 0, 2])
    assert compensate_rounding(kernel, np.diag([3.0, 2.0, 1.0]))[:, 0].tolist() == pytest.approx([7, 0, 1])


def test_a_wide_input_makes_up_for_the_others_and_is_not_rounded_by_hand():
    kernel = np.array([[1.3], [7.0], [0.4]], dtype=np.float32)
    moments = np.array([[100.0, 0.0, 100.0], [0.0, 1e3, 0.0], [100.0, 0.0, 101.0]])
    damped = 100 + 0.01 * (100 + 1000 + 101) / 3
    assert compensate_rounding(kernel, moments, wide=1)[:, 0].tolist() == pytest.approx([1.3 + 40 / damped, 7, 0])


def test_inputs_are_ranked_by_what_their_rounding_changes_by_hand():
    # The scale is 1. What is lost is 0, .4 and .25, times the mean square of the input.
    kernel = np.array([[7.0], [1.4], [2.25]], dtype=np.float32)
    assert rank_by_rounding(kernel, np.diag([1e3, 1.0, 1.0])).tolist() == [1, 2, 0]
    assert rank_by_rounding(kernel, np.diag([1e3, 1.0, 3.0])).tolist() == [2, 1, 0]


def test_a_fitted_kernel_gives_what_is_wanted_drawn_to_what_it_was_by_hand():
    fitted = fit_kernel(np.array([[1.0]], dtype=np.float32), np.array([[4.0]]), np.array([[8.0]]))
    assert fitted.item() == pytest.approx((8 + 0.05 * 4 * 1) / (4 + 0.05 * 4))


def test_compensated_kernels_round_to_themselves_and_give_more_nearly_what_they_gave():
    random = np.random.default_rng(3)
    kernel = random.normal(size=(40, 24)).astype(np.float32)
    # Inputs of few directions: what is lost of one is had from others.
    inputs = random.normal(size=(500, 10)) @ random.normal(size=(10, 40)) + 0.05 * random.normal(size=(500, 40))
    rounded = compensate_rounding(kernel, inputs.T @ inputs)
    whole, scale = quantize_channels(rounded, 7)
    np.testing.assert_allclose(whole * scale, rounded, rtol=1e-6)
    assert np.abs(whole).max(axis=0).tolist() == [7] * 24
    assert is_rounded(rounded) and not is_rounded(kernel)
    plain = np.multiply(*quantize_channels(kernel, 7))
    lost = [np.square(inputs @ (other - kernel)).sum() for other in (rounded, plain)]
    assert lost[0] < 0.2 * lost[1]
