"""Compute an `encoder.bin` with NumPy as the program in C does, for the gate of an export, which may have no compiler.

Activations are rounded as LiteRT rounds them: each row of numbers by itself, to 256 levels from its minimum to its
maximum, with zero as one of them.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from ...errors import DataError, EncoderError
from ...system.sections import read_sections
from ...system.text import make_well_formed
from ...system.types import File, Floats, Progress, Role
from ..encode import shortened
from ..families.registry import family_part
from ..weights.codecs import CODECS, decode_rows
from .encoder_file import CODES, PACKED, SCALES, Settings, tokenizer_of, unpack_kernel

LOWEST, HIGHEST = np.float32(-128), np.float32(127)
# Added under the root of a length or a variance, as `students.student.EPSILON`, which only Keras students import.
LEAST = 1e-12


class SectionsEncoder:
    """An `encoder.bin` as an `Encoder`. Raises `EncoderError` if the file is not an encoder's."""

    def __init__(self, path: File, name: str) -> None:
        try:
            self._arrays = read_sections(path)
            settings = Settings.from_array(self._arrays["settings"])
            self.name, self.fingerprint = name, self._arrays["fingerprint"].tobytes().decode()
        except (DataError, KeyError, ValueError, IndexError) as error:
            raise EncoderError(f"{path}: not an encoder's file: {error}; export it again") from error
        self.dimension, self.max_length = settings.dimension, settings.max_length
        self._tokenizer = tokenizer_of(self._arrays)
        arrays = [self._arrays[f"table.{place}"] for place in range(CODECS[settings.table].arrays)]
        self._table = decode_rows(settings.table, arrays, settings.width)
        self._layers = Layers(self._arrays)
        self._vector = family_part(settings.family, "plain", "an encoder in C or Java").vector_of
        self._numbers = settings.numbers

    def tokenize(self, text: str, role: Role = "question") -> list[int]:
        """Tokenize a text to at most `max_length` ids, including bos and eos, with the prompt of its role first."""
        (ids,) = self._tokenizer.encode([make_well_formed(text)], role)
        return shortened(ids, self.max_length)

    def encode(self, texts: Sequence[str], role: Role = "question", progress: Progress | None = None) -> Floats:
        """Encode texts to unit vectors, float32 `(n, dimension)`."""
        vectors = np.zeros((len(texts), self.dimension), dtype=np.float32)
        for row, text in enumerate(texts):
            vectors[row] = self._vector(self._table[self.tokenize(text, role)], self._layers, self._numbers)
            if progress:
                progress(1)
        return vectors


class Layers:
    """The dense layers and vectors among the sections of a file."""

    def __init__(self, arrays: Mapping[str, np.ndarray]) -> None:
        self._arrays = arrays
        self._kernels: dict[str, Floats] = {}

    def __contains__(self, name: str) -> bool:
        return any(f"{name}.{part}" in self._arrays for part in ("kernel", PACKED))

    def dense(self, name: str, x: Floats, relu: bool = False) -> Floats:
        """Apply a dense layer, act(x V^T + b) s. Returns a float32 array `(n, out)`. `x` is a float array `(n, in)`."""
        bias, scales = (self._arrays.get(f"{name}.{part}") for part in ("bias", "scales"))
        if f"{name}.{PACKED}" in self._arrays or self._arrays[f"{name}.kernel"].dtype == np.int8:
            x, steps = quantize_rows(x)
            # float32 is exact for whole numbers up to 2^24, and no sum comes near that.
            x = (x @ self._kernel(name)) * steps
        else:
            x = x @ self._kernel(name)
        x = x if bias is None else x + bias
        x = np.maximum(x, 0) if relu else x
        return x if scales is None else x * scales

    def inputs(self, name: str) -> int:
        return len(self._kernel(name))

    def _kernel(self, name):
        if name not in self._kernels:
            self._kernels[name] = np.ascontiguousarray(self._read_stored(name).T, dtype=np.float32)
        return self._kernels[name]

    def _read_stored(self, name):
        packed = self._arrays.get(f"{name}.{PACKED}")
        return self._arrays[f"{name}.kernel"] if packed is None else unpack_kernel(packed)

    def norm(self, name: str, x: Floats, epsilon: float = LEAST) -> Floats:
        """Normalise rows `(n, w)` to zero mean and unit variance, and apply the gains and biases of a layer."""
        centred = x - x.mean(axis=1, keepdims=True)
        variance = np.mean(centred * centred, axis=1, keepdims=True)
        gamma, beta = (self._arrays[f"{name}.{part}"] for part in ("gamma", "beta"))
        return centred / np.sqrt(variance + np.float32(epsilon)) * gamma + beta

    def vector(self, name: str) -> Floats:
        return self._arrays[name]

    def places(self, name: str, count: int) -> Floats:
        """Return position embeddings `(count, w)`; positions beyond the table repeat its last row."""
        codes = self._arrays.get(f"{name}.{CODES}")
        if codes is None:
            rows = self._arrays[f"{name}.embeddings"]
        else:
            rows = decode_rows("uint8", [codes, self._arrays[f"{name}.{SCALES}"][:, None]], codes.shape[1])
        return rows[np.minimum(np.arange(count), len(rows) - 1)]


def quantize_rows(x: Floats) -> tuple[Floats, Floats]:
    """Round rows `(n, w)` to whole numbers, less the number that stands for zero; return each row's step too."""
    least, greatest = np.minimum(x.min(axis=1), 0)[:, None], np.maximum(x.max(axis=1), 0)[:, None]
    spread = greatest - least
    scale = np.where(spread > 0, (HIGHEST - LOWEST) / np.where(spread > 0, spread, 1), 1).astype(np.float32)
    ends = LOWEST + least * scale, HIGHEST + greatest * scale
    zero = np.where(ends[0] + ends[1] > 0, LOWEST - least * scale, HIGHEST - greatest * scale)
    zero = np.rint(np.clip(zero, LOWEST, HIGHEST)).astype(np.float32)
    return np.clip(np.rint(x * scale), LOWEST - zero, HIGHEST - zero), np.float32(1) / scale


def stack_windows(x: Floats, order: int) -> Floats:
    """Concatenate each row with its neighbours, with zeros beyond the ends. Returns float32 `(n, order * w)`."""
    before = (order - 1) // 2
    padded = np.pad(x, [(before, order - 1 - before), (0, 0)])
    return np.concatenate([padded[place : place + len(x)] for place in range(order)], axis=1)


def flatten(vectors: Mapping[str, Floats]) -> dict[str, Floats]:
    """Return arrays as flat sections, float32 `(n,)` each."""
    return {name: np.asarray(vector, dtype=np.float32).reshape(-1) for name, vector in vectors.items()}


def to_unit_length(x: Floats) -> Floats:
    """Scale rows `(n, d)` to unit length."""
    return x / np.sqrt(np.maximum(np.sum(x * x, axis=1, keepdims=True), np.float32(LEAST)))
