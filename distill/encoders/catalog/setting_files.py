"""Find the files and folders that settings name, by the metadata of the fields."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from pathlib import Path

from ...data.contexts import DESCRIPTIONS, find_own_text
from ...data.corpus import parse_named_file
from ...data.more_questions import parse_source
from ...data.readers import SAMPLE, SHIPPED, find
from ...evaluation.translators import parse_folders
from ...settings.fields import Names
from ...settings.sections import Settings
from ...settings.store import walk
from ...system.files import usable_path
from .kinds import find_folder


@dataclass(frozen=True)
class NamedPath:
    """A path that a setting names, its kind, and its key in the card of an encoder that learns from it, or empty."""

    setting: str
    path: Path
    kind: Names
    card: str = ""


def named_paths(settings: Settings) -> list[NamedPath]:
    """Return every file and folder that the settings name, besides their data set, and that is on disk.

    An encoder without a folder, such as `muse`, has no path. Errors of the readers of values are raised.
    """
    data = settings.data
    return [
        NamedPath(name, path, item.metadata["names"], item.metadata["card"])
        for name, section, item in walk(settings)
        if name != "data.dataset"
        for path in _paths(item.metadata["names"], getattr(section, item.name), data.dataset)
    ]


def select_texts(named: Iterable[NamedPath]) -> list[NamedPath]:
    """Return the files of text and questions that are not the data set's own."""
    return [one for one in named if one.kind in TEXTS]


def select_learned(named: Iterable[NamedPath]) -> list[NamedPath]:
    """Return the files of text and questions, other than the data set's own, that weights learn from."""
    return [one for one in select_texts(named) if one.card]


def select_own(named: Iterable[NamedPath]) -> list[Path]:
    """Return the data set's own parallel text and descriptions, if they are learned."""
    return list(dict.fromkeys(one.path for one in named if one.kind in OWN))


def _paths(kind, value, dataset):
    """Return the paths that a value names; the data set's own text is in its folder."""
    if kind in OWN:
        texts = find_own_text(find(dataset)) if value else []
        return [path for path in texts if kind is Names.OWN_TEXT or path.name == DESCRIPTIONS]
    return READERS[kind](value if isinstance(value, tuple) else (value,)) if value else []


def _source(source):
    path = parse_source(source)[0]
    return SAMPLE if str(path) == SHIPPED else path


def _encoders(sources):
    return [folder for source in sources if (folder := find_folder(source)) is not None]


OWN = (Names.OWN_TEXT, Names.OWN_DESCRIPTIONS)
TEXTS = (Names.DATASET, Names.FILE, Names.FILES, Names.WEIGHTED_FILES, Names.LANGUAGE_FILES)
# The paths in a setting's value, by what it names.
READERS: dict[Names, Callable[[Sequence[str]], list[Path]]] = {
    Names.NOTHING: lambda names: [],
    Names.DATASET: lambda names: [find(one) for one in names],
    Names.ENCODER: _encoders,
    Names.ENCODERS: _encoders,
    Names.FILE: lambda names: [usable_path(one) for one in names],
    Names.FILES: lambda names: [usable_path(one) for one in names],
    Names.WEIGHTED_FILES: lambda names: [_source(one) for one in names],
    Names.LANGUAGE_FILES: lambda names: [parse_named_file(one)[1] for one in names],
    Names.TRANSLATORS: lambda names: list(parse_folders(names).values()),
}
