"""Figures of many timed calls, with intervals over the questions that were asked."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from ...system.types import Json

PERCENTILES = {"median_ms": 50, "p90_ms": 90, "p95_ms": 95, "p99_ms": 99}
CONFIDENCE = 0.95
RESAMPLES, BLOCK = 1000, 50
# A float64 array (rounds, questions).
Milliseconds = NDArray[np.float64]


def summarise(milliseconds: Milliseconds, seed: int = 0) -> dict[str, Json]:
    """Return figures over all calls.

    Args:
        milliseconds: Float array `(rounds, questions)`.

    Returns:
        The percentiles, `mean_ms`, `std_ms`, and under `intervals` the 95 % bootstrap interval of each percentile.
    """
    values = np.percentile(milliseconds, list(PERCENTILES.values()))
    return {
        **dict(zip(PERCENTILES, values.tolist(), strict=True)),
        "mean_ms": float(milliseconds.mean()),
        "std_ms": float(milliseconds.std()),
        "intervals": intervals(milliseconds, seed),
    }


def intervals(milliseconds: Milliseconds, seed: int = 0) -> dict[str, list[float]]:
    """Return percentile bootstrap intervals; a question that is drawn brings all its rounds.

    Args:
        milliseconds: Float array `(rounds, questions)`.

    Returns:
        `{percentile: [low, high]}` in milliseconds.
    """
    random, questions = np.random.default_rng(seed), milliseconds.shape[1]
    # Draws are made in blocks, so that they are never all in memory.
    blocks = (random.integers(questions, size=(BLOCK, questions)) for _ in range(RESAMPLES // BLOCK))
    drawn = [np.percentile(milliseconds[:, rows], list(PERCENTILES.values()), axis=(0, 2)) for rows in blocks]
    ends = np.percentile(np.hstack(drawn), [50 * (1 - CONFIDENCE), 50 * (1 + CONFIDENCE)], axis=1)
    return dict(zip(PERCENTILES, ends.T.tolist(), strict=True))


def by_language(milliseconds: Milliseconds, languages: Sequence[str], seed: int = 0) -> dict[str, Json]:
    """Return the figures of each language.

    Args:
        milliseconds: Float array `(rounds, questions)`.

    Returns:
        `{language: figures}`, with the number of questions.
    """
    columns = np.array(languages)
    return {
        language: {
            "questions": int(np.sum(columns == language)),
            **summarise(milliseconds[:, columns == language], seed),
        }
        for language in dict.fromkeys(languages)
    }
