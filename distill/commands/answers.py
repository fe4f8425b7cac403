"""`distill answers`: how good predicted answers are."""

from __future__ import annotations

import click

from ..settings.sections import Value
from .measure import split_option
from .options import json_option, settings_from, settings_options


@click.command()
@click.argument("predictions", type=click.Path(dir_okay=False))
@settings_options("seed", "data")
@click.option("--language", help="of lines without one of their own [default: the documents']")
@split_option
@json_option
def answers(predictions: str, language: str | None, split: str, json_path: str | None, **values: Value | None) -> None:
    """Exact match and F1 of PREDICTIONS by language, as SQuAD counts them and without inflection.

    PREDICTIONS: a line a question, {"id", "prediction"}, with "language" where they are of many. Gold answers are
    those under "answers" in the lines, in the line's language, or else the data set's, in the documents'.
    """
    from ..evaluation.tasks.predictions import measure_predictions
    from ..report.score_tables import print_answers
    from ..system.files import write_json

    figures = measure_predictions(predictions, settings_from(values), split, language)
    print_answers(figures.languages)
    if json_path:
        languages = {name: of.as_dict() for name, of in figures.languages.items()}
        write_json(json_path, {"predictions": predictions, "split": figures.split, "languages": languages})
