"""Splits: questions for training, for tuning and for the proof."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import numpy as np

from ..errors import DataError
from ..settings.choices import SPLITS
from ..system.input_files import read_json
from ..system.progress import say
from .dataset import Dataset, normalise
from .parsing import as_id

SHARES = (0.7, 0.1, 0.2)


def read_splits(folder: Path, dataset: Dataset) -> dict[str, tuple[str, ...]] | None:
    """Read the question ids of each split from `splits.json`, or None without the file.

    A split may be missing, because it is kept elsewhere, or have none of this data set's questions.
    """
    path, known = folder / "splits.json", set().union(*dataset.questions.values())
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
    """Draw splits of 0.7, 0.1 and 0.2 of the question ids; by "document" a document's questions stay together."""
    questions = (question for known in dataset.questions.values() for question in known.values())
    return divide_ids({question.id: dataset.passages[question.passage].document for question in questions}, by, seed)


def divide_ids(
    documents: Mapping[str, int | tuple[int, int]], by: str = "question", seed: int = 0
) -> dict[str, tuple[str, ...]]:
    """Draw splits as `draw_splits` does, given each question id's document. `by` is "question" or "document"."""
    groups = _groups(documents, by)
    order = np.random.default_rng(seed).permutation(len(groups))
    ends = np.round(np.cumsum(SHARES) * len(groups)).astype(int)
    starts = (0, *ends[:-1])
    return {
        split: tuple(id for i in order[start:end] for id in groups[i])
        for split, start, end in zip(SPLITS, starts, ends, strict=True)
    }


def move_copies(dataset: Dataset, splits: Mapping[str, tuple[str, ...]]) -> dict[str, tuple[str, ...]]:
    """Put questions that are asked under several ids into one split, that of the first of these ids."""
    split_of = {id: split for split, ids in splits.items() for id in ids}
    wanted = {id: split_of[first] for id, first in find_question_copies(dataset).items() if first in split_of}
    moved = {id: to for id, to in wanted.items() if split_of.get(id, to) != to}
    if moved:
        say(
            f"{dataset.name}: questions that another id asks too were moved to its split, so that no question of test "
            f"is learned: {len(moved)} in all, such as {min(moved)}"
        )
    kept = {split: [id for id in ids if id not in moved] for split, ids in splits.items()}
    return {split: (*ids, *(id for id in sorted(moved) if moved[id] == split)) for split, ids in kept.items()}


def drop_copies(dataset: Dataset, splits: Mapping[str, tuple[str, ...]]) -> dict[str, tuple[str, ...]]:
    """Leave questions out of the other splits that test asks under another id; test itself stays as it is."""
    first_of = find_question_copies(dataset)
    tested = {first_of.get(id, id) for id in splits.get("test", ())}
    left = [id for split, ids in splits.items() if split != "test" for id in ids if first_of.get(id, id) in tested]
    if left:
        say(
            f"{dataset.name}: questions of splits.json that test asks too, under another id, are left out of train and "
            f"dev: {len(left)} in all, such as {left[0]}"
        )
    out = set(left)
    return {split: tuple(id for id in ids if id not in out) for split, ids in splits.items()}


def find_question_copies(dataset: Dataset) -> dict[str, str]:
    """Find ids whose question another id before them asks too, in any language.

    Two questions are the same if `normalise` makes them equal; a text without a letter or a digit asks nothing.
    """
    first_of: dict[str, str] = {}

    def find(id):
        while id in first_of:
            id = first_of[id]
        return id

    known: dict[tuple[str, str], str] = {}
    for language, questions in dataset.questions.items():
        for id in sorted(id for id in questions if any(map(str.isalnum, questions[id].text))):
            one, other = sorted((find(id), find(known.setdefault((language, normalise(questions[id].text)), id))))
            if one != other:
                first_of[other] = one
    return {id: find(id) for id in first_of}


def _groups(documents, by):
    if by == "question":
        return [[id] for id in sorted(documents)]
    grouped = {}
    for id in sorted(documents):
        grouped.setdefault(documents[id], []).append(id)
    return [grouped[document] for document in sorted(grouped)]
