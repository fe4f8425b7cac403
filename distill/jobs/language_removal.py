"""`distill lir` as a function: the directions that a language's vectors share, fitted, taken off, and folded in."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from ..catalog.kinds import require_kind, require_trainable
from ..catalog.loading import load_encoder, load_keras_encoder
from ..data.corpus import sample_texts
from ..encoders.encoder import MODEL_FILE, KerasEncoder
from ..errors import InputError
from ..evaluation.bias.fitting import fit_encoder_removal, require_enough
from ..evaluation.bias.removal import LanguageRemoval, check_vectors
from ..system.arrays import read_vectors, write_vectors
from ..system.files import require_writable
from ..system.types import File

FILE = "lir.npz"


@dataclass(frozen=True)
class FittedRemoval:
    """The directions of each language, and the file that they were written to."""

    path: Path
    removal: LanguageRemoval


@dataclass(frozen=True)
class FoldedRemoval:
    """Of how many directions of its `dimension` an encoder is rid, and of which languages they were."""

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
    """Find the directions that an encoder's vectors of a language share, and write them.

    Args:
        model: any encoder.
        texts: sample text by language.
        output: the file, by default `lir.npz` in the folder of a saved encoder or of a run's student.
        rank: directions a language to keep.
        sentences: texts that are used of a language, at most.
        seed: draws them.

    Returns:
        The directions, float32 `(rank, dimension)` a language, and their file.

    Raises:
        InputError: for a language with fewer texts than directions, and where `output` is to be named.
        EncoderError: where `model` names no encoder.

    Example:
        >>> import distill
        >>> texts = {"en": ["The Danube ends in the Black Sea.", "Printing began in Mainz."],
        ...          "de": ["Die Donau mündet ins Schwarze Meer.", "Der Buchdruck begann in Mainz."]}
        >>> fitted = distill.fit_removal("released-small", texts, "lir.npz", rank=1)
        >>> fitted.removal.components["de"].shape
        (1, 512)
    """
    path = Path(output) if output else removal_beside(model)
    require_writable(path)
    chosen = {name: sample_texts(list(lines), sentences, seed) for name, lines in texts.items()}
    require_enough(chosen, rank)
    removal = fit_encoder_removal(load_encoder(model), chosen, rank)
    removal.save(path)
    return FittedRemoval(path, removal)


def remove_language(vectors: File, output: File, removal: File, language: str, rank: int = 1) -> tuple[int, int]:
    """Write vectors without the directions that a language's vectors share, at unit length again.

    Args:
        vectors: an `.npy` of float rows `(n, d)` of unit length, such as `encode_file` writes.
        output: the `.npy` that is made.
        removal: the file that `fit_removal` wrote.
        language: that of all the texts.
        rank: directions that are taken off.

    Returns:
        The shape of the vectors.

    Raises:
        InputError: for another dimension, a language that was not fitted, or more directions than there are.
        DataError: for a file that is no such file.

    Example:
        >>> import distill, numpy
        >>> texts = {name: ["What is a river?", "Who wrote it?"] for name in ("en", "de")}
        >>> path = distill.fit_removal("released-small", texts, "lir.npz", rank=1).path
        >>> numpy.save("texts.npy", distill.load_encoder("released-small").encode(texts["en"]))
        >>> distill.remove_language("texts.npy", "without.npy", path, "en")
        (2, 512)
    """
    stored, rows = LanguageRemoval.load(removal), check_vectors(read_vectors(vectors), str(vectors))
    stored.require_dimension(rows.shape[1], str(vectors))
    write_vectors(output, stored.remove(rows, language, rank))
    return rows.shape[0], rows.shape[1]


def fold_removal(model: File, output: File, removal: File | None = None, rank: int = 1) -> FoldedRemoval:
    """Save a copy of an encoder that removes all languages' directions itself, for text of an unknown language.

    Args:
        model: an encoder with weights of ours.
        output: the folder that is made.
        removal: the file that `fit_removal` wrote, by default `lir.npz` beside the encoder.
        rank: directions a language.

    Returns:
        How many directions are gone.

    Raises:
        InputError: where there is no file, it is of another encoder, or it has fewer directions.
        EncoderError: where `model` names no encoder with weights of ours.

    Example:
        >>> import distill
        >>> texts = {"en": ["What is a river?", "Who wrote it?"], "de": ["Was ist ein Fluss?", "Wer schrieb es?"]}
        >>> path = distill.fit_removal("released-small", texts, "lir.npz", rank=1).path
        >>> distill.fold_removal("released-small", "without", path).gone
        2
    """
    require_trainable(model)
    require_writable(output)
    stored = LanguageRemoval.load(removal or removal_beside(model, "--removal"))
    matrix = stored.shared(rank)
    encoder = load_keras_encoder(model)
    stored.require_own(encoder)
    from ..students.project import folded

    KerasEncoder(folded(encoder.model, matrix), encoder.tokenizer, encoder.name).save(output)
    gone = encoder.dimension - round(float(matrix.trace()))
    return FoldedRemoval(gone, encoder.dimension, tuple(stored.languages))


def removal_beside(model: File, flag: str = "--output") -> Path:
    """Return `lir.npz` in the folder of a saved encoder or of a run's student. Raises `InputError` for another."""
    kind = require_kind(model)
    folder = kind.folder(model) if kind.trainable else None
    # The files of an artefact are those that its card names.
    if folder is None or not (folder / MODEL_FILE).exists():
        raise InputError(f"{model}: no folder of a saved encoder that {FILE} could lie in; give {flag}")
    return folder / FILE
