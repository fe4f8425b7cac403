"""The files of words, with their frequencies, that spellings are made of."""

from __future__ import annotations

from collections.abc import Sequence

from ..data.corpus import parse_named_file
from ..system.types import File
from ..words.word_list import read_words


def read_word_lists(files: Sequence[File]) -> dict[str, dict[str, float]]:
    """Return `{language: {word: frequency}}` of `language=FILE`, of a language all of its files."""
    lists: dict[str, list[File]] = {}
    for language, path in map(parse_named_file, files):
        lists.setdefault(language, []).append(path)
    return {language: read_words(paths) for language, paths in lists.items()}
