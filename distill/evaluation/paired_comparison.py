"""Two encoders' scores on the same questions: the difference, its uncertainty, its size, and what could be detected."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass
from itertools import combinations
from typing import TypeAlias

import numpy as np
from numpy.typing import ArrayLike

from ..errors import InputError
from ..system.types import Integers, Json
from .mcnemar import correct_holm, mcnemar_p
from .resampling import bootstrap, detectable_difference, effect_size, sign_flip_p

# The name of the row that pools the languages of a task.
ALL = "all"
# Metrics that give a question 0 or 1.
BINARY = ("p@1", "em")
# The ids, the scores of a and the scores of b of one language, each (q,).
Pair: TypeAlias = tuple[Sequence[str], ArrayLike, ArrayLike]


@dataclass(frozen=True)
class PairedComparison:
    """Two encoders' scores of a metric on the same questions.

    Attributes:
        low: Lower end of the 95 % interval of the difference (`resampling.bootstrap`).
        high: Upper end of that interval.
        effect: Effect size d_z (`resampling.effect_size`); None if it is infinite.
        effect_low: Lower end of the interval of the effect size.
        effect_high: Upper end of the interval of the effect size.
        test: "mcnemar" for p@1 and em of one language whose ids occur once each, else "sign-flip".
        detectable: The smallest true difference that shows in 80 % of such test sets at level / (tests in the family);
            None if no deviation was seen.
        p_holm: The p-value corrected by Holm's method (1979) over the languages of all tasks together; the rows "all"
            are a family of their own.
        significant: True if the corrected p-value is below the level.
    """

    a: float
    b: float
    difference: float
    low: float
    high: float
    effect: float | None
    effect_low: float | None
    effect_high: float | None
    questions: int
    clusters: int
    only_a: int
    only_b: int
    test: str
    p: float
    detectable: float | None
    p_holm: float
    significant: bool


# {part of a task: {language: comparison}}.
Comparisons: TypeAlias = dict[str, dict[str, PairedComparison]]


def as_dict(compared: Comparisons) -> dict[str, Json]:
    """Return plain values, as `--json` writes them."""
    return {part: {name: asdict(row) for name, row in rows.items()} for part, rows in compared.items()}


def compare_scores(
    tasks: Mapping[str, Mapping[str, Pair]],
    metric: str,
    level: float = 0.05,
    draws: int = 10_000,
    seed: int = 0,
    progress: Callable[[], None] | None = None,
) -> Comparisons:
    """Compare the scores of two encoders in each language and, under "all", over all languages of a task.

    The row "all" is there for tasks in more than one language; it groups the questions by id. All rows use the same
    seed, so a row depends on the others only in `p_holm` and `detectable`. Returns `{task: {language: PairedComparison,
    ..., "all": …}}`. Raises `InputError` if lists are empty or differ in length, scores are no numbers, scores of a
    binary metric are not 0 or 1, a language is called "all", or there are too few draws for the number of tests.

    Args:
        tasks: `{task: {language: (ids, a, b)}}`. `ids` are strings `(q,)`; `a` and `b` are float arrays `(q,)`, the
            score of each question under the two encoders.
        draws: Number of draws of a sign-flip test and of an interval.
    """
    pairs = {
        (task, name): _check_pair(task, name, pair, metric) for task in tasks for name, pair in tasks[task].items()
    }
    pooled = {(task, ALL): _pool_languages(tasks[task]) for task in tasks if len(tasks[task]) > 1}
    compared: Comparisons = {task: {} for task in tasks}
    for family in (pairs, pooled):
        named = {(task, name): (name, pair) for (task, name), pair in family.items()}
        for (task, name), row in _compare_family(named, metric, level, draws, seed, progress).items():
            compared[task][name] = row
    return compared


def _compare_family(pairs, metric, level, draws, seed, progress=None):
    """Return the comparison of each `(language, pair)` by its key, with Holm's correction over all of them."""
    require_draws(draws, len(pairs), level)
    tested = {}
    for key, (language, pair) in pairs.items():
        ids, a, b = map(np.asarray, pair)
        tested[key] = _row(ids, a, b, _test(language, pair, metric), level / len(pairs), draws, seed)
        if progress:
            progress()
    corrected = correct_holm([row["p"] for row in tested.values()])
    return {
        key: PairedComparison(**row, p_holm=p_holm, significant=bool(p_holm < level))
        for (key, row), p_holm in zip(tested.items(), corrected, strict=True)
    }


def compare_rows(
    rows: Mapping[str, Mapping[str, Mapping[str, float]]],
    metric: str,
    level: float = 0.05,
    draws: int = 10_000,
    seed: int = 0,
) -> dict[tuple[str, str], PairedComparison]:
    """Compare each two of `{row: {language: {question id: score}}}`, by the questions of all languages that both have.

    The signs of a question's translations flip together; McNemar's test is that of a binary metric in one language.
    Holm's method corrects over all pairs of the table. Raises `InputError` if two rows have no language in common, or
    other questions in one.
    """
    pairs = {(one, other): _pair_rows(one, rows[one], other, rows[other]) for one, other in combinations(rows, 2)}
    return _compare_family(pairs, metric, level, draws, seed)


