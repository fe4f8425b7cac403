"""Language information removal (LIR): the directions that all texts of a language share are removed from vectors.

Yang, Yang, Cer and Darve (2021), A simple and effective method to eliminate the self language bias in multilingual
representations, section 2. This module needs NumPy alone.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace

import numpy as np
from numpy.typing import ArrayLike

from ..errors import DataError, InputError
from ..system.arrays import read_arrays, write_arrays
from ..system.types import File, Floats
from .encoder import Encoder, normalise_rows

KIND = "distill language removal 1"
NAMES = ("kind", "components", "languages", "sentences", "encoder", "probe")
# Directions of two languages that differ by less are the same, as float32 cannot tell them apart.
SAME = 1e-5
# A remainder below this share of a vector's length is rounding.
NOTHING = 1e-5
# A text whose vector identifies the encoder that components belong to, and the least cosine that counts as the same.
PROBE, LEAST_COSINE = "The vector of this sentence tells one encoder from another.", 0.99


@dataclass(frozen=True)
class LanguageRemoval:
    """The directions that language information removal takes out of vectors.

    Attributes:
        components: `{language: directions}`, orthonormal float32 arrays `(r, d)`: the first right singular vectors of
            the language's sample.
        sentences: `{language: number of texts in the sample}`.
        probe: Float32 array `(d,)`, the encoder's vector of `PROBE`; None if it is not known.
    """

    components: dict[str, Floats]
    sentences: dict[str, int] = field(default_factory=dict)
    encoder: str = ""
    probe: Floats | None = None

    @classmethod
    def fit(cls, samples: Mapping[str, Floats], rank: int = 4, encoder: str = "") -> LanguageRemoval:
        """Fit the directions of each language on a sample of its vectors, which are not centred."""
        if rank < 1:
            raise InputError(f"rank: expected at least 1, got {rank}")
        if not samples:
            raise InputError("no language to learn from; give sample text in each language")
        samples = {language: check_vectors(sample, f"the sample of {language}") for language, sample in samples.items()}
        require_one_dimension(samples)
        components = {language: leading_directions(sample, rank, language) for language, sample in samples.items()}
        return cls(components, {language: len(sample) for language, sample in samples.items()}, encoder)

    @property
    def languages(self) -> tuple[str, ...]:
        return tuple(self.components)

    @property
    def rank(self) -> int:
        return next(iter(self.components.values())).shape[0]

    @property
    def dimension(self) -> int:
        return next(iter(self.components.values())).shape[1]

    def of(self, language: str, rank: int | None = None) -> Floats:
        """Return the first directions of a language, or all of them: float32 `(rank, d)`."""
        if language not in self.components:
            raise InputError(
                f"no components for the language {language}; the languages are {', '.join(self.languages)}"
            )
        return self.components[language][: self._rank(rank)]

    def at(self, rank: int) -> LanguageRemoval:
        """Return the removal of only the first `rank` directions of each language."""
        components = {language: self.of(language, rank) for language in self.languages}
        return replace(self, components=components)

    def remove(self, vectors: Floats, language: str, rank: int | None = None) -> Floats:
        """Remove the first directions of a language from rows, and scale what remains to unit length."""
        return normalise_rows(self.project_out(vectors, language, rank))

    def project_out(self, vectors: Floats, language: str, rank: int | None = None) -> Floats:
        """Return the orthogonal projection e - C^T C e of each row, without rescaling: a float32 array `(n, d)`.

        The paper's Equation 1 divides C^T C e by ||e||, which is this projection for unit vectors only; for others the
        part (1 - 1 / ||e||) C^T C e would remain. All encoders here give unit vectors. A rank of 0 removes nothing. A
        row that lies within the removed directions becomes zeros. `vectors` is a float array `(n, d)`. Raises
        `InputError` if the language is unknown, the rank too high, or the vectors are of another space.
        """
        components, vectors = self.of(language, rank), check_vectors(vectors, "the vectors")
        self.require_dimension(vectors.shape[1], "the vectors")
        left = (vectors - (vectors @ components.T) @ components).astype(np.float32, copy=False)
        # A vector within these directions leaves only rounding, which must not become a direction.
        left[np.linalg.norm(left, axis=1) < NOTHING * np.linalg.norm(vectors, axis=1)] = 0
        return left

    def shared_matrix(self, rank: int | None = None) -> Floats:
        """Return the matrix that removes the directions of all languages, for text of an unknown language.

        It is I - B B^T, where B is an orthonormal basis of all that the languages' first `rank` directions span. Each
        language loses its own directions and those of the others. Apply it as `normalise_rows(vectors @ matrix)`. The
        result is a symmetric float32 array `(d, d)`. Raises `InputError` if nothing would be left.
        """
        stacked = np.concatenate([self.of(language, rank) for language in self.languages]).astype(np.float64)
        _, lengths, basis = np.linalg.svd(stacked, full_matrices=False)
        basis = basis[lengths > SAME]
        if len(basis) == self.dimension:
            raise InputError(
                f"the directions of {len(self.languages)} languages span all {self.dimension} dimensions; "
                "take a lower rank or fewer languages"
            )
        return (np.eye(self.dimension) - basis.T @ basis).astype(np.float32)

    def _rank(self, rank):
        if rank is not None and not 0 <= rank <= self.rank:
            raise InputError(f"rank: expected 0 to {self.rank}, the number of components, got {rank}")
        return self.rank if rank is None else rank

    def require_dimension(self, dimension: int, what: str) -> None:
        """Raise `InputError` if something is of another dimension. Raises `InputError` if the dimensions differ."""
        if dimension != self.dimension:
            raise InputError(
                f"{what}: {dimension} dimensions, but the components have {self.dimension}; fit them again"
            )

    def require_own(self, encoder: Encoder) -> None:
        """Raise `InputError` if the components were learned from another encoder."""
        self.require_dimension(encoder.dimension, encoder.name)
        if self.probe is not None:
            cosine = float(encoder.encode([PROBE], "document")[0] @ self.probe)
            if not cosine >= LEAST_COSINE:
                raise InputError(
                    f"these components are of another encoder, {self.encoder!r}: a sentence's vectors have a cosine of "
                    f"{cosine:.2f}, expected {LEAST_COSINE} or more; run distill lir fit on this one"
                )

    def stack(self) -> Floats:
        """Return the components as a float32 array `(languages, r, d)`, in the order of `languages`."""
        return np.stack(list(self.components.values()))

    def save(self, path: File) -> None:
        """Write the `.npz` file that `load` reads; an interrupted write leaves no file."""
        values = {
            "kind": np.array(KIND),
            "components": self.stack(),
            "languages": np.array(self.languages),
            "sentences": np.array([self.sentences.get(language, 0) for language in self.languages], dtype=np.int64),
            "encoder": np.array(self.encoder),
            "probe": np.zeros(0, np.float32) if self.probe is None else self.probe,
        }
        write_arrays(path, values)

    @classmethod
    def load(cls, path: File) -> LanguageRemoval:
        """Read what `save` wrote; raise `DataError` for any other file."""
        values = _read(path)
        components, languages, sentences = (values[name] for name in ("components", "languages", "sentences"))
        names = list(map(str, languages.ravel()))
        shapes = components.ndim == 3 and languages.shape == sentences.shape == components.shape[:1]
        kinds = sentences.dtype.kind == "i" and values["probe"].dtype.kind == "f"
        if not shapes or not kinds or len(set(names)) < len(names):
            raise _broken_error(path, "its languages, components and numbers of sentences do not belong together")
        if 0 in components.shape or not _orthonormal(components):
            raise _broken_error(path, "its components are not orthonormal rows")
        counts = dict(zip(names, map(int, sentences), strict=True))
        probe = values["probe"].astype(np.float32) if values["probe"].shape == components.shape[2:] else None
        return cls(dict(zip(names, components.astype(np.float32), strict=True)), counts, str(values["encoder"]), probe)


def leading_directions(sample: Floats, rank: int, language: str) -> Floats:
    """Return the first right singular vectors of a sample, each with its largest number positive.

    They are computed from R of the QR decomposition, which has the same ones and is small. Unlike the product of the
    sample with itself it loses no precision. `sample` is a float array `(n, d)`. Returns a float32 array `(rank, d)`.
    """
    if len(sample) < rank:
        raise InputError(f"the sample of {language}: {len(sample)} texts, expected at least {rank}, the rank")
    _, lengths, vectors = np.linalg.svd(np.linalg.qr(sample.astype(np.float64), mode="r"), full_matrices=False)
    span = int(np.sum(lengths > lengths[0] * max(sample.shape) * np.finfo(np.float64).eps))
    if span < rank:
        raise InputError(f"the sample of {language}: its texts span {span} directions, expected at least {rank}")
    kept = vectors[:rank]
    largest = np.take_along_axis(kept, np.abs(kept).argmax(axis=1)[:, None], axis=1)
    return (kept * np.sign(largest)).astype(np.float32)


def check_vectors(vectors: ArrayLike, what: str) -> Floats:
    """Return vectors as float32 `(n, d)` after checking that all are numbers."""
    rows = np.asarray(vectors)
    if rows.ndim != 2 or rows.dtype.kind != "f" or not rows.shape[1]:
        raise InputError(f"{what}: expected floating point numbers (n, d), got {rows.dtype} {rows.shape}")
    with np.errstate(over="ignore"):
        rows = rows.astype(np.float32, copy=False)
    if bad := int(np.sum(~np.isfinite(rows).all(axis=1))):
        raise InputError(f"{what}: {bad} of {len(rows)} rows hold NaN or infinity")
    return rows


def require_one_dimension(samples: Mapping[str, Floats]) -> None:
    """Raise `InputError` if the languages' vectors differ in dimension."""
    first, *others = samples
    for language in others:
        if samples[language].shape[1] != samples[first].shape[1]:
            sizes = f"{samples[language].shape[1]} dimensions, that of {first} {samples[first].shape[1]}"
            raise InputError(f"the sample of {language} has {sizes}; encode all with one encoder")


def _orthonormal(components):
    """Return True if the rows of each `(r, d)` array are orthonormal within float32 precision; NaN is not."""
    if components.dtype.kind != "f":
        return False
    products = components.astype(np.float64) @ components.transpose(0, 2, 1)
    return bool(np.all(np.abs(products - np.eye(components.shape[1])) < 1e-4))


def _read(path):
    try:
        values = read_arrays(path, NAMES)
    except DataError as error:
        raise DataError(f"{error}; write one with distill lir fit") from error
    if str(values["kind"]) != KIND:
        raise _broken_error(path, f"of another kind, {str(values['kind'])!r}")
    return values


def _broken_error(path, reason):
    return DataError(f"{path}: {reason}; write one with distill lir fit")
