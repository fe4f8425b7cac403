"""Comparison of two encoders by the rankings that mteb keeps in a `prediction_folder`, without running either."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TypeAlias

import numpy as np

from ..errors import DataError, InputError
from ..evaluation.paired_comparison import Comparisons, Pair, compare_scores, count_comparisons, require_draws
from ..evaluation.tasks.task import ANSWER_METRICS, RECALL
from ..retrieval.exact import ROUNDING
from ..system.files import list_visible
from ..system.input_files import read_json
from ..system.progress import say
from ..system.progress import task as progress_of
from ..system.types import Booleans, Doubles, File, Json
from .bias.lareqa import target_scores

# The names of the files begin with the name of the task and end in these.
PREDICTIONS, RELEVANT = "_predictions.json", "_relevant.json"
# The one key in a file of predictions that is no subset.
MODEL = "mteb_model_meta"
# {question id: {document id: score or grade}}.
Rankings: TypeAlias = dict[str, dict[str, float]]
# {(task with its split, subset): rankings}.
Parts: TypeAlias = dict[tuple[str, str], Rankings]


def is_predictions(source: File) -> bool:
    """Return True for a folder that `mteb.evaluate(…, prediction_folder=…)` wrote."""
    return Path(source).is_dir() and bool(list_visible(source, f"*{PREDICTIONS}"))


def read_parts(folder: File, end: str) -> Parts:
    """Read the rankings, or the grades, in the files of a folder.

    `end` is `PREDICTIONS` for rankings or `RELEVANT` for grades. Returns `{(task with its split, subset): {question id:
    {document id: score or grade}}}`.
    """
    paths = list_visible(folder, f"*{end}")
    if not paths:
        raise DataError(f"{folder}: the folder has no *{end} files")
    return {
        (f"{path.name.removesuffix(end)} {split}", subset): _rankings(f"{path}: {subset}, {split}", rankings)
        for path in paths
        for subset, splits in _mapping(path, read_json(path)).items()
        if subset != MODEL
        for split, rankings in _mapping(f"{path}: {subset}", splits).items()
    }


def _mapping(place, value) -> dict[str, Json]:
    if not isinstance(value, dict):
        raise DataError(f"{place}: expected an object, as mteb writes for a retrieval task, got {type(value).__name__}")
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

    A right document that is not among the first 1,000, which mteb keeps, has no rank; ties count against it. Parts that
    only one folder has are named in a message and left out.

    Args:
        a: Folder of `mteb.evaluate(…, prediction_folder=…)`.
        b: Such a folder of another encoder.
        relevant: Folder that `distill.papers.mteb.save_relevant` wrote to.
        metrics: Names of metrics: p@k, mrr@k, ndcg@k or map.
        draws: Number of draws of a sign-flip test and of an interval.
        seed: Seed of the draws.

    Returns:
        `{metric: {task and split: {subset: PairedComparison, ..., "all": …}}}`.

    Raises:
        DataError: If no part is in both folders, or right documents are missing.
        InputError: If a folder has no predictions, there are too few draws, or mteb's files do not support a metric.

    Example:
        >>> import distill
        >>> compared = distill.compare_predictions("predictions/a", "predictions/b", "relevant", ["p@1"], 1000)
        >>> german = compared["p@1"]["MyTask test"]["de"]
        >>> german.a, german.b
        (1.0, 0.5)
    """
    if others := [folder for folder in (a, b) if not is_predictions(folder)]:
        raise InputError(
            f"{others[0]}: the folder has no *{PREDICTIONS} files; mteb.evaluate(…, prediction_folder=…) writes them"
        )
    if other := [metric for metric in metrics if metric.startswith(RECALL) or metric in ANSWER_METRICS]:
        raise InputError(f"{other[0]}: mteb's predictions have no texts; give p@k, mrr@k, ndcg@k or map")
    folders = [(folder, read_parts(folder, PREDICTIONS)) for folder in (a, b)]
    if empty := [folder for folder, parts in folders if not parts]:
        raise DataError(f"{empty[0]}: its *{PREDICTIONS} files hold no rankings; let mteb.evaluate write them again")
    right = read_parts(relevant, RELEVANT)
    keys = _common(folders)
    require_draws(draws, len(keys))
    for key in keys:
        _require_questions(key, folders, relevant, right)
    pairs = {metric: _pairs(keys, folders, right, metric) for metric in metrics}
    with progress_of(f"compare {a} with {b}", sum(map(count_comparisons, pairs.values()))) as advance:
        return {
            metric: compare_scores(parts, metric, draws=draws, seed=seed, progress=advance)
            for metric, parts in pairs.items()
        }


