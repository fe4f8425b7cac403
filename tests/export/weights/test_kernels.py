import numpy as np
import pytest

from distill.export.weights.kernels import quantize_channels


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
