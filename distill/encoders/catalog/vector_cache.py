"""Keep vectors on disk by encoder, role and text, so that no text is encoded twice."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from contextlib import suppress
from functools import cached_property
from pathlib import Path

import numpy as np

from ...errors import DataError, InputError
from ...system.arrays import read_vectors, write_vectors
from ...system.files import cache_folder, write_aside
from ...system.types import File, Floats, Progress, Role
from ..encoder import Encoder, calibrations_of, encode_texts, passage_weight_of, takes_context

DIGEST = 32
# Texts that are computed at a time, and their characters: what a run that breaks off had computed stays.
PART, CHARACTERS = 1024, 2**18
KEYS, VECTORS = ".keys", ".npy"


class CachedEncoder:
    """An encoder that computes only vectors that are not in `folder / fingerprint` yet.

    Each `PART` of texts that is computed adds two files, keys and vectors, which are read once. Files of another shape
    are ignored.
    """

    def __init__(self, encoder: Encoder, fingerprint: str, folder: File | None = None) -> None:
        self.encoder, self.name, self.dimension = encoder, encoder.name, encoder.dimension
        self.fingerprint = fingerprint
        self.passage_weight, self.calibrations = passage_weight_of(encoder), calibrations_of(encoder)
        self.folder = Path(folder or cache_folder()) / "vectors" / fingerprint

    @property
    def takes_context(self) -> bool:
        return takes_context(self.encoder)

    def encode(
        self,
        texts: Sequence[str],
        role: Role = "question",
        progress: Progress | None = None,
        contexts: Sequence[str] | None = None,
    ) -> Floats:
        """Encode texts. Vectors of texts with a context are not kept. Returns the vectors, float32 `(n, dimension)`."""
        if contexts is not None:
            return encode_texts(self.encoder, texts, role, progress, contexts)
        keys = [make_key(text, role) for text in texts]
        new = {key: text for key, text in zip(keys, texts, strict=True) if key not in self.known}
        if progress and len(keys) > len(new):
            progress(len(keys) - len(new))
        names, parts = list(new), list(new.values())
        for part in cut_portions([len(text) for text in parts]):
            self._add(names[part], self.encoder.encode(parts[part], role, progress))
        return np.stack([self.known[key] for key in keys]) if keys else np.zeros((0, self.dimension), np.float32)

    @cached_property
    def known(self) -> dict[bytes, Floats]:
        """The vectors in the folder, float32 `(dimension,)`, by key."""
        vectors: dict[bytes, Floats] = {}
        for path in sorted(self.folder.glob(f"*{KEYS}")):
            vectors.update(self._read(path))
        return vectors

    def _read(self, path):
        try:
            vectors, content = read_vectors(path.with_suffix(VECTORS)), path.read_bytes()
        except (DataError, OSError):
            return {}
        if vectors.dtype != np.float32 or vectors.shape != (len(content) // DIGEST, self.dimension):
            return {}
        return {content[DIGEST * row : DIGEST * (row + 1)]: vector for row, vector in enumerate(vectors)}

    def _add(self, keys, vectors):
        self.known.update(zip(keys, vectors, strict=True))
        # Where nothing can be written they are computed anew the next time.
        with suppress(InputError, OSError):
            self._keep(keys, vectors)

    def _keep(self, keys, vectors):
        name = hashlib.sha256(b"".join(keys)).hexdigest()[:24]
        # The keys last: without them the vectors are not looked at.
        write_vectors(self.folder / f"{name}{VECTORS}", vectors)
        with write_aside(self.folder / f"{name}{KEYS}") as aside:
            aside.write_bytes(b"".join(keys))


def cut_portions(lengths: Sequence[int]) -> list[slice]:
    """Cut texts, by their lengths, into portions of at most `PART` texts, or of several texts, `CHARACTERS`."""
    slices, start, total = [], 0, 0
    for place, length in enumerate(lengths):
        if place > start and (place - start == PART or total + length > CHARACTERS):
            slices.append(slice(start, place))
            start, total = place, 0
        total += length
    return [*slices, slice(start, len(lengths))] if len(lengths) else []


def make_key(text: str, role: Role) -> bytes:
    """Return 32 bytes that identify a text in a role."""
    return hashlib.sha256(f"{role}\0{text}".encode("utf-8", "surrogatepass")).digest()