def _common(folders):
    """Return the parts that are in both folders, in the order of the first."""
    (a, first), (b, second) = folders
    keys = [key for key in first if key in second]
    if not keys:
        parts = [f"{folder} of {_name_keys(parts)}" for folder, parts in folders]
        raise DataError(f"{' and '.join(parts)}: no task, split and subset in common; evaluate both models on one task")
    for folder, parts in folders:
        if alone := [key for key in parts if key not in keys]:
            say(f"left out, as only {folder} has it: {_name_keys(alone)}")
    return keys


def _name_keys(keys):
    return ", ".join(f"{task} {subset}" for task, subset in keys)


def _require_questions(key, folders, relevant, right):
    """Raise `DataError` unless a part has the same questions in both folders and in the file of right documents."""
    if not any(grade > 0 for of in right.get(key, {}).values() for grade in of.values()):
        raise DataError(
            f"{relevant}: the folder has no right document for {_name_keys([key])}; "
            "write it with distill.papers.mteb.save_relevant"
        )
    for folder, parts in folders:
        lacking, unknown = right[key].keys() - parts[key].keys(), parts[key].keys() - right[key].keys()
        # mteb leaves out questions without a right document.
        lacking = {id for id in lacking if right[key][id]}
        if lacking or unknown:
            problem = "has no ranking of" if lacking else "ranks, and not among those with right documents,"
            number, example = len(lacking or unknown), min(lacking or unknown)
            raise DataError(f"{folder}: {_name_keys([key])}: {problem} {number} questions, such as {example}")


def _pairs(keys, folders, right, metric) -> dict[str, dict[str, Pair]]:
    pairs: dict[str, dict[str, Pair]] = {}
    for task, subset in keys:
        grades = {id: of for id, of in right[task, subset].items() if any(grade > 0 for grade in of.values())}
        a, b = (question_scores(parts[task, subset], grades, metric) for _, parts in folders)
        pairs.setdefault(task, {})[subset] = (list(grades), a, b)
    return pairs


def question_scores(rankings: Mapping[str, Mapping[str, float]], grades: Rankings, metric: str) -> Doubles:
    """Return the score of each question of `grades`, in order: a float array `(q,)`.

    p@k and mrr@k count the best right document, ndcg@k and map count all of them. All grades above 0 are right and
    count alike.

    Args:
        rankings: `{question id: {document id: score}}`.
        grades: `{question id: {document id: grade}}`.
        metric: p@k, mrr@k, ndcg@k or map.
    """
    rows = [_wrong_above(rankings[id], [name for name, grade in of.items() if grade > 0]) for id, of in grades.items()]
    above = np.full((len(rows), max(map(len, rows))), np.inf)
    keep: Booleans = np.zeros(above.shape, dtype=bool)
    for place, row in enumerate(rows):
        above[place, : len(row)], keep[place, : len(row)] = row, True
    return target_scores(above, keep, metric)


def _wrong_above(ranking, right):
    """Count the wrong documents that are not below each right one; inf for a right one that has no rank."""
    wrong = np.sort([score for name, score in ranking.items() if name not in right])
    # Relative, as the scores of any model may be small.
    least = {name: ranking[name] - ROUNDING * abs(ranking[name]) for name in right if name in ranking}
    return [len(wrong) - np.searchsorted(wrong, least[name]) if name in least else np.inf for name in right]
