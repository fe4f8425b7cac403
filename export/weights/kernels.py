"""Quantise dense kernels to whole numbers with one scale per output channel. NumPy only.

A kernel is float32 `(in, out)`, and `levels` is the largest absolute value of a whole number.
"""

from __future__ import annotations

import numpy as np

from ...system.types import Doubles, Floats, Integers

# The largest whole numbers of 8 and of 4 bits.
LEVELS, LEVELS_OF_4 = 127, 7
# The scales to try, as shares of the one that clips nothing.
SHARES = np.linspace(0.4, 1.0, 25)
# This share of the inputs' mean square is added to the diagonal of the moments, so that the inverse exists.
DAMPING = 0.01
# The default ridge of `fit_kernel`, a share of the inputs' mean square.
RIDGE = 0.05
# The number of inputs whose errors are passed on together.
TOGETHER = 128


def quantize_channels(kernel: Floats, levels: int = LEVELS) -> tuple[Floats, Floats]:
    """Quantise a kernel to whole numbers, as float32, with one scale `(out,)` per output channel."""
    scale = np.maximum(np.abs(kernel).max(axis=0), 1e-12) / levels
    return np.round(kernel / scale).astype(np.float32), scale.astype(np.float32)


def compensate_rounding(kernel: Floats, moments: Doubles, levels: int = LEVELS_OF_4, wide: int = 0) -> Floats:
    """Return a kernel that `quantize_channels` leaves unchanged and whose outputs are close to the given kernel's.

    Inputs are rounded one after another, the largest first, and the inputs that are not rounded yet compensate for the
    error of each. Frantar et al. (2023), GPTQ, algorithm 1. The scale of a channel is the one of `SHARES` with the
    least squared error of its numbers. `moments` are sums of products of the inputs, `(in, in)`. The first `wide`
    inputs are not rounded and compensate for all others.
    """
    count, scale = len(kernel) - wide, _best_scales(kernel[wide:], levels)
    size = np.diag(moments)
    order = np.concatenate([wide + np.argsort(-size[wide:], kind="stable"), np.arange(wide)])
    rest, moments = kernel[order].astype(np.float64), moments[np.ix_(order, order)]
    moments[np.diag_indices_from(moments)] += DAMPING * max(float(size.mean()), 1e-12)
    passed = np.linalg.cholesky(np.linalg.inv(moments)).T  # upper
    codes = np.zeros_like(rest[:count])
    for start in range(0, count, TOGETHER):
        end = min(start + TOGETHER, count)
        codes[start:end], errors = _round_rows(rest, start, end, scale, passed, levels)
        rest[end:] -= passed[start:end, end:].T @ errors
    rest[:count] = _raise_to_levels(codes, levels) * scale
    rounded = np.empty_like(rest)
    rounded[order] = rest
    return rounded.astype(np.float32)


def fit_kernel(kernel: Floats, moments: Doubles, products: Doubles, ridge: float = RIDGE) -> Floats:
    """Fit a kernel that maps its inputs closest to the wanted outputs, by least squares with a ridge.

    The ridge, a share of the inputs' mean square, draws it towards `kernel`. After the idea of Li et al. (2025), GPTAQ.
    `products` are sums of products of the inputs and the wanted outputs, `(in, out)`.
    """
    ridge = ridge * max(float(np.diag(moments).mean()), 1e-12)
    return np.linalg.solve(moments + ridge * np.eye(len(moments)), products + ridge * kernel).astype(np.float32)


def is_rounded(kernel: Floats, levels: int = LEVELS_OF_4) -> bool:
    """Return True if `quantize_channels` leaves a kernel unchanged."""
    whole, scale = quantize_channels(kernel, levels)
    return bool(np.allclose(whole * scale, kernel, rtol=1e-4, atol=0))


def rank_by_rounding(kernel: Floats, moments: Doubles, levels: int = LEVELS_OF_4) -> Integers:
    """Rank the inputs of a kernel by the output error that rounding each of them alone causes, largest first."""
    scale = _best_scales(kernel, levels)
    error = np.square(_round_to_levels(kernel, scale, levels) - kernel).sum(axis=1)
    return np.argsort(-error * np.diag(moments), kind="stable")


def _round_rows(rest, start, end, scale, passed, levels):
    """Return the whole numbers of some inputs and their errors, each of which is passed on to the following inputs."""
    codes, errors = np.zeros((2, end - start, rest.shape[1]))
    for row in range(start, end):
        codes[row - start] = np.clip(np.round(rest[row] / scale), -levels, levels)
        error = (rest[row] - codes[row - start] * scale) / passed[row, row]
        rest[row + 1 : end] -= passed[row, row + 1 : end, None] * error
        errors[row - start] = error
    return codes, errors


def _best_scales(kernel, levels):
    largest = np.maximum(np.abs(kernel).max(axis=0), 1e-12) / levels
    best, least = largest, np.full(kernel.shape[1], np.inf)
    for share in SHARES:
        scale = largest * share
        error = np.square(_round_to_levels(kernel, scale, levels) - kernel).sum(axis=0)
        best, least = np.where(error < least, scale, best), np.minimum(error, least)
    return best.astype(np.float64)


def _round_to_levels(kernel, scale, levels):
    return np.clip(np.round(kernel / scale), -levels, levels) * scale


def _raise_to_levels(codes, levels):
    """Set each channel's largest whole number to `levels`, from which `quantize_channels` finds the channel's scale."""
    largest, channels = np.abs(codes).argmax(axis=0), np.arange(codes.shape[1])
    sign = np.where(codes[largest, channels] < 0, -1, 1)
    codes[largest, channels] = sign * levels
    return codes