def _pair_rows(one, scores_a, other, scores_b):
    """Return the language, or `ALL`, that two rows share, and the ids and the scores of both."""
    languages = [language for language in scores_a if language in scores_b]
    odd = [language for language in languages if scores_a[language].keys() != scores_b[language].keys()]
    if odd or not languages:
        what = f"other questions in {odd[0]}" if odd else "no language in common"
        raise InputError(f"{one} and {other}: they have {what}; measure both on the same questions")
    questions = [(language, id) for language in languages for id in scores_a[language]]
    a, b = ([scores[language][id] for language, id in questions] for scores in (scores_a, scores_b))
    language = ALL if len(languages) > 1 else languages[0]
    return language, _check_pair(f"{one} and {other}", languages[0], ([id for _, id in questions], a, b), "")


def count_comparisons(tasks: Mapping[str, Mapping[str, Pair]]) -> int:
    """Return the number of rows that `compare_scores` gives, for a progress bar."""
    return sum(len(languages) + (len(languages) > 1) for languages in tasks.values())


def _check_pair(task, language, pair, metric):
    ids, a, b = pair
    where, lengths = f"{metric}, {task}, {language}", [len(ids), len(a), len(b)]
    if language == ALL:
        raise InputError(f'{where}: no language may be called "{ALL}", which names the row of all languages; rename it')
    if len(set(lengths)) > 1:
        raise InputError(f"{where}: expected one score per question, got {_counts(lengths)}; score the same questions")
    if not lengths[0]:
        raise InputError(f"{where}: there is no question to compare on; leave the language out")
    scores = np.concatenate([a, b])
    if not np.isfinite(scores).all():
        raise InputError(f"{where}: {np.sum(~np.isfinite(scores))} scores are no numbers; check both encoders' vectors")
    if metric in BINARY and not np.isin(scores, (0, 1)).all():
        raise InputError(
            f"{where}: expected scores of 1 (right) and 0 (wrong), got others; give the metric another name"
        )
    return pair


def _counts(lengths):
    return "{} ids, {} scores of A and {} of B".format(*lengths)


def _pool_languages(by_language):
    return tuple(np.concatenate(parts) for parts in zip(*by_language.values(), strict=True))


def require_draws(draws: int, tests: int, level: float = 0.05) -> None:
    """Raise `InputError` if there are too few draws for a test to become significant.

    The least p-value of drawn signs is 1 / (draws + 1). Multiplied by the number of tests it has to be able to fall
    below the level. Raises `InputError` if there are too few draws.
    """
    needed = math.ceil(tests / level)
    if draws < needed:
        raise InputError(f"{draws} draws are too few for {tests} tests at level {level:g}; take {needed} or more")


def _test(language, pair, metric):
    independent = language != ALL and len(set(pair[0])) == len(pair[0])
    return "mcnemar" if metric in BINARY and independent else "sign-flip"


def _row(ids, a, b, test, level, draws, seed):
    differences = a - b
    (low, high), (effect_low, effect_high) = bootstrap(differences, ids, draws, seed)
    return {
        "a": float(np.mean(a)),
        "b": float(np.mean(b)),
        "difference": float(np.mean(differences)),
        "low": low,
        "high": high,
        "effect": _finite(effect_size(differences, ids)),
        "effect_low": _finite(effect_low),
        "effect_high": _finite(effect_high),
        "questions": len(ids),
        "clusters": len(set(ids.tolist())),
        "only_a": int(np.sum(a > b)),
        "only_b": int(np.sum(a < b)),
        "test": test,
        "p": mcnemar_p(a == 1, b == 1) if test == "mcnemar" else sign_flip_p(differences, ids, draws, seed),
        "detectable": detectable_difference(differences, ids, level),
    }


def _finite(value):
    return value if math.isfinite(value) else None


@dataclass(frozen=True)
class PooledComparison:
    """Two encoders compared on the questions of all languages together.

    Attributes:
        a: P@1 of the first encoder.
        b: P@1 of the second encoder.
        low: Lower end of the 95 % interval of the difference, from questions drawn with all their translations.
        p: The p-value of a sign-flip test that flips all translations of a question together.
    """

    a: float
    b: float
    difference: float
    low: float
    high: float
    p: float
    questions: int
    clusters: int


def compare_pooled(
    ids: Mapping[str, Sequence[str]], ranks_a: Mapping[str, Integers], ranks_b: Mapping[str, Integers]
) -> PooledComparison:
    """Compare P@1 of two encoders on the questions of all languages together, with ids that translations share."""
    every, a, b = _pool_languages({name: (ids[name], ranks_a[name] == 1, ranks_b[name] == 1) for name in ids})
    differences = a.astype(float) - b
    interval, _ = bootstrap(differences, every)
    means = float(a.mean()), float(b.mean()), float(differences.mean())
    return PooledComparison(*means, *interval, sign_flip_p(differences, every), len(every), len(set(every.tolist())))
