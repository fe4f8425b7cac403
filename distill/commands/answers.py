"""`distill answers`: how good predicted answers are."""

from __future__ import annotations

import click

from ..settings.choices import COMPARED, EVERY, NORMALISATIONS
from ..settings.sections import Value
from .measure import split_option
from .shared.options import json_option, settings_from, settings_options, split_names
from .shared.setting_options import SettingsCommand


def _normalisations(context, parameter, values):
    """Names of `choices.NORMALISATIONS`, comma-separated or repeated; `all` of them."""
    names = tuple(dict.fromkeys(split_names(",".join(values)))) or COMPARED
    if names == (EVERY,):
        return NORMALISATIONS
    return tuple(click.Choice([*NORMALISATIONS, EVERY]).convert(name, parameter, context) for name in names)


@click.command(cls=SettingsCommand)
@click.argument("predictions", type=click.Path(dir_okay=False))
@settings_options("answers")
@click.option("--language", help="of lines without one of their own [default: the documents']")
@click.option(
    "--normalisation",
    "normalisations",
    multiple=True,
    callback=_normalisations,
    help=f"{', '.join(NORMALISATIONS)}, comma-separated or repeated, or {EVERY} [default: {','.join(COMPARED)}]",
)
@split_option
@json_option
def answers(
    predictions: str,
    language: str | None,
    normalisations: tuple[str, ...],
    split: str,
    json_path: str | None,
    **values: Value | None,
) -> None:
    """Exact match and F1 of PREDICTIONS by language: as SQuAD counts them (plain), and without inflection (morphology).

    As the scripts of XOR-TyDi, with its BLEU, and of MLQA count them (--normalisation xor,mlqa).

    PREDICTIONS: a line a question, {"id", "prediction"}, with "language" where they are of many. Gold answers are
    those under "answers" in the lines, in the line's language, or else the data set's, in the documents'.
    """
    from ..evaluation.tasks.predictions import measure_predictions
    from ..report.score_tables import print_answers
    from ..system.files import write_json

    settings = settings_from(values)
    figures = measure_predictions(predictions, settings.data, settings.seed, split, language, normalisations)
    print_answers(figures.languages)
    if json_path:
        languages = {name: of.as_dict() for name, of in figures.languages.items()}
        write_json(json_path, {"predictions": predictions, "split": figures.split, "languages": languages})
