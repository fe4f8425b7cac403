"""Load a data set by the name that a user gives, with its splits."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from ..errors import DataError
from ..settings.sections import DataSettings
from ..system.progress import say
from ..system.text import all_same, count_copies
from ..system.types import File
from .dataset import Dataset, require_questions, require_trainable_data


def load_settings_data(
    data: DataSettings, seed: int, needed: Sequence[str] = (), to_train: bool = True, with_lines: bool = False
) -> Dataset:
    """Load the data set that the settings name; with lines of text learned besides, it needs no train questions.

    To train it needs questions in the `needed` languages and those of the settings, by default all.
    """
    dataset = read_dataset(data.dataset, data.document_language, data.split_by, seed)
    languages = (*needed, *data.languages) if data.languages else ()
    return require_trainable_data(dataset, with_lines, languages) if to_train else dataset


def choose_data(
    data: DataSettings, seed: int, needed: Sequence[str] = (), to_train: bool = True, with_lines: bool = False
) -> tuple[Dataset, tuple[str, ...]]:
    """Load the data set and choose the languages of the questions. Raises `DataError` if a language is missing."""
    dataset = load_settings_data(data, seed, needed, to_train, with_lines)
    languages = tuple(dict.fromkeys(data.languages)) or dataset.languages
    dataset.require([*needed, *languages])
    return dataset, languages


def load_dataset(source: File, document_language: str = "en", split_by: str = "question", seed: int = 0) -> Dataset:
    """Load a data set to train on.

    Args:
        source: `sample`, or a folder in one of the forms that `read_dataset` knows.
        document_language: The language of the documents.
        split_by: "question" or "document", if the folder has no `splits.json`.
        seed: The seed of the splits.

    Returns:
        The data set.

    Raises:
        DataError: If it cannot be read, or has no train or no dev.

    Example:
        >>> import distill
        >>> distill.load_dataset("sample").document_language
        'en'
    """
    return require_trainable_data(read_dataset(source, document_language, split_by, seed))


def read_dataset(source: File, document_language: str = "en", split_by: str = "question", seed: int = 0) -> Dataset:
    """Read `sample`, or a folder with `documents.jsonl`, SQuAD files `{lang}.json`, or a corpus of `corpora`.

    A `splits.json` in the folder decides the splits, of which one may be empty; otherwise they are drawn, 0.7/0.1/0.2.
    `split_by` is "question" or "document". Raises `DataError` if a file is malformed, with its place.
    """
    from ..system.hashes import hash_files
    from .corpora import hash_files_beside
    from .splits import draw_splits, drop_copies, move_copies, read_splits

    folder, dataset = _read(source, document_language)
    if all_same(dataset.first_of):
        say(f"{dataset.name}: all passages are the same text; a rank says nothing, and ties count against the encoder")
    elif copies := count_copies(dataset.first_of):
        say(f"{dataset.name}: {copies} passages repeat an earlier one; where a passage is right, so are its copies")
    stored = read_splits(folder, dataset)
    if stored is None:
        splits = move_copies(dataset, draw_splits(dataset, split_by, seed))
    else:
        splits = drop_copies(dataset, stored)
    return require_questions(replace(dataset, splits=splits, files={**hash_files(folder), **hash_files_beside(folder)}))


def load_dev(
    source: str, document_language: str, languages: Sequence[str], needed: Sequence[str] = ()
) -> Dataset | None:
    """Load the data set of `--dev-dataset`, with its dev questions, or all if it has no splits, as the split dev."""
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
    """Read the folder of a data set, without splits."""
    from . import readers
    from .corpora import find_corpus_reader

    folder = readers.find(source)
    if (folder / "documents.jsonl").is_file():
        return folder, readers.read_jsonl_folder(folder, document_language)
    return folder, (find_corpus_reader(folder) or readers.read_squad_folder)(folder, document_language)
