"""What tells whether files, texts and settings are the same: their sha256."""

import hashlib
import json
from pathlib import Path


def fingerprint_of(*parts):
    """A name for an encoder, of texts and of files whose content counts (`Path`)."""
    found = hashlib.sha256()
    for part in parts:
        content = part.read_bytes() if isinstance(part, Path) else str(part).encode()
        found.update(hashlib.sha256(content).digest())
    return found.hexdigest()[:32]


def hashes(folder):
    """`{file name: sha256}` of what `readers` and `splits` read of a data set's folder, or of a file, by name.

    `documents.jsonl` and `questions.jsonl` where they are, else every `{lang}.json` or, of a bitext, `{lang}.txt`; and
    `splits.json`.
    """
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


def changed_files(one, other):
    """Names of the files, `{name: sha256}`, that are not the same in both."""
    return sorted(name for name in {*one, *other} if one.get(name) != other.get(name))


def sha256(path):
    """Of a file, read in parts. `export/encode.py` has the same, as it goes without distill."""
    found = hashlib.sha256()
    with open(path, "rb") as file:
        while block := file.read(1 << 20):
            found.update(block)
    return found.hexdigest()
