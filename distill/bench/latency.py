"""Milliseconds of many calls as few figures, with intervals over the questions that were asked."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from numpy.typing import NDArray

from ..system.types import Json

PERCENTILES = {"median_ms": 50, "p90_ms": 90, "p95_ms": 95, "p99_ms": 99}
CONFIDENCE = 0.95
RESAMPLES, BLOCK = 1000, 50
# Float64 `(rounds, questions)`.
Milliseconds = NDArray[np.float64]


def summarise(milliseconds: Milliseconds, seed: int = 0) -> dict[str, Json]:
    """Return figures over all calls.

    These are the percentiles, `mean_ms`, `std_ms` and `intervals`: of each percentile the 95 % bootstrap interval.
    """
    values = np.percentile(milliseconds, list(PERCENTILES.values()))
    return {
        **dict(zip(PERCENTILES, values.tolist(), strict=True)),
        "mean_ms": float(milliseconds.mean()),
        "std_ms": float(milliseconds.std()),
        "intervals": intervals(milliseconds, seed),
    }


def intervals(milliseconds: Milliseconds, seed: int = 0) -> dict[str, list[float]]:
    """Return `{percentile: [low, high]}` by percentile bootstrap; a question that is drawn brings all its rounds."""
    random, questions = np.random.default_rng(seed), milliseconds.shape[1]
    # Many draws at a time, and never all of them in memory.
    blocks = (random.integers(questions, size=(BLOCK, questions)) for _ in range(RESAMPLES // BLOCK))
    drawn = [np.percentile(milliseconds[:, rows], list(PERCENTILES.values()), axis=(0, 2)) for rows in blocks]
    ends = np.percentile(np.hstack(drawn), [50 * (1 - CONFIDENCE), 50 * (1 + CONFIDENCE)], axis=1)
    return dict(zip(PERCENTILES, ends.T.tolist(), strict=True))


def by_language(milliseconds: Milliseconds, languages: Sequence[str], seed: int = 0) -> dict[str, Json]:
    """Return `{language: summary}`; `languages` names the language of each column."""
    columns = np.array(languages)
    return {
        language: {
            "questions": int(np.sum(columns == language)),
            **summarise(milliseconds[:, columns == language], seed),
        }
        for language in dict.fromkeys(languages)
    }
