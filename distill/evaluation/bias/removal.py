"""Language information removal (LIR): the directions that all texts of a language share, taken off their vectors.

Yang, Yang, Cer and Darve (2021), A simple and effective method to eliminate the self language bias in multilingual
representations, section 2. NumPy alone.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace

import numpy as np
from numpy.typing import ArrayLike

from ...encoders.encoder import Encoder, unit_rows
from ...errors import DataError, InputError
from ...system.arrays import read_arrays, write_arrays
from ...system.types import File, Floats

KIND = "distill language removal 1"
NAMES = ("kind", "components", "languages", "sentences", "encoder", "probe")
# Two languages' directions that are nearer than this are one: float32 tells no more.
SAME = 1e-5
# The part of a vector's length below which what is left of it is rounding.
NOTHING = 1e-5
# A text whose vector tells whether components are an encoder's own, and the least cosine at which they are.
PROBE, OWN = "The vector of this sentence tells one encoder from another.", 0.99


@dataclass(frozen=True)
class LanguageRemoval:
    """`components[language]`, float32 `(r, d)`: orthonormal, the first right singular vectors of its sample.

    `sentences[language]`: how many texts the sample had; `encoder`: the name of what encoded them; `probe`,
    float32 `(d,)`: its vector of `PROBE`, None where that is not known.
    """

    components: dict[str, Floats]
    sentences: dict[str, int] = field(default_factory=dict)
    encoder: str = ""
    probe: Floats | None = None

    @classmethod
    def fit(cls, samples: Mapping[str, Floats], rank: int = 4, encoder: str = "") -> LanguageRemoval:
        """The first `rank` directions of each language's sample; `samples`: `{language: (n, d)}`, not centred.

        Raises `InputError` for a rank under 1 or samples that cannot be used, naming the language.
        """
        if rank < 1:
            raise InputError(f"rank: expected at least 1, got {rank}")
        if not samples:
            raise InputError("no language to learn from; give sample text of each language")
        samples = {language: checked(sample, f"the sample of {language}") for language, sample in samples.items()}
        require_one_dimension(samples)
        components = {language: leading(sample, rank, language) for language, sample in samples.items()}
        return cls(components, {language: len(sample) for language, sample in samples.items()}, encoder)

    @property
    def languages(self) -> tuple[str, ...]:
        return tuple(self.components)

    @property
    def rank(self) -> int:
        """The number of directions of each language."""
        return next(iter(self.components.values())).shape[0]

    @property
    def dimension(self) -> int:
        return next(iter(self.components.values())).shape[1]

    def of(self, language: str, rank: int | None = None) -> Floats:
        """A language's first `rank` (None: all) directions, `(rank, d)`. Raises `InputError` naming the known ones."""
        if language not in self.components:
            raise InputError(f"no components of the language {language}; there are {', '.join(self.languages)}")
        return self.components[language][: self._rank(rank)]

    def at(self, rank: int) -> LanguageRemoval:
        """The removal of only the first `rank` directions of each language."""
        components = {language: self.of(language, rank) for language in self.languages}
        return replace(self, components=components)

    def remove(self, vectors: Floats, language: str, rank: int | None = None) -> Floats:
        """Unit rows `(n, d)` in a language without its first `rank` directions (None: all), float32, unit rows again.

        It is `left`, scaled to unit length: rows of another length give what they would at unit length.
        """
        return unit_rows(self.left(vectors, language, rank))

    def left(self, vectors: Floats, language: str, rank: int | None = None) -> Floats:
        """The orthogonal projection e - C^T C e of rows `(n, d)`, float32, as long as what is left of them.

        Equation 1 of the paper, which divides C^T C e by ||e||, is that projection for unit vectors only: of others the
        part (1 - 1 / ||e||) C^T C e would stay. All encoders here give unit vectors.
        Rank 0 removes nothing; a row that is nothing else becomes zeros.
        Raises `InputError` for an unknown language, a rank that is not held, or vectors that are none of this space.
        """
        components, vectors = self.of(language, rank), checked(vectors, "the vectors")
        self.require_dimension(vectors.shape[1], "the vectors")
        left = (vectors - (vectors @ components.T) @ components).astype(np.float32, copy=False)
        # What is left of a vector within these directions is rounding, which must not become a direction.
        left[np.linalg.norm(left, axis=1) < NOTHING * np.linalg.norm(vectors, axis=1)] = 0
        return left

    def shared(self, rank: int | None = None) -> Floats:
        """For text of an unknown language: I - B B^T, float32 `(d, d)`, symmetric; `unit_rows(vectors @ it)`.

        B is an orthonormal basis of all that the languages' first `rank` directions span, so that each language loses
        its own directions and those of the others. Raises `InputError` where that would leave nothing.
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
            raise InputError(f"rank: expected 0 to {self.rank}, of which there are components, got {rank}")
        return self.rank if rank is None else rank

    def require_dimension(self, dimension: int, what: str) -> None:
        """Raise `InputError` where `what` is of another space."""
        if dimension != self.dimension:
            raise InputError(f"{what}: {dimension} dimensions, the components have {self.dimension}; fit them anew")

    def require_own(self, encoder: Encoder) -> None:
        """Raise `InputError` for an `Encoder` of another space than the one that the components were learned from."""
        self.require_dimension(encoder.dimension, encoder.name)
        if self.probe is not None:
            cosine = float(encoder.encode([PROBE], "document")[0] @ self.probe)
            if not cosine >= OWN:
                raise InputError(
                    f"these components are of another encoder, {self.encoder!r}: a sentence's vectors have a cosine of "
                    f"{cosine:.2f}, expected {OWN} or more; run distill lir fit on this one"
                )

    def stacked(self) -> Floats:
        """The components, float32 `(languages, r, d)`, in the order of `languages`."""
        return np.stack(list(self.components.values()))

    def save(self, path: File) -> None:
        """Write the `.npz` that `load` reads; whole or not at all."""
        values = {
            "kind": np.array(KIND),
            "components": self.stacked(),
            "languages": np.array(self.languages),
            "sentences": np.array([self.sentences.get(language, 0) for language in self.languages], dtype=np.int64),
            "encoder": np.array(self.encoder),
            "probe": np.zeros(0, np.float32) if self.probe is None else self.probe,
        }
        write_arrays(path, values)

    @classmethod
    def load(cls, path: File) -> LanguageRemoval:
        """Raises `DataError` for a file that is none of `save`'s."""
        values = _read(path)
        components, languages, sentences = (values[name] for name in ("components", "languages", "sentences"))
        names = list(map(str, languages.ravel()))
        shapes = components.ndim == 3 and languages.shape == sentences.shape == components.shape[:1]
        kinds = sentences.dtype.kind == "i" and values["probe"].dtype.kind == "f"
        if not shapes or not kinds or len(set(names)) < len(names):
            raise _broken(path, "its languages, components and numbers of sentences do not belong together")
        if 0 in components.shape or not _orthonormal(components):
            raise _broken(path, "its components are not orthonormal rows")
        counts = dict(zip(names, map(int, sentences), strict=True))
        probe = values["probe"].astype(np.float32) if values["probe"].shape == components.shape[2:] else None
        return cls(dict(zip(names, components.astype(np.float32), strict=True)), counts, str(values["encoder"]), probe)


