"""Make an encoder smaller without training: another shape, fewer tokens or fewer languages."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from ..data.dataset import Dataset
from ..encoders.catalog.bundle import find_artefact
from ..encoders.catalog.identity import describe_origin
from ..encoders.catalog.loading import load_keras_encoder
from ..errors import InputError
from ..system.backend import start
from ..system.files import require_writable
from ..system.progress import say
from ..system.types import File, Json

if TYPE_CHECKING:
    from ..export.subset import Subset
    from ..students.shape import Shape
    from ..students.vocabulary.pruning import PieceRule


@dataclass(frozen=True)
class ReducedSize:
    """The number of weights of an encoder before and after."""

    before: int
    after: int


def reduce_encoder(
    model: File, output: File, shape: Shape, dataset: Dataset, languages: Sequence[str] = (), seed: int = 0
) -> ReducedSize:
    """Save a copy of an encoder in another shape: sliced, factorised and refitted on a data set, but not yet trained.

    Args:
        model: The encoder, with weights of distill's own, such as `multi12-ngram`.
        output: The folder to make. Train it with `transfer`, as the start of a student.
        shape: The sizes to change.
        dataset: The data set on whose passages and train questions the copy is refitted.
        languages: The languages of the questions; empty for all.
        seed: The seed of all random draws.

    Returns:
        The numbers of weights before and after.

    Raises:
        InputError: If the shape changes nothing.
        ConfigError: If the shape cannot be cut out of the encoder.
        DataError: If the data set lacks a language.
        EncoderError: If `model` names no encoder with weights of distill's own.

    Example:
        >>> import distill
        >>> shape, data = distill.Shape(channels=4), distill.load_dataset("my-data")
        >>> size = distill.reduce_encoder("my-ngram-encoder", "thin", shape, data)
        >>> size.after < size.before
        True
    """
    start()
    from .compression.candidates import cut_to_shape

    if shape.whole:
        raise InputError("nothing to reduce; give a size, such as --channels 128 or --static")
    require_writable(output)
    chosen = tuple(languages) or dataset.languages
    dataset.require(chosen)
    encoder = load_keras_encoder(model)
    smaller = cut_to_shape(encoder, shape, dataset, chosen, seed)
    smaller.save(output)
    return ReducedSize(encoder.model.count_params(), smaller.model.count_params())


def prune_vocabulary(
    model: File,
    output: File,
    dataset: Dataset,
    languages: Sequence[str] = (),
    corpus: Mapping[str, Sequence[str]] | None = None,
    rule: PieceRule | None = None,
    seed: int = 0,
) -> dict[str, Json]:
    """Save a copy of an encoder with only the tokens that the languages of a data set use, and single characters.

    The train questions of the languages, all documents, and the corpus are counted. Dev and test questions are not.

    Args:
        model: The encoder, with weights of distill's own.
        output: The folder to make.
        dataset: The data set whose text is counted.
        languages: The languages of the questions; empty for all.
        corpus: More text to count, by language.
        rule: How many uses a token needs to stay, how many tokens stay at most, and the scripts that stay whole; None
            for every token that is used.
        seed: The seed of the draw of the tenth of the text that shows what pruning costs on unseen text.

    Returns:
        The figures of `students.vocabulary.pruning.prune`: `rows` and `bytes` before and after, and the changes.

    Raises:
        ConfigError: If there is no such script.
        DataError: If the data set lacks a language.
        InputError: If no token is left.
        EncoderError: If `model` names no encoder with weights of distill's own.

    Example:
        >>> import distill
        >>> data = distill.load_dataset("my-data")
        >>> report = distill.prune_vocabulary("my-encoder", "pruned", data, ["de", "en"])
        >>> report["rows"][1] < report["rows"][0]
        True
    """
    start()
    from ..students.vocabulary.pruning import PieceRule, collect_lines, format_not_kept, prune

    require_writable(output)
    rule = (rule or PieceRule()).check()
    chosen = tuple(languages) or dataset.languages
    dataset.require(chosen)
    lines, others = collect_lines(dataset, chosen, corpus)
    smaller, report = prune(load_keras_encoder(model), lines, others, rule, seed)
    for language in report["left"]:
        row = report["unseen"][language]
        changed = f"{100 * row['changed']:.0f} % of its questions are cut otherwise"
        say(f"{format_not_kept(language, row['unk'])}, {changed}")
    smaller.save(output)
    return report


def subset_languages(model: File, output: File, languages: Sequence[str]) -> Subset:
    """Write a bundle of some of an encoder's languages, without data and without training.

    Tokens that these languages use stay, and so do those that every language needs, such as digits. A text that loses
    no token keeps its vector to the last bit.

    Args:
        model: A bundle, a run folder that holds one, or a name such as `multi12-ngram`.
        output: The folder to make.
        languages: The languages to keep.

    Returns:
        The numbers of tokens and of bytes, each before and after.

    Raises:
        InputError: If there are no languages, if the encoder lacks one, or if nothing would be left out.
        EncoderError: If `model` names no bundle, or one that does not say which languages use its tokens.

    Example:
        >>> import distill
        >>> smaller = distill.subset_languages("my-run", "german", ["de"])
        >>> smaller.pieces[1] < smaller.pieces[0]
        True
    """
    if not languages:
        raise InputError("--languages: expected languages such as de,ru, got none")
    artefact = find_artefact(model)
    require_writable(output)
    start()
    from ..export.subset import write_subset

    return write_subset(artefact, output, languages, str(describe_origin(model)["source"]))
