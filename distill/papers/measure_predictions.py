"""Predicted answers measured against gold ones, from their own lines or from a data set."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace

from ..errors import InputError
from ..evaluation.answers import AnswerFigures, has_golds, measure_answers, read_predictions
from ..evaluation.tasks.retrieval import RetrievalTask
from ..evaluation.tasks.task import TaskOptions
from ..settings.choices import COMPARED
from ..settings.sections import DataSettings
from ..system.progress import say
from ..system.types import File


@dataclass(frozen=True)
class PredictionFigures:
    """The figures of predicted answers.

    Attributes:
        languages: `{language: figures}`.
        split: The split whose questions are answered; None if the lines have their own gold answers.
    """

    languages: Mapping[str, AnswerFigures]
    split: str | None


def measure_predictions(
    path: File,
    data: DataSettings,
    seed: int,
    split: str,
    language: str | None = None,
    normalisations: Sequence[str] = COMPARED,
) -> PredictionFigures:
    """Measure the predicted answers in a file.

    Args:
        path: The file of JSON lines.
        data: Settings of the data set that has the gold answers.
        seed: Seed of the data set's split.
        split: Name of the split.
        language: Language of lines that name none; None for the documents' language.
        normalisations: Names in `choices.NORMALISATIONS`.

    Returns:
        The figures by language.

    Raises:
        DataError: If lines cannot be read.
        InputError: If no gold answer is known.

    Example:
        >>> import distill, pathlib
        >>> line = '{"id": "1", "language": "en", "answer": "the Black Sea", "answers": ["Black Sea"]}'
        >>> _ = pathlib.Path("answers.jsonl").write_text(line)
        >>> figures = distill.measure_predictions("answers.jsonl", distill.Settings().data, seed=0, split="test")
        >>> figures.languages["en"].matches["plain"].em
        1.0
    """
    of_documents = data.document_language
    rows = read_predictions(path, language or of_documents)
    if has_golds(path, rows):
        figures = {
            name: _figures(name, part, _golds_of_lines(part), name, normalisations) for name, part in rows.items()
        }
        return PredictionFigures(figures, None)
    golds = load_gold_answers(data, seed, split, rows)
    figures = {name: _figures(name, rows[name], known, of_documents, normalisations) for name, known in golds.items()}
    return PredictionFigures(figures, split)


def _golds_of_lines(part) -> dict[str, list[str]]:
    return {id: golds or [] for id, (_, golds) in part.items()}


def _figures(name, part, golds, language, normalisations) -> AnswerFigures:
    figures = measure_answers({id: text for id, (text, _) in part.items()}, golds, language, normalisations)
    if figures.missing:
        say(f"{name}: {figures.missing} of {len(golds)} questions have no prediction; they count as wrong")
    return figures


def load_gold_answers(
    data: DataSettings, seed: int, split: str, languages: Iterable[str]
) -> dict[str, dict[str, tuple[str, ...]]]:
    """Return the gold answers of a split: `{language: {id: answers}}` of the questions that have answers."""
    narrowed = replace(data, languages=tuple(languages))
    task = RetrievalTask.load(data.dataset, TaskOptions(narrowed, split, seed=seed))
    golds = {
        language: {q.id: q.answers for q in task.dataset.select(language, split) if q.answers}
        for language in task.languages
    }
    empty = [language for language, known in golds.items() if not known]
    if empty:
        raise InputError(
            f"{task.dataset.name}: no question in {', '.join(empty)} (split {split}) has an answer; "
            "give the gold ones under 'answers' in the lines"
        )
    return golds
