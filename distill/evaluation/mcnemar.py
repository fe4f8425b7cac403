"""McNemar's test between two encoders on the same questions, corrected over languages."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass

import numpy as np

from ..system.extras import require_extra
from ..system.types import Booleans, Integers, Json

# Below this many disagreements the chi-squared approximation is poor and the exact binomial test is used.
EXACT_BELOW = 25


@dataclass(frozen=True)
class Comparison:
    """Two encoders in one language: P@1 of `a` and `b`, on how many questions one alone is right, and McNemar's p.

    `p_holm` is corrected over the languages compared with it, `significant` where it is below the level.
    """

    a: float
    b: float
    only_a: int
    only_b: int
    questions: int
    p: float
    p_holm: float
    significant: bool


def as_dict(comparisons: Mapping[str, Comparison]) -> dict[str, Json]:
    """`{language: a comparison's plain values}`, as they are written to a file."""
    return {language: asdict(comparison) for language, comparison in comparisons.items()}


def mcnemar_p(right_a: Booleans, right_b: Booleans) -> float:
    """Return the p-value that a and b are equally often right. McNemar (1947), by statsmodels.

    It is the exact binomial test where fewer than 25 questions differ, else chi-squared with continuity correction.

    Args:
        right_a: bool `(q,)`, whether a is right on each question.
        right_b: bool `(q,)`, the same questions in the same order.

    Raises:
        InputError: statsmodels is not installed.
    """
    require_significance()
    from statsmodels.stats.contingency_tables import mcnemar

    only_a, only_b = disagreements(right_a, right_b)
    return float(mcnemar([[0, only_a], [only_b, 0]], exact=only_a + only_b < EXACT_BELOW, correction=True).pvalue)


def require_significance() -> None:
    """Raise `InputError` where statsmodels, which tests of significance come from, is not installed."""
    require_extra("a test of significance", ("statsmodels",), "significance")


def disagreements(right_a: Booleans, right_b: Booleans) -> tuple[int, int]:
    """(questions that only a gets right, questions that only b gets right)."""
    right_a, right_b = np.asarray(right_a, bool), np.asarray(right_b, bool)
    return int(np.sum(right_a & ~right_b)), int(np.sum(~right_a & right_b))


def compare(
    ranks_a: Mapping[str, Integers], ranks_b: Mapping[str, Integers], level: float = 0.05
) -> dict[str, Comparison]:
    """Return the `Comparison` of each language, p corrected over them.

    `ranks_a`, `ranks_b`: `{language: int (q,)}` over the same questions.
    """
    right = {language: (ranks_a[language] == 1, ranks_b[language] == 1) for language in ranks_a}
    ps = [mcnemar_p(*pair) for pair in right.values()]
    return {
        language: Comparison(
            float(np.mean(a)), float(np.mean(b)), *disagreements(a, b), len(a), p, p_holm, bool(p_holm < level)
        )
        for (language, (a, b)), p, p_holm in zip(right.items(), ps, holm(ps), strict=True)
    }


def holm(ps: Sequence[float]) -> list[float]:
    """Return the p-values of one family of tests, corrected. Holm (1979), by statsmodels."""
    if not ps:
        return []
    require_significance()
    from statsmodels.stats.multitest import multipletests

    return [float(p) for p in multipletests(ps, method="holm")[1]]
