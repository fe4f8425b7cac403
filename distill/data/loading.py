"""A data set, split, from what a user names."""

from .dataset import check


def dataset_of(settings):
    """The data set that a run's `Settings` name, split as they say."""
    data = settings.data
    return load_dataset(data.dataset, data.document_language, data.split_by, settings.seed)


def chosen_data(settings, needed=()):
    """The data set and the question languages asked for, all there. Raises `DataError` where one is missing."""
    dataset = dataset_of(settings)
    languages = settings.data.languages or dataset.languages
    dataset.require([*needed, *languages])
    return dataset, languages


def load_dataset(source, document_language="en", split_by="question", seed=0):
    """A `Dataset` from `sample`, a folder of SQuAD-format `{lang}.json`, or a folder with `documents.jsonl`.

    Where the folder has a `splits.json` it decides; else the split is seeded, 0.7/0.1/0.2, by question or document.
    Raises `DataError` naming file and place.
    """
    from ..system.hashes import hashes
    from . import readers
    from .splits import read_splits, seeded_splits

    folder = readers.find(source)
    read = readers.read_jsonl_folder if (folder / "documents.jsonl").is_file() else readers.read_squad_folder
    dataset = read(folder, document_language)
    splits = read_splits(folder, dataset) or seeded_splits(dataset, split_by, seed)
    dataset.splits.update(splits)
    dataset.files.update(hashes(folder))
    return check(dataset)
