"""`distill answers`: the quality of predicted answers."""

from __future__ import annotations

import click

from ..settings.choices import COMPARED, EVERY, NORMALISATIONS
from ..settings.sections import Value
from .measure import split_option
from .shared.command import command
from .shared.figures import json_option, write_figures
from .shared.help import option
from .shared.options import settings_options, split_names, take_settings


def _normalisations(context, parameter, values):
    """Return names of `choices.NORMALISATIONS` from values that are comma-separated or repeated."""
    names = tuple(dict.fromkeys(split_names(",".join(values)))) or COMPARED
    if names == (EVERY,):
        return NORMALISATIONS
    return tuple(click.Choice([*NORMALISATIONS, EVERY]).convert(name, parameter, context) for name in names)


@command(
    examples=[
        "distill answers predictions.jsonl --language de",
        "distill answers predictions.jsonl --dataset my-data --split test --normalisation xor,mlqa",
    ],
)
@click.argument("predictions", type=click.Path(dir_okay=False))
@settings_options("answers")
@option(
    "--language",
    panel="input",
    help="Language of lines that do not name theirs. [default: the documents' language]",
)
@option(
    "--normalisation",
    "normalisations",
    panel="evaluation",
    multiple=True,
    callback=_normalisations,
    help=f"How answers are compared: {', '.join(NORMALISATIONS)} or {EVERY}, comma-separated or repeated. "
    f"[default: {','.join(COMPARED)}]",
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
    """Score predicted answers by exact match and F1.

    PREDICTIONS is a JSON Lines file with {"id", "prediction"} on each line, and "language" if there are several. Gold
    answers come from "answers" in the same line, else from the data set.

    plain compares as SQuAD does, morphology ignores inflection, xor and mlqa follow the scripts of XOR-TyDi (with BLEU)
    and MLQA.
    """
    from ..papers.measure_predictions import measure_predictions
    from ..report.score_tables import print_answers

    settings = take_settings(values)
    figures = measure_predictions(predictions, settings.data, settings.seed, split, language, normalisations)
    languages = {name: of.as_dict() for name, of in figures.languages.items()}
    document = {"predictions": predictions, "split": figures.split, "languages": languages}
    write_figures(json_path, document, lambda: print_answers(figures.languages))
