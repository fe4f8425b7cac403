"""Vectors, to a file and from one, and texts of a corpus."""

import os
from pathlib import Path

import numpy as np

from .errors import DataError, InputError, first_line
from .files import named, read_jsonl, read_text, write_aside


def write_vectors(path, vectors):
    """float32 `(n, d)` as `.npy`, whole or not at all."""
    with write_aside(path) as aside, open(aside, "wb") as file:
        np.save(file, vectors.astype(np.float32, copy=False))


def read_vectors(path):
    """The array of an `.npy` file. Raises `DataError` for a file that is none, or is pickled."""
    try:
        # NumPy leaves a file open that it cannot read.
        with open(path, "rb") as file:
            vectors = np.load(file, allow_pickle=False)
    except OSError as error:
        raise DataError(f"{path}: cannot be read: {error.strerror or first_line(error)}") from error
    except Exception as error:  # a broken header raises what its reading happens to
        raise DataError(f"{path}: no .npy file of numbers; distill encode writes one") from error
    if not isinstance(vectors, np.ndarray):
        vectors.close()
        raise DataError(f"{path}: several arrays, expected one, an .npy file")
    return vectors


def read_corpus(paths):
    """`{language: [text]}` of plain text, one a line, or of `.jsonl` files with `{"text"}` or `{"text", "language"}`.

    Where no language is said it is that of `language=path`, or else the file's name without its ending.
    Raises `DataError` for a file without text.
    """
    texts = {}
    for default, path in map(named_file, paths):
        found = _tagged(path, default) if path.suffix == ".jsonl" else [(default, line) for line in _lines(path)]
        if not found:
            raise DataError(f"{path}: no texts in it; write one a line")
        for language, text in found:
            texts.setdefault(language, []).append(text)
    return texts


def named_file(source):
    """The language and the path of `language=path`, or of a path alone; a file of just that name is a path."""
    language, equals, path = str(source).partition("=")
    if not equals or "/" in language or os.sep in language or named(source).is_file():
        return named(source).stem, Path(source)
    if not language.strip() or not path:
        raise InputError(f"{source}: expected a file, or language=FILE such as de=news.deu.txt")
    return language.strip(), Path(path)


def _lines(path):
    return [line.strip() for line in read_text(path).split("\n") if line.strip()]


def _tagged(path, default):
    found = []
    for number, row in read_jsonl(path):
        text, language = row.get("text"), row.get("language", default)
        for key, value in (("text", text), ("language", language)):
            if not isinstance(value, str) or not value.strip():
                raise DataError(f"{path}, line {number}: expected a non-empty string under {key!r}, got {value!r}")
        found.append((language, text))
    return found


def sampled(texts, most, seed):
    """At most so many of the texts, drawn by chance, in their order."""
    if len(texts) <= most:
        return texts
    kept = np.random.default_rng(seed).choice(len(texts), most, replace=False)
    return [texts[place] for place in np.sort(kept)]
