"""A dense kernel as whole numbers, one scale an output channel. NumPy alone."""

from __future__ import annotations

import numpy as np

from ...system.types import Doubles, Floats, Integers

# The largest whole number of 8 bits, and of 4.
LEVELS, LEVELS_OF_4 = 127, 7
# Scales that are tried, as shares of the one that cuts nothing off.
SHARES = np.linspace(0.4, 1.0, 25)
# Of the mean square of an input, added to each, so that the inverse exists.
DAMPING = 0.01
# The same, of how much a kernel that is fitted is drawn to what it was.
RIDGE = 0.05
# Inputs whose errors are passed on together.
TOGETHER = 128


def quantize_channels(kernel: Floats, levels: int = LEVELS) -> tuple[Floats, Floats]:
    """float32 `(in, out)` -> whole numbers up to `levels` as float32, and one scale an output channel, `(out,)`."""
    scale = np.maximum(np.abs(kernel).max(axis=0), 1e-12) / levels
    return np.round(kernel / scale).astype(np.float32), scale.astype(np.float32)


def compensate_rounding(kernel: Floats, moments: Doubles, levels: int = LEVELS_OF_4, wide: int = 0) -> Floats:
    """Return a kernel `(in, out)` that `quantize_channels` rounds to itself, near in what it gives, not in its numbers.

    `moments` `(in, in)` are sums of products of its inputs. One input after another is rounded, the largest first, and
    what that changes is made up for by those that are not yet rounded. Frantar et al. (2023), GPTQ, algorithm 1. A
    channel's scale is the one of `SHARES` with the least squared error of its numbers. The first `wide` inputs are not
    rounded, and compensate for all others.
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
    """Return the kernel `(in, out)` that maps its inputs closest to the wanted outputs, drawn towards `kernel`.

    `moments` `(in, in)` are sums of products of its inputs, `products` `(in, out)` those of its inputs and the
    wanted outputs. Least squares with a `ridge`, a share of the inputs' mean square. After the idea of Li et al.
    (2025), GPTAQ.
    """
    ridge = ridge * max(float(np.diag(moments).mean()), 1e-12)
    return np.linalg.solve(moments + ridge * np.eye(len(moments)), products + ridge * kernel).astype(np.float32)


def is_rounded(kernel: Floats, levels: int = LEVELS_OF_4) -> bool:
    """Return True for a kernel `(in, out)` that `quantize_channels` rounds to itself."""
    whole, scale = quantize_channels(kernel, levels)
    return bool(np.allclose(whole * scale, kernel, rtol=1e-4, atol=0))


def rank_by_rounding(kernel: Floats, moments: Doubles, levels: int = LEVELS_OF_4) -> Integers:
    """Return the inputs of a kernel `(in, out)` by the error that rounding each causes in the output, largest first.

    `moments` are as for `compensate_rounding`. The error of each input is taken alone.
    """
    scale = _best_scales(kernel, levels)
    error = np.square(_rounded(kernel, scale, levels) - kernel).sum(axis=1)
    return np.argsort(-error * np.diag(moments), kind="stable")


def _round_rows(rest, start, end, scale, passed, levels):
    """The whole numbers of some inputs, and their errors, of which each is passed on to those that follow in them."""
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
        error = np.square(_rounded(kernel, scale, levels) - kernel).sum(axis=0)
        best, least = np.where(error < least, scale, best), np.minimum(error, least)
    return best.astype(np.float64)


def _rounded(kernel, scale, levels):
    return np.clip(np.round(kernel / scale), -levels, levels) * scale


def _raise_to_levels(codes, levels):
    """Whole numbers whose largest in each channel is `levels`, so that the channel's scale is told by it."""
    largest, channels = np.abs(codes).argmax(axis=0), np.arange(codes.shape[1])
    sign = np.where(codes[largest, channels] < 0, -1, 1)
    codes[largest, channels] = sign * levels
    return codes
