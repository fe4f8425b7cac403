"""Milliseconds of many calls as few figures, with intervals over the questions that were asked."""

import numpy as np

PERCENTILES = {"median_ms": 50, "p90_ms": 90, "p95_ms": 95, "p99_ms": 99}
CONFIDENCE = 0.95
RESAMPLES = 1000


def summarise(milliseconds, seed=0):
    """Figures over all calls of `milliseconds`, `(rounds, questions)`.

    Returns the percentiles, `mean_ms`, `std_ms` and `intervals`: of each percentile the 95 % bootstrap interval.
    """
    found = np.percentile(milliseconds, list(PERCENTILES.values()))
    return {
        **dict(zip(PERCENTILES, found.tolist(), strict=True)),
        "mean_ms": float(milliseconds.mean()),
        "std_ms": float(milliseconds.std()),
        "intervals": intervals(milliseconds, seed),
    }


def intervals(milliseconds, seed=0):
    """`{percentile: [low, high]}`: percentile bootstrap. The question is the unit: drawn, it brings all rounds."""
    random, questions = np.random.default_rng(seed), milliseconds.shape[1]
    drawn = [
        np.percentile(milliseconds[:, random.integers(questions, size=questions)], list(PERCENTILES.values()))
        for _ in range(RESAMPLES)
    ]
    ends = np.percentile(drawn, [50 * (1 - CONFIDENCE), 50 * (1 + CONFIDENCE)], axis=0)
    return dict(zip(PERCENTILES, ends.T.tolist(), strict=True))


def by_language(milliseconds, languages, seed=0):
    """`{language: summary}`; `languages` names the language of each column."""
    columns = np.array(languages)
    return {
        language: {
            "questions": int(np.sum(columns == language)),
            **summarise(milliseconds[:, columns == language], seed),
        }
        for language in dict.fromkeys(languages)
    }
