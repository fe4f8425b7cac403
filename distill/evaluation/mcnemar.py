"""McNemar's test between two encoders on the same questions, corrected over languages."""

import numpy as np
from statsmodels.stats.contingency_tables import mcnemar
from statsmodels.stats.multitest import multipletests

# Below this many disagreements the chi-squared approximation is poor and the exact binomial test is used.
EXACT_BELOW = 25


def mcnemar_p(right_a, right_b):
    """p-value that a and b are equally often right; bool `(q,)` each, the same questions in the same order.

    McNemar (1947): exact binomial where fewer than 25 questions differ, else chi-squared with continuity correction.
    """
    only_a, only_b = disagreements(right_a, right_b)
    table = [[0, only_a], [only_b, 0]]  # the agreements do not enter the test
    return float(mcnemar(table, exact=only_a + only_b < EXACT_BELOW, correction=True).pvalue)


def disagreements(right_a, right_b):
    """(questions that only a gets right, questions that only b gets right)."""
    right_a, right_b = np.asarray(right_a, bool), np.asarray(right_b, bool)
    return int(np.sum(right_a & ~right_b)), int(np.sum(~right_a & right_b))


def compare(ranks_a, ranks_b, level=0.05):
    """By language: P@1 of a and b, who alone was right, p and Holm-corrected p over the languages.

    `ranks_a`, `ranks_b`: `{language: int (q,)}` over the same questions.
    """
    rows = {language: _row(ranks_a[language] == 1, ranks_b[language] == 1) for language in ranks_a}
    return holm(rows, level)


def holm(rows, level=0.05):
    """Add `p_holm` and `significant` to rows with `p`, one family of tests; returns them. Holm (1979)."""
    if rows:
        corrected = multipletests([row["p"] for row in rows.values()], alpha=level, method="holm")[1]
        for row, p in zip(rows.values(), corrected, strict=True):
            row.update(p_holm=float(p), significant=bool(p < level))
    return rows


def _row(right_a, right_b):
    only_a, only_b = disagreements(right_a, right_b)
    return {
        "a": float(np.mean(right_a)),
        "b": float(np.mean(right_b)),
        "only_a": only_a,
        "only_b": only_b,
        "questions": len(right_a),
        "p": mcnemar_p(right_a, right_b),
    }
