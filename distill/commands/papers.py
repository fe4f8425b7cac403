"""`distill papers`: the tables of a paper on a data set of one's own."""

from __future__ import annotations

import click

from ..errors import visible
from ..papers.choices import AUTHORS, FIRST, FORMATS, RECIPES, TABLES
from .shared.options import split_names


@click.group()
def papers() -> None:
    """The tables of the papers that distill implements, on your own data."""


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


@papers.command("cl-relkt")
@click.option("--dataset", required=True, help="a folder of {lang}.json or documents.jsonl, or 'sample'")
@click.option("--document-language", default="en", show_default=True, help="the language of the documents")
@click.option("--languages", default="", callback=_names, help="question languages, comma-separated [default: all]")
@click.option("--teacher", "language", default="", help="the teacher's language [default: en, else the documents']")
@click.option("--base", default="muse", show_default=True, help="the encoder that is trained, and tested against")
@click.option("--recipe", default=AUTHORS, show_default=True, type=click.Choice(RECIPES), help="of both stages")
@click.option("--set", "assigned", multiple=True, metavar="NAME=VALUE", help="a setting above the recipe; repeatable")
@click.option(
    "--split", type=click.Choice(("test", "dev")), help="the questions that are measured [default: test, else dev]"
)
@click.option("--seeds", default="0", show_default=True, callback=_numbers, help="comma-separated, a training for each")
@click.option("--tables", default=",".join(FIRST), show_default=True, callback=_names, help=f"of {', '.join(TABLES)}")
@click.option("--rows", default="", callback=_names, help="train these rows alone, as --list names them")
@click.option("--format", "formats", default=",".join(FORMATS), show_default=True, callback=_formats, help="of tables")
@click.option("--list", "listed", is_flag=True, help="print the rows' commands, and start none")
@click.option("--output", required=True, type=click.Path(file_okay=False), help="folder for the runs and the tables")
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
    """CL-ReLKT on your own data: train the teacher and the student for each seed, and write the paper's tables.

    Each row of a table is a command of distill, run in a process of its own; --list prints them. What ran is kept in
    --output, so the same command goes on after a stop, and adds seeds or tables. It writes tables.md, tables.csv and
    tables.tex there, with McNemar's test against the base after Holm's correction.
    """
    from ..papers.rows import run_in_process
    from ..papers.study import Wanted, list_commands, read_study, reproduce
    from ..settings.sections import DataSettings
    from ..system.files import usable_path

    wanted = Wanted(tables, rows, seeds, formats)
    data = DataSettings(dataset, document_language, languages)
    study, digest = read_study(data, language, split or "", base, recipe, assigned)
    folder = usable_path(output)
    if listed:
        click.echo(visible("\n".join(list_commands(study, wanted, folder))))
        return
    reproduce(study, digest, wanted, folder, run_in_process)
    click.echo(visible(f"tables: {folder}/tables.*"))
