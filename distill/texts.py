"""Texts to encode, from `{"id", "text"}` lines, their vectors, to a file, and texts of a corpus."""

from pathlib import Path

import numpy as np

from .errors import DataError
from .files import read_jsonl, read_text, write_aside


def read_texts(path):
    """The texts of a JSON Lines file in order. Raises `DataError` naming the line that is wrong."""
    texts, seen = [], set()
    for number, row in read_jsonl(path):
        text, id = row.get("text"), row.get("id")
        if not isinstance(text, str) or not text.strip():
            raise DataError(f"{path}, line {number}: expected a non-empty string under 'text', got {text!r}")
        if not isinstance(id, (str, int)) or id in seen:
            problem = "duplicate id" if isinstance(id, (str, int)) else "missing id, expected a string or number, got"
            raise DataError(f"{path}, line {number}: {problem} {id!r}")
        seen.add(id)
        texts.append(text)
    if not texts:
        raise DataError(f'{path}: no texts in it; write one object a line, such as {{"id": "1", "text": "…"}}')
    return texts


def write_vectors(path, vectors):
    """float32 `(n, d)` as `.npy`, whole or not at all."""
    with write_aside(path) as aside, open(aside, "wb") as file:
        np.save(file, vectors.astype(np.float32, copy=False))


def read_corpus(paths):
    """`{language: [text]}` of plain text, one a line, or of `.jsonl` files with `{"text"}` or `{"text", "language"}`.

    Where no language is said the file's name without its ending stands for it.
    Raises `DataError` for a file without text.
    """
    texts = {}
    for path in map(Path, paths):
        found = _tagged(path) if path.suffix == ".jsonl" else [(path.stem, line) for line in _lines(path)]
        if not found:
            raise DataError(f"{path}: no texts in it; write one a line")
        for language, text in found:
            texts.setdefault(language, []).append(text)
    return texts


def _lines(path):
    return [line.strip() for line in read_text(path).split("\n") if line.strip()]


def _tagged(path):
    found = []
    for number, row in read_jsonl(path):
        text, language = row.get("text"), row.get("language", path.stem)
        for key, value in (("text", text), ("language", language)):
            if not isinstance(value, str) or not value.strip():
                raise DataError(f"{path}, line {number}: expected a non-empty string under {key!r}, got {value!r}")
        found.append((language, text))
    return found
