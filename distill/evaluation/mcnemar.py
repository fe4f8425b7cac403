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
    """P@1 of two encoders in one language, and how many questions only one of them gets right.

    `p_holm` is corrected over all languages that are compared, and `significant` by the level.
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
    """Return plain values, as they are written to a file."""
    return {language: asdict(comparison) for language, comparison in comparisons.items()}


def mcnemar_p(right_a: Booleans, right_b: Booleans) -> float:
    """Return the p-value of McNemar's test (1947) that two encoders are equally often right, by statsmodels.

    It is the exact binomial test if fewer than 25 questions differ, else chi-squared with continuity correction.
    """
    require_significance()
    from statsmodels.stats.contingency_tables import mcnemar

    only_a, only_b = count_disagreements(right_a, right_b)
    return float(mcnemar([[0, only_a], [only_b, 0]], exact=only_a + only_b < EXACT_BELOW, correction=True).pvalue)


def require_significance() -> None:
    """Raise `InputError` if statsmodels, which tests of significance need, is not installed."""
    require_extra("a test of significance", ("statsmodels",), "significance")


def count_disagreements(right_a: Booleans, right_b: Booleans) -> tuple[int, int]:
    """Count the questions that only the first, and only the second, of two encoders gets right."""
    right_a, right_b = np.asarray(right_a, bool), np.asarray(right_b, bool)
    return int(np.sum(right_a & ~right_b)), int(np.sum(~right_a & right_b))


def compare(
    ranks_a: Mapping[str, Integers], ranks_b: Mapping[str, Integers], level: float = 0.05
) -> dict[str, Comparison]:
    """Compare two encoders in each language, with p-values corrected over all languages.

    Args:
        ranks_a: `{language: ranks}` of the first encoder, integer arrays `(q,)`.
        ranks_b: `{language: ranks}` of the second encoder, on the same questions.
        level: Level of significance.

    Returns:
        `{language: comparison}`.

    Raises:
        InputError: If statsmodels is not installed.

    Example:
        The first encoder is right in all of 12 questions, the second in 5 of them.

        >>> import distill, numpy
        >>> first, second = numpy.ones(12), numpy.array([1] * 5 + [2] * 7)
        >>> compared = distill.compare({"de": first}, {"de": second})["de"]
        >>> compared.only_a, compared.only_b, compared.p
        (7, 0, 0.015625)
    """
    right = {language: (ranks_a[language] == 1, ranks_b[language] == 1) for language in ranks_a}
    ps = [mcnemar_p(*pair) for pair in right.values()]
    return {
        language: Comparison(
            float(np.mean(a)), float(np.mean(b)), *count_disagreements(a, b), len(a), p, p_holm, bool(p_holm < level)
        )
        for (language, (a, b)), p, p_holm in zip(right.items(), ps, correct_holm(ps), strict=True)
    }


def correct_holm(ps: Sequence[float]) -> list[float]:
    """Return the p-values of one family of tests, corrected by Holm's method (1979), by statsmodels."""
    if not ps:
        return []
    require_significance()
    from statsmodels.stats.multitest import multipletests

    return [float(p) for p in multipletests(ps, method="holm")[1]]
