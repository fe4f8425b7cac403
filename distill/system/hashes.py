"""Hash files, texts and settings by sha256, to tell whether they are the same."""

from __future__ import annotations

import hashlib
import json
import zlib
from collections.abc import Iterable, Mapping
from pathlib import Path

from .files import list_visible
from .types import File, Json

# Bytes of a check behind a part of a file.
CHECK = 4


def fingerprint_of(*parts: Json | Path) -> str:
    """Return a name for an encoder from texts and from the content of files (`Path`)."""
    total = hashlib.sha256()
    for part in parts:
        content = part.read_bytes() if isinstance(part, Path) else str(part).encode()
        total.update(hashlib.sha256(content).digest())
    return total.hexdigest()[:32]


def join_hashes(several: Iterable[str]) -> str:
    """Return the sha256 of several ones, one per line, by which an index and `encoder.bin` identify a bundle."""
    return hashlib.sha256("\n".join(several).encode()).hexdigest()


def add_check(part: bytes, seed: int = 0, place: int = 0) -> bytes:
    """Return a part of a file with a check behind it: its CRC-32, little-endian, of a seed and the part's place.

    The seed is of the file, so that a part of another file, or from elsewhere in this one, is told from the right one.
    """
    return part + zlib.crc32(part, (seed ^ place) & 0xFFFFFFFF).to_bytes(CHECK, "little")


def hash_files(folder: File) -> dict[str, str]:
    """Return the sha256 of each file that is read of a data set's folder, or of a file.

    These are `documents.jsonl` and `questions.jsonl`, or else every `{lang}.json`, or every `{lang}.txt` of a bitext;
    and `splits.json`.
    """
    if Path(folder).is_file():
        return {Path(folder).name: sha256(Path(folder))}
    ours = ("documents.jsonl", "questions.jsonl", "splits.json")
    patterns = ours if (Path(folder) / ours[0]).is_file() else ("*.json", "*.txt")
    return {path.name: sha256(path) for path in list_visible(folder, *patterns) if path.is_file()}


def digest(value: Json) -> str:
    """Return the sha256 of plain values, whatever the order of their names."""
    text = json.dumps(value, ensure_ascii=False, sort_keys=True).encode("utf-8", "surrogatepass")
    return hashlib.sha256(text).hexdigest()


def changed_files(one: Mapping[str, str], other: Mapping[str, str]) -> list[str]:
    """Return the names of the files whose sha256 differ."""
    return sorted(name for name in {*one, *other} if one.get(name) != other.get(name))


def sha256(path: File) -> str:
    """Return the sha256 of a file, read in parts."""
    total = hashlib.sha256()
    with open(path, "rb") as file:
        while block := file.read(1 << 20):
            total.update(block)
    return total.hexdigest()
