"""A data set, split, from what a user names."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from ..errors import DataError
from ..settings.sections import DataSettings
from ..system.types import File
from .dataset import Dataset, checked, trainable


def dataset_of(data: DataSettings, seed: int, to_train: bool = True, with_lines: bool = False) -> Dataset:
    """The data set that the settings name, split as they and the seed say; one not `to_train` may lack a split.

    Where lines of text are learned beside it, `with_lines`, it needs no train questions.
    """
    dataset = read_dataset(data.dataset, data.document_language, data.split_by, seed)
    return trainable(dataset, with_lines) if to_train else dataset


def chosen_data(
    data: DataSettings, seed: int, needed: Sequence[str] = (), to_train: bool = True, with_lines: bool = False
) -> tuple[Dataset, tuple[str, ...]]:
    """The data set and the question languages of the settings, all there. Raises `DataError` where one is missing."""
    dataset = dataset_of(data, seed, to_train, with_lines)
    languages = data.languages or dataset.languages
    dataset.require([*needed, *languages])
    return dataset, languages


def load_dataset(source: File, document_language: str = "en", split_by: str = "question", seed: int = 0) -> Dataset:
    """A `Dataset` to train on: `read_dataset`'s. Raises `DataError` for one that has no train or no dev."""
    return trainable(read_dataset(source, document_language, split_by, seed))


def read_dataset(source: File, document_language: str = "en", split_by: str = "question", seed: int = 0) -> Dataset:
    """A `Dataset` from `sample`, or a folder: `documents.jsonl`, SQuAD-format `{lang}.json`, or a corpus of `corpora`.

    Where the folder has a `splits.json` it decides, and a split of it may be empty; else the split is seeded,
    0.7/0.1/0.2, by question or document. Raises `DataError` naming file and place.
    """
    from ..system.hashes import hashes
    from .corpora import files_beside
    from .splits import read_splits, seeded_splits

    folder, dataset = _read(source, document_language)
    stored = read_splits(folder, dataset)
    splits = seeded_splits(dataset, split_by, seed) if stored is None else stored
    return checked(replace(dataset, splits=splits, files={**hashes(folder), **files_beside(folder)}))


def load_dev(
    source: str, document_language: str, languages: Sequence[str], needed: Sequence[str] = ()
) -> Dataset | None:
    """The data set of `--dev-dataset`, with its dev questions as the split dev; None where there is no such `source`.

    Those are the dev of its `splits.json`, all of its questions where it names none. Raises `DataError` where there are
    none in a language that is `needed`, or in any of `languages`.
    """
    from .splits import read_splits

    if not source:
        return None
    folder, dataset = _read(source, document_language)
    every = dict.fromkeys(id for questions in dataset.questions.values() for id in questions)
    ids = (read_splits(folder, dataset) or {}).get("dev") or tuple(every)
    there = {language: known for language, known in dataset.questions.items() if not known.keys().isdisjoint(ids)}
    dev = replace(dataset, questions=there, splits={"dev": ids})
    dev.require(needed)
    if not set(there) & set(languages):
        raise DataError(f"{source}: no dev questions in {', '.join(languages)}, it has {', '.join(there)}")
    return dev


def _read(source, document_language):
    """The folder of a data set and what is in it, without splits."""
    from . import readers
    from .corpora import corpus_reader

    folder = readers.find(source)
    if (folder / "documents.jsonl").is_file():
        return folder, readers.read_jsonl_folder(folder, document_language)
    return folder, (corpus_reader(folder) or readers.read_squad_folder)(folder, document_language)
