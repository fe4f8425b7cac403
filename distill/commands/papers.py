"""`distill papers`: the tables of a paper on a data set of one's own."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

import click

from ..errors import escape_controls
from ..papers.choices import AUTHORS, FIRST, FORMATS, RECIPES, TABLES
from ..settings.choices import COMPARED, EVERY, NORMALISATIONS
from ..settings.sections import Value
from .measure import split_option
from .shared.command import command, group
from .shared.figures import json_option, write_figures
from .shared.help import option
from .shared.options import settings_options, split_names, take_settings


@group(examples=["distill papers cl-relkt --dataset my-data --seeds 0,1,2 --output tables"])
def papers() -> None:
    """Write the tables of a paper for your own data."""


def _names(context, parameter, value):
    return split_names(value or "")


def _numbers(context, parameter, value):
    """Whole numbers from 0, comma-separated, each once."""
    parts = split_names(value)
    if wrong := [part for part in parts if not (part.isascii() and part.isdigit())]:
        raise click.BadParameter(f"expected whole numbers such as 0,1,2, got {wrong[0]!r}")
    if not parts:
        raise click.BadParameter("expected whole numbers such as 0,1,2, got nothing")
    return tuple(dict.fromkeys(map(int, parts)))


def _formats(context, parameter, value):
    return tuple(
        dict.fromkeys(click.Choice([*FORMATS]).convert(name, parameter, context) for name in split_names(value))
    )


@papers.command(
    "cl-relkt",
    examples=[
        "distill papers cl-relkt --dataset my-data --seeds 0,1,2 --output tables",
        "distill papers cl-relkt --dataset my-data --list --output tables",
    ],
)
@option(
    "--dataset",
    panel="data",
    main=True,
    required=True,
    help="Folder of {lang}.json files or of documents.jsonl, or sample.",
)
@option("--document-language", panel="data", default="en", show_default=True, help="Language of the documents.")
@option(
    "--languages",
    panel="data",
    main=True,
    default="",
    callback=_names,
    help="Languages of the questions, separated by commas. [default: all]",
)
@option(
    "--teacher",
    "language",
    panel="teacher",
    main=True,
    default="",
    help="Language of the teacher. [default: en, or that of the documents]",
)
@option("--base", panel="teacher", default="muse", show_default=True, help="Encoder to train and to test against.")
@option(
    "--recipe",
    panel="files",
    main=True,
    default=AUTHORS,
    show_default=True,
    type=click.Choice(RECIPES),
    help="Recipe of both stages.",
)
@option(
    "--set",
    "assigned",
    panel="files",
    multiple=True,
    metavar="NAME=VALUE",
    help="Override a setting of the recipe; can be repeated.",
)
@option(
    "--split",
    panel="data",
    type=click.Choice(("test", "dev")),
    help="Which questions to measure on. [default: test, or dev without test]",
)
@option(
    "--seeds",
    panel="files",
    main=True,
    default="0",
    show_default=True,
    callback=_numbers,
    help="Seeds, separated by commas; each is a training.",
)
@option(
    "--tables",
    panel="evaluation",
    main=True,
    default=",".join(FIRST),
    show_default=True,
    callback=_names,
    help=f"Tables to write, out of {', '.join(TABLES)}.",
)
@option("--rows", panel="evaluation", default="", callback=_names, help="Train only these rows, named as by --list.")
@option(
    "--format",
    "formats",
    panel="files",
    main=True,
    default=",".join(FORMATS),
    show_default=True,
    callback=_formats,
    help="Formats of the tables, separated by commas.",
)
@option("--list", "listed", panel="files", is_flag=True, help="Print the commands of the rows and start none.")
@option(
    "--output",
    panel="files",
    main=True,
    required=True,
    type=click.Path(file_okay=False),
    help="Folder for the runs and the tables.",
)
def cl_relkt(
    dataset: str,
    document_language: str,
    languages: tuple[str, ...],
    language: str,
    base: str,
    recipe: str,
    assigned: tuple[str, ...],
    split: str | None,
    seeds: tuple[int, ...],
    tables: tuple[str, ...],
    rows: tuple[str, ...],
    formats: tuple[str, ...],
    listed: bool,
    output: str,
) -> None:
    """Train CL-ReLKT on your own data and write the paper's tables.

    The teacher and the student are trained once per seed. Each row of a table is a command of distill, which runs in
    its own process. The same command continues after an interruption, and adds seeds or tables. The files tables.md,
    tables.csv and tables.tex have McNemar's test against the base, after Holm's correction.
    """
    from ..papers.study import TableRequest, list_cl_relkt_commands, plan_cl_relkt, reproduce_cl_relkt
    from ..settings.sections import DataSettings
    from ..system.files import usable_path

    request = TableRequest(tables, rows, seeds, formats)
    data = DataSettings(dataset, document_language, languages)
    study = plan_cl_relkt(data, language, split or "", base, recipe, assigned)
    folder = usable_path(output)
    if listed:
        click.echo(escape_controls("\n".join(list_cl_relkt_commands(study, request, folder))))
        return
    with _say_what_goes_on():
        reproduce_cl_relkt(study, request, folder)
    if "markdown" in formats:
        click.echo(escape_controls((folder / "tables.md").read_text(encoding="utf-8")))
    click.echo(escape_controls(f"tables: {folder}/tables.*"))


@contextmanager
def _say_what_goes_on() -> Iterator[None]:
    """At Ctrl-C say what goes on, and nothing else: the command of a row, which gets it too, says what it was."""
    try:
        yield
    except KeyboardInterrupt as stop:
        click.echo("stopped; the same command goes on with what is missing", err=True)
        if type(stop) is not KeyboardInterrupt:
            raise
        raise click.exceptions.Exit(130) from stop


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
