"""`distill answers`: how good predicted answers are."""

import click

from ..errors import InputError
from .measure import split_option
from .options import json_option, settings_from, settings_options


@click.command()
@click.argument("predictions", type=click.Path(dir_okay=False))
@settings_options("", "data")
@click.option("--language", help="of lines without one of their own [default: the documents']")
@split_option
@json_option
def answers(predictions, language, split, json_path, **values):
    """Exact match and F1 of PREDICTIONS by language, as SQuAD counts them and without inflection.

    PREDICTIONS: a line a question, {"id", "prediction"}, with "language" where they are of many. Gold answers are
    those under "answers" in the lines, in the line's language, or else the data set's, in the documents'.
    """
    from ..evaluation.answers import measure, own_golds, read_predictions
    from ..report.score_tables import print_answers
    from ..system.files import write_json
    from ..system.progress import say

    settings = settings_from(values)
    document_language = settings.data.document_language
    rows, found = read_predictions(predictions, language or document_language), {}
    own = own_golds(predictions, rows)
    golds = {name: {id: known for id, (_, known) in part.items()} for name, part in rows.items()} if own else None
    for name, known in (golds or _golds(settings, split, rows)).items():
        texts = {id: text for id, (text, _) in rows[name].items()}
        found[name] = measure(texts, known, name if own else document_language)
        if found[name]["missing"]:
            say(f"{name}: {found[name]['missing']} of {len(known)} questions have no prediction; they count as wrong")
    print_answers(found)
    if json_path:
        write_json(json_path, {"predictions": predictions, "split": None if own else split, "languages": found})


def _golds(settings, split, languages):
    """`{language: {id: answers}}` of the data set's questions that have answers. Raises `InputError` for none."""
    from dataclasses import replace

    from ..evaluation.tasks import load_tasks

    asked = replace(settings, data=replace(settings.data, languages=tuple(languages)))
    task = load_tasks([("retrieval", None)], asked, split)[0]
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
