"""The files and folders that settings name: told by the fields of the settings, whatever is read of them."""

from __future__ import annotations

from collections.abc import Callable, Container, Iterator
from pathlib import Path

from ..data.corpus import named_file
from ..data.descriptions import own_text_files
from ..data.more_questions import named_source
from ..data.readers import SAMPLE, SHIPPED, find
from ..evaluation.translators import folders_of
from ..settings.fields import Names
from ..settings.sections import Settings, Value
from ..settings.store import walk
from ..system.files import usable_path
from .kinds import folder_of


def named_paths(settings: Settings, kinds: Container[Names] = tuple(Names)) -> Iterator[tuple[str, Path]]:
    """Yield (name of a setting, path) of every file and folder, of these kinds, that the settings name.

    An encoder that is no folder, such as `muse`, has no path. Raises what the readers of a value raise.
    """
    for name, section, item in walk(settings):
        value = getattr(section, item.name) if item.metadata["names"] in kinds else None
        if item.metadata["names"] is Names.OWN_TEXT:
            paths = own_text_files(find(settings.data.dataset)) if value else []
        else:
            paths = READERS[item.metadata["names"]](value) if value else []
        for path in paths:
            yield name, path


def named_texts(settings: Settings) -> list[tuple[str, Path]]:
    """Return `[(setting, path)]` of the text and the questions that the settings name beside the data set."""
    return [(name, path) for name, path in named_paths(settings, TEXTS) if name != "data.dataset"]


def learned_texts(settings: Settings) -> list[tuple[str, Path]]:
    """Return `[(key in a card, path)]` of those that the weights of an encoder learn from."""
    keys = {name: item.metadata["card"] for name, _, item in walk(settings)}
    return [(keys[name], path) for name, path in named_paths(settings, LEARNED) if keys[name]]


def _source(source):
    path = named_source(source)[0]
    return SAMPLE if str(path) == SHIPPED else path


def _encoders(sources):
    return [folder for source in sources if (folder := folder_of(source)) is not None]


LEARNED = (Names.FILE, Names.FILES, Names.WEIGHTED_FILES, Names.LANGUAGE_FILES)
TEXTS = (*LEARNED, Names.DATASET)
# The paths in a setting's value, by what it names.
READERS: dict[Names, Callable[[Value], list[Path]]] = {
    Names.NOTHING: lambda value: [],
    Names.DATASET: lambda value: [find(value)],
    Names.ENCODER: lambda value: _encoders([value]),
    Names.ENCODERS: _encoders,
    Names.FILE: lambda value: [usable_path(value)],
    Names.FILES: lambda value: [usable_path(one) for one in value],
    Names.WEIGHTED_FILES: lambda value: [_source(one) for one in value],
    Names.LANGUAGE_FILES: lambda value: [named_file(one)[1] for one in value],
    Names.TRANSLATORS: lambda value: list(folders_of(value).values()),
}
