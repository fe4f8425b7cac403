"""Read the texts of a corpus by language, and lists of words with their frequencies."""

from __future__ import annotations

import os
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

import numpy as np

from ..errors import DataError, InputError
from ..system.files import usable_path
from ..system.input_files import read_jsonl, read_text
from ..system.types import File, Integers
from .dataset import Dataset


def read_corpus(paths: Iterable[File]) -> dict[str, list[str]]:
    """Read plain text, one text per line, or `.jsonl` files with `{"text"}` or `{"text", "language"}`.

    Args:
        paths: The files. A text's language is its own, or that of `language=path`, or the file's name without its
            ending.

    Returns:
        The texts by language.

    Raises:
        DataError: If a file has no text.

    Example:
        >>> import distill, pathlib
        >>> _ = pathlib.Path("de.txt").write_text("Die Donau mündet ins Schwarze Meer.")
        >>> distill.read_corpus(["de.txt"])
        {'de': ['Die Donau mündet ins Schwarze Meer.']}
    """
    texts: dict[str, list[str]] = {}
    for default, path in map(parse_named_file, paths):
        lines = _read_tagged(path, default) if path.suffix == ".jsonl" else [(default, line) for line in _lines(path)]
        if not lines:
            raise DataError(f"{path}: no texts in it; write one a line")
        for language, text in lines:
            texts.setdefault(language, []).append(text)
    return texts


def parse_named_file(source: File) -> tuple[str, Path]:
    """Return the language and the path of `language=path`, or of a path alone, or of a file of just that name."""
    language, equals, path = str(source).partition("=")
    if not equals or "/" in language or os.sep in language or usable_path(source).is_file():
        return usable_path(source).stem, Path(source)
    if not language.strip() or not path:
        raise InputError(f"{source}: expected a file, or language=FILE such as de=news.deu.txt")
    return language.strip(), Path(path)


def _lines(path):
    return [line.strip() for line in read_text(path).split("\n") if line.strip()]


def _read_tagged(path, default):
    texts = []
    for number, row in read_jsonl(path):
        text, language = row.get("text"), row.get("language", default)
        for key, value in (("text", text), ("language", language)):
            if not isinstance(value, str) or not value.strip():
                raise DataError(f"{path}, line {number}: expected a non-empty string under {key!r}, got {value!r}")
        texts.append((language.strip(), text))
    return texts


def sample_texts(texts: list[str], most: int, seed: int) -> list[str]:
    """Sample texts, in their order."""
    if len(texts) <= most:
        return texts
    kept = np.random.default_rng(seed).choice(len(texts), most, replace=False)
    return [texts[place] for place in np.sort(kept)]


def read_words(paths: Iterable[File]) -> dict[str, float]:
    """Read files of words: a word or phrase per line, a tab, and its share of a text, above 0 and up to 1.

    If a word occurs twice the higher share counts.
    """
    words: dict[str, float] = {}
    for path in map(Path, paths):
        rows = [row for row in enumerate(read_text(path).split("\n"), 1) if row[1].strip()]
        if not rows:
            raise DataError(f"{path}: no words in it; write a word, a tab and its frequency a line")
        for number, line in rows:
            word, frequency = _parse_word(path, number, line)
            words[word] = max(frequency, words.get(word, 0.0))
    return words


def _parse_word(path, number, line):
    word, _, share = line.rpartition("\t")
    try:
        frequency = float(share)
    except ValueError:
        frequency = 0.0
    if not word.strip() or not 0 < frequency <= 1:
        raise DataError(f"{path}, line {number}: expected a word, a tab and its frequency above 0 to 1, got {line!r}")
    return word.strip(), frequency


def read_word_lists(files: Sequence[File]) -> dict[str, dict[str, float]]:
    """Read word lists that are given as `language=FILE`: frequencies by language and word."""
    lists: dict[str, list[File]] = {}
    for language, path in map(parse_named_file, files):
        lists.setdefault(language, []).append(path)
    return {language: read_words(paths) for language, paths in lists.items()}


@dataclass(frozen=True)
class Collection:
    """Documents as a data set without questions, and the heading of each passage, `(passages,)`, empty without one."""

    dataset: Dataset
    headings: tuple[str, ...]

    @cached_property
    def groups(self) -> Integers:
        """A number for all documents of one title, whose passages may answer the same, int `(passages,)`."""
        titles = [title or f"\n{number}" for number, title in enumerate(self.dataset.titles)]
        numbers = {title: number for number, title in enumerate(dict.fromkeys(titles))}
        return np.array([numbers[title] for title in titles])[self.dataset.document_of]
