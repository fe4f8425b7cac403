"""`distill prune` as a function: an encoder with the pieces alone that some text uses."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from ..catalog.loading import load_keras_encoder
from ..data.dataset import Dataset
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
    """Save a copy of an encoder with only the pieces that a data set's languages use, and single characters.

    Counted are the train questions of the languages, all documents, and the corpus; neither dev nor test questions.

    Args:
        model: an encoder with weights of ours.
        output: the folder that is made.
        dataset: whose text is counted.
        languages: those of the questions; empty for all.
        corpus: more text to keep, by language.
        rule: how many uses a piece needs to stay, how many pieces stay at most, and the scripts that stay whole; None
            for every piece that is used.
        seed: draws the tenth of the text that shows what pruning costs on unseen text.

    Returns:
        The figures of `students.vocabulary.pruning.prune`: `rows` and `bytes` before and after, and what changes.

    Raises:
        ConfigError: for a script that there is not.
        DataError: for a language that the data set lacks.
        InputError: where no piece is left.
        EncoderError: where `model` names no encoder with weights of ours.

    Example:
        >>> import distill
        >>> sample = distill.load_dataset("sample")
        >>> report = distill.prune_vocabulary("released-small", "pruned", sample, ["de", "en"])
        >>> report["rows"][1] < report["rows"][0]
        True
    """
    start()
    from ..students.vocabulary.pruning import PieceRule, lines_of, not_kept, prune

    require_writable(output)
    rule = (rule or PieceRule()).check()
    chosen = tuple(languages) or dataset.languages
    dataset.require(chosen)
    lines, others = lines_of(dataset, chosen, corpus)
    smaller, report = prune(load_keras_encoder(model), lines, others, rule, seed)
    for language in report["left"]:
        row = report["unseen"][language]
        changed = f"{100 * row['changed']:.0f} % of its questions are cut otherwise"
        say(f"{not_kept(language, row['unk'])}, {changed}")
    smaller.save(output)
    return report