def leading(sample: Floats, rank: int, language: str) -> Floats:
    """The first `rank` right singular vectors of `(n, d)`, float32 `(rank, d)`; each one's largest number is positive.

    By way of R of the QR decomposition, which has the same ones, is small, and is no less exact: products of the sample
    with itself would be. Raises `InputError` for a sample that has not so many.
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


def checked(vectors: ArrayLike, what: str) -> Floats:
    """Return vectors as float32 `(n, d)`, all of them numbers. Raises `InputError`."""
    rows = np.asarray(vectors)
    if rows.ndim != 2 or rows.dtype.kind != "f" or not rows.shape[1]:
        raise InputError(f"{what}: expected floating point numbers (n, d), got {rows.dtype} {rows.shape}")
    with np.errstate(over="ignore"):
        rows = rows.astype(np.float32, copy=False)
    if bad := int(np.sum(~np.isfinite(rows).all(axis=1))):
        raise InputError(f"{what}: {bad} of {len(rows)} rows hold NaN or infinity")
    return rows


def require_one_dimension(samples: Mapping[str, Floats]) -> None:
    """Raise `InputError` where the languages' vectors are of different spaces."""
    first, *others = samples
    for language in others:
        if samples[language].shape[1] != samples[first].shape[1]:
            sizes = f"{samples[language].shape[1]} dimensions, that of {first} {samples[first].shape[1]}"
            raise InputError(f"the sample of {language} has {sizes}; encode all with one encoder")


def _orthonormal(components):
    """True where the rows of each `(r, d)` are, as far as float32 tells; NaN is not."""
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
        raise _broken(path, f"of another kind, {str(values['kind'])!r}")
    return values


def _broken(path, reason):
    return DataError(f"{path}: {reason}; write one with distill lir fit")
