"""Read lists of words with their frequencies, each of which gets a token."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

from ..errors import DataError
from ..system.reading import read_text
from ..system.types import File


def read_words(paths: Iterable[File]) -> dict[str, float]:
    """Read files of words: a word or phrase per line, a tab, and its share of a text, above 0 and up to 1.

    If a word occurs twice the higher share counts. Raises `DataError` for any other line, and for a file without words.
    """
    words: dict[str, float] = {}
    for path in map(Path, paths):
        rows = [row for row in enumerate(read_text(path).split("\n"), 1) if row[1].strip()]
        if not rows:
            raise DataError(f"{path}: no words in it; write a word, a tab and its frequency a line")
        for number, line in rows:
            word, frequency = _parse_line(path, number, line)
            words[word] = max(frequency, words.get(word, 0.0))
    return words


def _parse_line(path, number, line):
    word, _, share = line.rpartition("\t")
    try:
        frequency = float(share)
    except ValueError:
        frequency = 0.0
    if not word.strip() or not 0 < frequency <= 1:
        raise DataError(f"{path}, line {number}: expected a word, a tab and its frequency above 0 to 1, got {line!r}")
    return word.strip(), frequency
