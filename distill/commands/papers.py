"""`distill papers`: the tables of a paper on a data set of one's own."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial, reduce
from typing import TYPE_CHECKING, TypedDict

import click

from ..errors import escape_controls
from ..papers.choices import AUTHORS, FIRST, FORMATS, RECIPES, TABLES
from ..settings.choices import COMPARED, EVERY, NORMALISATIONS
from ..settings.sections import Value
from .measure import split_option
from .shared.command import command, group
from .shared.help import option
from .shared.options import json_option, settings_options, split_names, take_settings, write_figures

if TYPE_CHECKING:
    from typing_extensions import Unpack

# Helps of options that all papers have.
LANGUAGES = "Languages of the questions, separated by commas. [default: all]"
TEACHER = "Language in which the teacher learns; for LAReQA that of En-En. [default: en, or that of the documents]"
ASSIGNED = "Override a setting of the recipe; can be repeated."
SPLIT = "Which questions to measure on. [default: test, or dev without test]"
SEEDS = "Seeds, separated by commas; each is a training."
ROWS = "Train only these rows, separated by commas. An unknown name is refused with the names of all."
WRITTEN, KINDS = "Tables to write, out of", "Formats of the tables, separated by commas."
OUTPUT = "Folder for the runs and the tables."
# Options of some papers.
OF_LIR = option(
    "--corpus",
    panel="evaluation",
    multiple=True,
    help="Text of a language that LIR learns from, LANGUAGE=FILE; can be repeated. [default: what is searched]",
)
OF_RECIPES = option(
    "--recipe",
    panel="files",
    main=True,
    default=AUTHORS,
    show_default=True,
    type=click.Choice(RECIPES),
    help="Recipe of both stages.",
)
OF_ONE = {"cl-relkt": (OF_RECIPES,), "lareqa": (OF_LIR,), "lir": (OF_LIR,)}


class StudyOptions(TypedDict, total=False):
    """The options of a paper's command; `recipe` is of CL-ReLKT alone, `corpus` of LAReQA and LIR."""

    dataset: str
    document_language: str
    languages: tuple[str, ...]
    language: str
    base: str
    recipe: str
    corpus: tuple[str, ...]
    assigned: tuple[str, ...]
    split: str | None
    seeds: tuple[int, ...]
    tables: tuple[str, ...]
    rows: tuple[str, ...]
    formats: tuple[str, ...]
    listed: bool
    output: str


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


def study_options(paper: str) -> Callable[[click.decorators.FC], click.decorators.FC]:
    """Return what adds the options of a paper's command."""
    options = (*_options_of_data(), *OF_ONE.get(paper, ()), *_options_of_tables(paper))
    return lambda function: reduce(lambda command, add: add(command), reversed(options), function)


def _options_of_data():
    kinds = "Folder of {lang}.json files or of documents.jsonl, or sample."
    return (
        option("--dataset", panel="data", main=True, required=True, help=kinds),
        option("--document-language", panel="data", default="en", show_default=True, help="Language of the documents."),
        option("--languages", panel="data", main=True, default="", callback=_names, help=LANGUAGES),
        option("--teacher", "language", panel="teacher", main=True, default="", help=TEACHER),
        option(
            "--base", panel="teacher", default="muse", show_default=True, help="Encoder to train and to test against."
        ),
    )


def _options_of_tables(paper):
    shown = partial(option, main=True, show_default=True)
    first, every, formats = ",".join(FIRST[paper]), ", ".join(TABLES[paper]), ",".join(FORMATS)
    return (
        option("--set", "assigned", panel="files", multiple=True, metavar="NAME=VALUE", help=ASSIGNED),
        option("--split", panel="data", type=click.Choice(("test", "dev")), help=SPLIT),
        shown("--seeds", panel="files", default="0", callback=_numbers, help=SEEDS),
        shown("--tables", panel="evaluation", default=first, callback=_names, help=f"{WRITTEN} {every}."),
        option("--rows", panel="evaluation", default="", callback=_names, help=ROWS),
        shown("--format", "formats", panel="files", default=formats, callback=_formats, help=KINDS),
        option("--list", "listed", panel="files", is_flag=True, help="Print the commands of the rows and start none."),
        option("--output", panel="files", main=True, required=True, type=click.Path(file_okay=False), help=OUTPUT),
    )


def _examples(paper):
    given = f"distill papers {paper} --dataset my-data"
    return [f"{given} --seeds 0,1,2 --output tables", f"{given} --list --output tables"]


@papers.command("cl-relkt", examples=_examples("cl-relkt"))
@study_options("cl-relkt")
def cl_relkt(**given: Unpack[StudyOptions]) -> None:
    """Train CL-ReLKT on your own data and write the paper's tables.

    The teacher and the student are trained once per seed. Each row of a table is a command of distill, which runs in
    its own process. The same command continues after an interruption, and adds seeds or tables. The files tables.md,
    tables.csv and tables.tex have McNemar's test against the base, after Holm's correction, and each two lines of a
    table are tested against each other.
    """
    _reproduce("cl-relkt", given)


@papers.command("lareqa", examples=_examples("lareqa"))
@study_options("lareqa")
def lareqa(**given: Unpack[StudyOptions]) -> None:
    """Train LAReQA's four encoders on your own data and measure their language bias.

    En-En, X-X, X-X-mono and X-Y learn questions with sentences that answer them, and search sentences of all languages
    in one pool. Data without sentence boundaries is cut. The same command continues after an interruption.
    """
    _reproduce("lareqa", given)


@papers.command("lir", examples=_examples("lir"))
@study_options("lir")
def lir(**given: Unpack[StudyOptions]) -> None:
    """Remove language information from LAReQA's encoders and write LIR's tables.

    The encoders are those of `distill papers lareqa`: with the same --output they are not trained again. The tables are
    tables-lir.md and so on.
    """
    _reproduce("lir", given)


@papers.command("sentri", examples=_examples("sentri"))
@study_options("sentri")
def sentri(**given: Unpack[StudyOptions]) -> None:
    """Train Sentri and its ablations on your own data, which has to have answers.

    Each of four encoders learns what BM25 finds and then twice what it finds itself. The tables have recall by tokens.
    The same command continues after an interruption.
    """
    _reproduce("sentri", given)


def _reproduce(paper: str, given: StudyOptions) -> None:
    """Plan a paper's study, and list its commands or run them and show the tables."""
    from ..papers.study import TableRequest, list_paper_commands, plan_paper, reproduce_paper
    from ..settings.sections import DataSettings
    from ..system.files import usable_path

    request = TableRequest(given["tables"], given["rows"], given["seeds"], given["formats"])
    data = DataSettings(given["dataset"], given["document_language"], given["languages"])
    chosen = given["language"], given["split"] or "", given["base"], given.get("recipe", AUTHORS), given["assigned"]
    study = plan_paper(paper, data, *chosen, given.get("corpus", ()))
    folder = usable_path(given["output"])
    if given["listed"]:
        click.echo(escape_controls("\n".join(list_paper_commands(study, request, folder))))
        return
    with _say_what_goes_on():
        reproduce_paper(study, request, folder)
    if "markdown" in request.formats:
        click.echo(escape_controls((folder / f"{study.stem}.md").read_text(encoding="utf-8")))
    click.echo(escape_controls(f"tables: {folder}/{study.stem}.*"))


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
    ]
)
@click.argument("predictions", type=click.Path(dir_okay=False))
@settings_options("answers")
@option(
    "--language", panel="input", help="Language of lines that do not name theirs. [default: the documents' language]"
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
