"""Two encoders' scores on the same questions: the difference, how sure it is, how large, and what would have shown."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import TypeAlias

import numpy as np
from numpy.typing import ArrayLike

from ..errors import InputError
from ..system.types import Integers, Json
from .mcnemar import holm, mcnemar_p
from .resampling import bootstrap, detectable, effect_size, sign_flip_p

# The row that pools a task's languages.
ALL = "all"
# Metrics whose scores of a question are 0 or 1.
BINARY = ("p@1", "em")
# A language's (ids `(q,)`, scores of a `(q,)`, scores of b `(q,)`).
Pair: TypeAlias = tuple[Sequence[str], ArrayLike, ArrayLike]


@dataclass(frozen=True)
class PairedComparison:
    """Two encoders' scores of a metric on the same questions.

    - `a`, `b`, `difference`: the means and a - b; `low`, `high`: its 95 % interval (`resampling.bootstrap`)
    - `effect`, `effect_low`, `effect_high`: d_z (`resampling.effect_size`), None where it is infinite
    - `questions`, `clusters` (ids), `only_a`, `only_b`: on how many questions a, or b, has the higher score
    - `test`: "mcnemar" for the metrics p@1 and em of one language, whose ids occur once each; else "sign-flip"
    - `p`, `p_holm`, `significant` (p_holm < level): Holm (1979) over the language rows of all tasks together; the
      rows "all" are a family of their own
    - `detectable`: the smallest true difference that shows in 80 % of such test sets at level / (tests in the
      family); None where no deviation was seen (`resampling.detectable`)
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


# By part of the tasks, then by language.
Comparisons: TypeAlias = dict[str, dict[str, PairedComparison]]


def as_dict(comparisons: Comparisons) -> dict[str, Json]:
    """Plain values, as `--json` writes them."""
    return {part: {name: asdict(row) for name, row in rows.items()} for part, rows in comparisons.items()}


def compare_scores(
    tasks: Mapping[str, Mapping[str, Pair]],
    metric: str,
    level: float = 0.05,
    draws: int = 10_000,
    seed: int = 0,
    progress: Callable[[], None] | None = None,
) -> Comparisons:
    """`{task: {language: PairedComparison, ..., "all": …}}` from `{task: {language: (ids, a, b)}}`.

    `ids`: `(q,)` str; `a`, `b`: float `(q,)`, each question's score under the two encoders. "all" pools the languages
    of a task that has more than one, its questions grouped by id.

    Every row takes the same seed, so that none depends on which others there are but in `p_holm` and `detectable`.
    Raises `InputError` for empty lists, lengths that differ, scores that are no numbers (of `BINARY` ones other than 0
    and 1), a language called "all", and too few draws for so many tests.
    """
    pairs = {(task, name): _checked(task, name, pair, metric) for task in tasks for name, pair in tasks[task].items()}
    pooled = {(task, ALL): _pooled(tasks[task]) for task in tasks if len(tasks[task]) > 1}
    compared: Comparisons = {task: {} for task in tasks}
    for family in (pairs, pooled):
        require_draws(draws, len(family), level)
        rows = {}
        for key, pair in family.items():
            ids, a, b = map(np.asarray, pair)
            rows[key] = _row(ids, a, b, _test(key[1], pair, metric), level / len(family), draws, seed)
            if progress:
                progress()
        corrected = holm([row["p"] for row in rows.values()])
        for ((task, name), row), p_holm in zip(rows.items(), corrected, strict=True):
            compared[task][name] = PairedComparison(**row, p_holm=p_holm, significant=bool(p_holm < level))
    return compared


def comparisons(tasks: Mapping[str, Mapping[str, Pair]]) -> int:
    """The number of rows that `compare_scores` gives, for a progress bar."""
    return sum(len(languages) + (len(languages) > 1) for languages in tasks.values())


def _checked(task, language, pair, metric):
    ids, a, b = pair
    where, lengths = f"{metric}, {task}, {language}", [len(ids), len(a), len(b)]
    if language == ALL:
        raise InputError(f'{where}: no language may be called "{ALL}", which is the row of all; rename it')
    if len(set(lengths)) > 1:
        raise InputError(f"{where}: expected one score a question, got {_counts(lengths)}; score the same questions")
    if not lengths[0]:
        raise InputError(f"{where}: there is no question to compare on; leave the language out")
    scores = np.concatenate([a, b])
    if not np.isfinite(scores).all():
        raise InputError(f"{where}: {np.sum(~np.isfinite(scores))} scores are no numbers; check both encoders' vectors")
    if metric in BINARY and not np.isin(scores, (0, 1)).all():
        raise InputError(f"{where}: expected scores 1, right, and 0, wrong, got others; name the metric by what it is")
    return pair


def _counts(lengths):
    return "{} ids, {} scores of A and {} of B".format(*lengths)


def _pooled(by_language):
    return tuple(np.concatenate(parts) for parts in zip(*by_language.values(), strict=True))


def require_draws(draws: int, tests: int, level: float = 0.05) -> None:
    """Raise `InputError` for too few.

    The least p of drawn signs is 1 / (draws + 1); times the tests it has to be able to fall below the level."""
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
        "detectable": detectable(differences, ids, level),
    }


def _finite(value):
    return value if math.isfinite(value) else None


@dataclass(frozen=True)
class Pooled:
    """Two encoders on the questions of all languages together: P@1 of `a` and `b`, `difference` a - b, and its `p`.

    `questions` counts each translation, `clusters` each id, whose translations are flipped together
    (`resampling.sign_flip_p`).
    """

    a: float
    b: float
    difference: float
    p: float
    questions: int
    clusters: int


def compare_pooled(
    ids: Mapping[str, Sequence[str]], ranks_a: Mapping[str, Integers], ranks_b: Mapping[str, Integers]
) -> Pooled:
    """The `Pooled` of two encoders' ranks, `{language: int (q,)}`; `ids` `{language: (q,)}` of the same questions."""
    every, a, b = _pooled({name: (ids[name], ranks_a[name] == 1, ranks_b[name] == 1) for name in ids})
    differences = a.astype(float) - b
    p = sign_flip_p(differences, every)
    return Pooled(float(a.mean()), float(b.mean()), float(differences.mean()), p, len(every), len(set(every.tolist())))
