"""`distill answers`: how good predicted answers are."""

from __future__ import annotations

import click

from ..errors import InputError
from ..settings.sections import Value
from .measure import split_option
from .options import json_option, settings_from, settings_options


@click.command()
@click.argument("predictions", type=click.Path(dir_okay=False))
@settings_options("", "data")
@click.option("--language", help="of lines without one of their own [default: the documents']")
@split_option
@json_option
def answers(predictions: str, language: str | None, split: str, json_path: str | None, **values: Value | None) -> None:
    """Exact match and F1 of PREDICTIONS by language, as SQuAD counts them and without inflection.

    PREDICTIONS: a line a question, {"id", "prediction"}, with "language" where they are of many. Gold answers are
    those under "answers" in the lines, in the line's language, or else the data set's, in the documents'.
    """
    from ..evaluation.answers import has_golds, measure, read_predictions
    from ..report.score_tables import print_answers
    from ..system.files import write_json
    from ..system.progress import say

    settings = settings_from(values)
    document_language = settings.data.document_language
    rows = read_predictions(predictions, language or document_language)
    with_golds = has_golds(predictions, rows)
    of_lines = {name: {id: golds or [] for id, (_, golds) in part.items()} for name, part in rows.items()}
    figures = {}
    for name, known in (of_lines if with_golds else _golds(settings, split, rows)).items():
        texts = {id: text for id, (text, _) in rows[name].items()}
        figures[name] = measure(texts, known, name if with_golds else document_language)
        if figures[name].missing:
            say(f"{name}: {figures[name].missing} of {len(known)} questions have no prediction; they count as wrong")
    print_answers(figures)
    if json_path:
        languages = {name: of.as_dict() for name, of in figures.items()}
        of_split = None if with_golds else split
        write_json(json_path, {"predictions": predictions, "split": of_split, "languages": languages})


def _golds(settings, split, languages):
    """`{language: {id: answers}}` of the data set's questions that have answers. Raises `InputError` for none."""
    from dataclasses import replace

    from ..evaluation.tasks.retrieval import RetrievalTask
    from ..evaluation.tasks.task import TaskOptions

    narrowed = replace(settings, data=replace(settings.data, languages=tuple(languages)))
    task = RetrievalTask.load(narrowed.data.dataset, TaskOptions(narrowed, split))
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
