"""Fit, remove and fold in the directions that the vectors of a language share: `distill lir` as functions."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from ..data.corpus import sample_texts
from ..encoders.catalog.kinds import require_kind, require_trainable
from ..encoders.catalog.loading import load_encoder, load_keras_encoder
from ..encoders.encoder import MODEL_FILE, KerasEncoder
from ..encoders.language_removal import LanguageRemoval, check_vectors
from ..encoders.removal_fitting import fit_encoder_removal, require_enough
from ..errors import InputError
from ..system.arrays import read_vectors, write_vectors
from ..system.files import require_writable
from ..system.types import File

FILE = "lir.npz"


@dataclass(frozen=True)
class FittedRemoval:
    """The directions of each language, and the file that holds them."""

    path: Path
    removal: LanguageRemoval


@dataclass(frozen=True)
class FoldedRemoval:
    """The number of directions, of all `dimension`, that an encoder removes, and the languages that they belong to."""

    gone: int
    dimension: int
    languages: tuple[str, ...]


def fit_removal(
    model: File,
    texts: Mapping[str, Sequence[str]],
    output: File | None = None,
    rank: int = 4,
    sentences: int = 10_000,
    seed: int = 0,
) -> FittedRemoval:
    """Find the directions that an encoder's vectors of a language share, and write them to a file.

    Args:
        model: The encoder, of any kind.
        texts: Sample texts by language.
        output: The file. By default it is `lir.npz` in the folder of a saved encoder or of a run's student.
        rank: The number of directions per language to keep.
        sentences: The greatest number of texts per language to use.
        seed: The seed of the draw of texts.

    Returns:
        The directions, float32 `(rank, dimension)` per language, and their file.

    Raises:
        InputError: If a language has fewer texts than directions, or if `output` has to be given.
        EncoderError: If `model` names no encoder.

    Example:
        >>> import distill
        >>> texts = {"en": ["The Danube ends in the Black Sea.", "Printing began in Mainz."],
        ...          "de": ["Die Donau mündet ins Schwarze Meer.", "Der Buchdruck begann in Mainz."]}
        >>> fitted = distill.fit_removal("multi12-static", texts, "lir.npz", rank=1)
        >>> fitted.removal.components["de"].shape
        (1, 512)
    """
    path = Path(output) if output else find_removal(model)
    require_writable(path)
    chosen = {name: sample_texts(list(lines), sentences, seed) for name, lines in texts.items()}
    require_enough(chosen, rank)
    removal = fit_encoder_removal(load_encoder(model), chosen, rank)
    removal.save(path)
    return FittedRemoval(path, removal)


def remove_language(vectors: File, output: File, removal: File, language: str, rank: int = 1) -> tuple[int, int]:
    """Remove from vectors the directions that those of their language share. The results have unit length again.

    Args:
        vectors: An `.npy` file of unit vectors, float `(n, dimension)`, such as `encode_file` writes.
        output: The `.npy` file to make.
        removal: The file that `fit_removal` wrote.
        language: The language of all texts.
        rank: The number of directions to remove.

    Returns:
        The shape of the vectors.

    Raises:
        InputError: If the dimensions differ, if the language was not fitted, or if there are fewer directions.
        DataError: If a file is not of its format.

    Example:
        >>> import distill, numpy
        >>> texts = {name: ["What is a river?", "Who wrote it?"] for name in ("en", "de")}
        >>> path = distill.fit_removal("multi12-static", texts, "lir.npz", rank=1).path
        >>> numpy.save("texts.npy", distill.load_encoder("multi12-static").encode(texts["en"]))
        >>> distill.remove_language("texts.npy", "without.npy", path, "en")
        (2, 512)
    """
    stored, rows = LanguageRemoval.load(removal), check_vectors(read_vectors(vectors), str(vectors))
    stored.require_dimension(rows.shape[1], str(vectors))
    write_vectors(output, stored.remove(rows, language, rank))
    return rows.shape[0], rows.shape[1]


def fold_removal(model: File, output: File, removal: File | None = None, rank: int = 1) -> FoldedRemoval:
    """Save a copy of an encoder that removes the directions of all languages itself, for text of an unknown language.

    Args:
        model: The encoder, with weights of distill's own.
        output: The folder to make.
        removal: The file that `fit_removal` wrote; by default `lir.npz` beside the encoder.
        rank: The number of directions per language.

    Returns:
        The number of directions that are removed, the dimension of the encoder, and the languages.

    Raises:
        InputError: If there is no file, if it belongs to another encoder, or if it has fewer directions.
        EncoderError: If `model` names no encoder with weights of distill's own.

    Example:
        >>> import distill
        >>> texts = {"en": ["What is a river?", "Who wrote it?"], "de": ["Was ist ein Fluss?", "Wer schrieb es?"]}
        >>> path = distill.fit_removal("my-encoder", texts, "lir.npz", rank=1).path
        >>> distill.fold_removal("my-encoder", "without", path).gone
        2
    """
    require_trainable(model)
    require_writable(output)
    stored = LanguageRemoval.load(removal or find_removal(model, "--removal"))
    matrix = stored.shared_matrix(rank)
    encoder = load_keras_encoder(model)
    stored.require_own(encoder)
    from ..students.project import fold_matrix

    KerasEncoder(fold_matrix(encoder.model, matrix), encoder.tokenizer, encoder.name).save(output)
    gone = encoder.dimension - round(float(matrix.trace()))
    return FoldedRemoval(gone, encoder.dimension, tuple(stored.languages))


def find_removal(model: File, flag: str = "--output") -> Path:
    """Return the path of `lir.npz` beside a saved encoder or a run's student, or name the option as the way out."""
    kind = require_kind(model)
    folder = kind.folder(model) if kind.trainable else None
    # An artefact has only the files that its card names.
    if folder is None or not (folder / MODEL_FILE).exists():
        raise InputError(f"{model}: no folder of a saved encoder that {FILE} could lie in; give {flag}")
    return folder / FILE
