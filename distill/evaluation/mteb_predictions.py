"""Two encoders' rankings as mteb keeps them (`prediction_folder`), compared question by question without either."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TypeAlias

import numpy as np

from ..errors import DataError, InputError
from ..system.files import seen
from ..system.progress import say
from ..system.progress import task as progress_of
from ..system.reading import read_json
from ..system.types import Booleans, Doubles, File, Json
from .bias.lareqa import target_scores
from .paired import Comparisons, Pair, compare_scores, comparisons, require_draws

# Ends of the files' names, which begin with the task's.
PREDICTIONS, RELEVANT = "_predictions.json", "_relevant.json"
# The key of a file of predictions that is no subset.
MODEL = "mteb_model_meta"
# Of each question, documents with their scores, or their grades.
Rankings: TypeAlias = dict[str, dict[str, float]]
# By (task with its split, subset).
Parts: TypeAlias = dict[tuple[str, str], Rankings]


def is_predictions(source: File) -> bool:
    """Return True for a folder that `mteb.evaluate(…, prediction_folder=…)` wrote."""
    return Path(source).is_dir() and bool(seen(source, f"*{PREDICTIONS}"))


def read_parts(folder: File, end: str) -> Parts:
    """Return the rankings in a folder's files that end in `PREDICTIONS`, or the grades in those that end in `RELEVANT`.

    Raises `DataError` naming file and place for what mteb does not write of a retrieval task.
    """
    paths = seen(folder, f"*{end}")
    if not paths:
        raise DataError(f"{folder}: no *{end} in it")
    return {
        (f"{path.name.removesuffix(end)} {split}", subset): _rankings(f"{path}: {subset}, {split}", rankings)
        for path in paths
        for subset, splits in _mapping(path, read_json(path)).items()
        if subset != MODEL
        for split, rankings in _mapping(f"{path}: {subset}", splits).items()
    }


def _mapping(place, value) -> dict[str, Json]:
    if not isinstance(value, dict):
        raise DataError(f"{place}: expected an object, as mteb writes of a retrieval task, got {type(value).__name__}")
    return value


def _rankings(place, value) -> Rankings:
    rankings = {id: _mapping(f"{place}, question {id}", of) for id, of in _mapping(place, value).items()}
    for id, of in rankings.items():
        for document, number in of.items():
            if type(number) not in (int, float) or not math.isfinite(number):
                raise DataError(f"{place}, question {id}, document {document}: expected a number, got {number!r}")
    return rankings


def compare_predictions(
    a: File, b: File, relevant: File, metrics: Sequence[str], draws: int = 10_000, seed: int = 0
) -> dict[str, Comparisons]:
    """Compare two encoders question by question by the rankings that mteb keeps of them.

    A right document that is not in a ranking, of which mteb keeps the first 1,000, is ranked nowhere; ties count
    against. Parts that one folder alone has are told and left out.

    Args:
        a: a folder of `mteb.evaluate(…, prediction_folder=…)`.
        b: such a folder of another encoder.
        relevant: the folder that `distill.mteb.save_relevant` wrote to.
        metrics: p@k, mrr@k, ndcg@k or map.
        draws: of a sign-flip test and of an interval.
        seed: of the draws.

    Returns:
        `{metric: {task and split: {subset: PairedComparison, ..., "all": …}}}`.

    Raises:
        DataError: where no part is in both, a file of right documents is missing, or a question of it.
        InputError: for a folder without predictions, too few draws, or a metric of what mteb does not keep.
    """
    if others := [folder for folder in (a, b) if not is_predictions(folder)]:
        raise InputError(f"{others[0]}: no *{PREDICTIONS} in it; mteb.evaluate(…, prediction_folder=…) writes them")
    if counted := [metric for metric in metrics if metric.startswith("r@")]:
        raise InputError(f"{counted[0]} counts the words of passages, which mteb's predictions do not have")
    folders = [(folder, read_parts(folder, PREDICTIONS)) for folder in (a, b)]
    right = read_parts(relevant, RELEVANT)
    keys = _common(folders)
    require_draws(draws, len(keys))
    for key in keys:
        _require_questions(key, folders, relevant, right)
    pairs = {metric: _pairs(keys, folders, right, metric) for metric in metrics}
    with progress_of(f"compare {a} with {b}", sum(map(comparisons, pairs.values()))) as advance:
        return {
            metric: compare_scores(parts, metric, draws=draws, seed=seed, progress=advance)
            for metric, parts in pairs.items()
        }


def _common(folders):
    """The parts that are in both folders, in the first one's order."""
    (a, first), (b, second) = folders
    keys = [key for key in first if key in second]
    if not keys:
        parts = [f"{folder} of {_named(parts)}" for folder, parts in folders]
        raise DataError(f"{' and '.join(parts)}: no task, split and subset in common; evaluate both models on one task")
    for folder, parts in folders:
        if alone := [key for key in parts if key not in keys]:
            say(f"{folder} alone has {_named(alone)}: left out")
    return keys


def _named(keys):
    return ", ".join(f"{task} {subset}" for task, subset in keys)


def _require_questions(key, folders, relevant, right):
    """Raise `DataError` unless the part's questions are the same in both folders and in the file of right documents."""
    if key not in right:
        raise DataError(f"{relevant}: nothing of {_named([key])} in it; write it with distill.mteb.save_relevant")
    for folder, parts in folders:
        lacking, unknown = right[key].keys() - parts[key].keys(), parts[key].keys() - right[key].keys()
        # mteb asks no question that has no right document.
        lacking = {id for id in lacking if right[key][id]}
        if lacking or unknown:
            problem = "has no ranking of" if lacking else "ranks, and not among those with right documents,"
            number, example = len(lacking or unknown), min(lacking or unknown)
            raise DataError(f"{folder}: {_named([key])}: {problem} {number} questions, such as {example}")


def _pairs(keys, folders, right, metric) -> dict[str, dict[str, Pair]]:
    pairs: dict[str, dict[str, Pair]] = {}
    for task, subset in keys:
        grades = {id: of for id, of in right[task, subset].items() if any(grade > 0 for grade in of.values())}
        a, b = (question_scores(parts[task, subset], grades, metric) for _, parts in folders)
        pairs.setdefault(task, {})[subset] = (list(grades), a, b)
    return pairs


def question_scores(rankings: Mapping[str, Mapping[str, float]], grades: Rankings, metric: str) -> Doubles:
    """Return the score of each question of `grades`, in order, float `(q,)`; grades above 0 are right, all alike.

    p@k and mrr@k are of the best right document, ndcg@k and map of all (`target_scores`).
    """
    rows = [_wrong_above(rankings[id], [name for name, grade in of.items() if grade > 0]) for id, of in grades.items()]
    above = np.full((len(rows), max(map(len, rows))), np.inf)
    keep: Booleans = np.zeros(above.shape, dtype=bool)
    for place, row in enumerate(rows):
        above[place, : len(row)], keep[place, : len(row)] = row, True
    return target_scores(above, keep, metric)


def _wrong_above(ranking, right):
    """How many wrong documents are not below each right one; inf above one that is not ranked."""
    wrong = np.sort([score for name, score in ranking.items() if name not in right])
    return [len(wrong) - np.searchsorted(wrong, ranking[name]) if name in ranking else np.inf for name in right]
