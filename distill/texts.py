"""Texts to encode, from `{"id", "text"}` lines, and their vectors, to a file."""

import numpy as np

from .errors import DataError
from .files import read_jsonl, write_aside


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
