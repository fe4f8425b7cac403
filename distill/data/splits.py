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
    """`{split: (question id, …)}` from `splits.json`, or None where there is none.

    A split may be absent, sealed elsewhere, or hold none of this data set's questions.
    """
    return stored_splits(folder, set().union(*dataset.questions.values()))


def stored_splits(folder: Path, known: Set[str]) -> dict[str, tuple[str, ...]] | None:
    """`read_splits` of the question ids `known`."""
    path = folder / "splits.json"
    if not path.is_file():
        return None
    stored = _checked(path, read_json(path))
    return {split: tuple(id for id in stored[split] if id in known) for split in SPLITS if split in stored}


def _checked(path, stored):
    """The ids of each split. Raises `DataError` for what is none, and for one that is there twice."""
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


def seeded_splits(dataset: Dataset, by: str = "question", seed: int = 0) -> dict[str, tuple[str, ...]]:
    """0.7/0.1/0.2 of the question ids, shuffled with `seed`; `by="document"` keeps a document's questions together."""
    questions = (question for known in dataset.questions.values() for question in known.values())
    return divided({question.id: dataset.passages[question.passage].document for question in questions}, by, seed)


def divided(
    documents: Mapping[str, int | tuple[int, int]], by: str = "question", seed: int = 0
) -> dict[str, tuple[str, ...]]:
    """`seeded_splits` of `{question id: document}`."""
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
