"""Splits: questions for training, for tuning and for the proof."""

from __future__ import annotations

from collections.abc import Mapping, Set
from pathlib import Path

import numpy as np

from ..errors import DataError
from ..settings.choices import SPLITS
from ..system.reading import read_json
from .dataset import Dataset
from .parsing.fields import as_id

SHARES = (0.7, 0.1, 0.2)


def read_splits(folder: Path, dataset: Dataset) -> dict[str, tuple[str, ...]] | None:
    """Read the question ids of each split from `splits.json`.

    A split may be missing, because it is kept elsewhere, or have none of this data set's questions.

    Args:
        folder: The folder.
        dataset: The data set.

    Returns:
        The ids by split, or None without the file.
    """
    return read_stored_splits(folder, set().union(*dataset.questions.values()))


def read_stored_splits(folder: Path, known: Set[str]) -> dict[str, tuple[str, ...]] | None:
    """Read the splits of given question ids.

    Args:
        folder: The folder.
        known: The ids.

    Returns:
        The ids by split, or None without the file.
    """
    path = folder / "splits.json"
    if not path.is_file():
        return None
    stored = _check_splits(path, read_json(path))
    return {split: tuple(id for id in stored[split] if id in known) for split in SPLITS if split in stored}


def _check_splits(path, stored):
    """Return the ids of each split. Raises `DataError` for something else than ids, and for an id that occurs twice."""
    if not isinstance(stored, dict) or not all(isinstance(ids, list) for ids in stored.values()):
        raise DataError(f'{path}: expected an object of id lists, such as {{"train": [], "dev": [], "test": []}}')
    seen = {}
    for split, ids in stored.items():
        for value in ids:
            id = as_id(value)
            if id is None:
                raise DataError(
                    f"{path}: expected question ids, strings or whole numbers, under {split!r}, got {value!r}"
                )
            if id in seen:
                place = f"twice in {split}" if seen[id] == split else f"in both {seen[id]} and {split}"
                raise DataError(f"{path}: question {id} is {place}")
            seen[id] = split
    return {split: [id for id, of in seen.items() if of == split] for split in stored}


def draw_splits(dataset: Dataset, by: str = "question", seed: int = 0) -> dict[str, tuple[str, ...]]:
    """Draw splits of 0.7, 0.1 and 0.2 of the question ids.

    Args:
        dataset: The data set.
        by: "question", or "document" to keep a document's questions together.
        seed: The random seed.

    Returns:
        The ids by split.
    """
    questions = (question for known in dataset.questions.values() for question in known.values())
    return divide_ids({question.id: dataset.passages[question.passage].document for question in questions}, by, seed)


def divide_ids(
    documents: Mapping[str, int | tuple[int, int]], by: str = "question", seed: int = 0
) -> dict[str, tuple[str, ...]]:
    """Draw splits as `draw_splits` does, given each question id's document.

    Args:
        documents: The document of each question id.
        by: "question" or "document".
        seed: The random seed.

    Returns:
        The ids by split.
    """
    groups = _groups(documents, by)
    order = np.random.default_rng(seed).permutation(len(groups))
    ends = np.round(np.cumsum(SHARES) * len(groups)).astype(int)
    starts = (0, *ends[:-1])
    return {
        split: tuple(id for i in order[start:end] for id in groups[i])
        for split, start, end in zip(SPLITS, starts, ends, strict=True)
    }


def _groups(documents, by):
    if by == "question":
        return [[id] for id in sorted(documents)]
    grouped = {}
    for id in sorted(documents):
        grouped.setdefault(documents[id], []).append(id)
    return [grouped[document] for document in sorted(grouped)]
