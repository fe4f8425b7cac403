"""Vectors that were computed before: kept on disk by encoder, role and text, so that no text is encoded twice."""

import hashlib
import os
from contextlib import suppress
from functools import cached_property
from pathlib import Path

import numpy as np

from ..errors import DataError, InputError
from ..system.arrays import read_vectors, write_vectors
from ..system.files import write_aside

DIGEST = 32
# Texts that are computed at a time: what a run that breaks off had computed stays.
PART = 1024
KEYS, VECTORS = ".keys", ".npy"


def cache_folder():
    """Where vectors are kept: `$DISTILL_CACHE`, else `distill` in the user's cache folder."""
    own = os.environ.get("DISTILL_CACHE")
    return Path(own) if own else Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "distill"


class CachedEncoder:
    """An `Encoder` that computes only what is not in `folder / fingerprint` yet.

    `fingerprint` is another for every encoder that gives other vectors (`fingerprint_of`). Each `PART` of texts that is
    computed adds two files, keys and vectors; they are read once. What is there of another shape is left out.
    """

    def __init__(self, encoder, fingerprint, folder=None):
        self.encoder, self.name, self.dimension = encoder, encoder.name, encoder.dimension
        self.fingerprint = fingerprint
        self.folder = Path(folder or cache_folder()) / "vectors" / fingerprint

    @property
    def takes_context(self):
        return getattr(self.encoder, "takes_context", False)

    def encode(self, texts, role="question", progress=None, **extra):
        """As the encoder's; texts that come with more than their role, such as contexts, are not kept."""
        if extra:
            return self.encoder.encode(texts, role, progress, **extra)
        keys = [key_of(text, role) for text in texts]
        new = {key: text for key, text in zip(keys, texts, strict=True) if key not in self.known}
        if progress and len(keys) > len(new):
            progress(len(keys) - len(new))
        items = list(new.items())
        for start in range(0, len(items), PART):
            names, parts = zip(*items[start : start + PART], strict=True)
            self._add(names, self.encoder.encode(list(parts), role, progress))
        return np.stack([self.known[key] for key in keys]) if keys else np.zeros((0, self.dimension), np.float32)

    @cached_property
    def known(self):
        """`{key: float32 (dimension,)}` of what lies in the folder."""
        found = {}
        for path in sorted(self.folder.glob(f"*{KEYS}")):
            found.update(self._read(path))
        return found

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


def key_of(text, role):
    """32 bytes that stand for a text in a role."""
    return hashlib.sha256(f"{role}\0{text}".encode("utf-8", "surrogatepass")).digest()
