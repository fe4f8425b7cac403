"""The files that spellings are made of: text by language, and words with their frequencies."""

from __future__ import annotations

from collections.abc import Sequence

from ..data.corpus import named_file, read_corpus
from ..errors import InputError
from ..system.types import File
from ..words.word_list import read_words


def read_texts(files: Sequence[File]) -> dict[str, list[str]]:
    """Return `{language: texts}` of `language=FILE`. Raises `InputError` without any, `DataError` for an empty one."""
    if not files:
        raise InputError("--text: no text to learn from; give some as it is written, language=FILE such as de=news.txt")
    return read_corpus(files)


def read_word_lists(files: Sequence[File]) -> dict[str, dict[str, float]]:
    """Return `{language: {word: frequency}}` of `language=FILE`, of a language all of its files."""
    lists: dict[str, list[File]] = {}
    for language, path in map(named_file, files):
        lists.setdefault(language, []).append(path)
    return {language: read_words(paths) for language, paths in lists.items()}
