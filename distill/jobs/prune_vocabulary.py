"""Keep only the tokens of an encoder that some text uses: `distill prune` as a function."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from ..data.dataset import Dataset
from ..encoders.catalog.loading import load_keras_encoder
from ..system.backend import start
from ..system.files import require_writable
from ..system.progress import say
from ..system.types import File, Json

if TYPE_CHECKING:
    from ..students.vocabulary.pruning import PieceRule


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
