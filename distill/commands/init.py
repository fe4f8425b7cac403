"""`distill init`: a config for a user's own data."""

from __future__ import annotations

import shlex

import click

from .shared.command import command
from .shared.help import option


@command(examples=["distill init my-data", "distill init my-data --document-language de --overwrite"])
@click.argument("folder", type=click.Path(file_okay=False))
@option("--document-language", panel="data", default="en", show_default=True, help="Language of the documents.")
@option("--overwrite", panel="files", is_flag=True, help="Replace an existing distill.toml.")
def init(folder: str, document_language: str, overwrite: bool) -> None:
    """Write a config for your own data.

    FOLDER holds a data set: {lang}.json files in SQuAD's form, or documents.jsonl and questions.jsonl. It may hold
    splits.json, descriptions.jsonl and parallel text (.tsv or .jsonl) too. The command reports what it found and what
    is missing, and writes FOLDER/distill.toml. For text without questions it names the command that learns it.
    """
    from ..errors import escape_controls
    from ..pipeline.own_data import TextAlone, init_config

    config = init_config(folder, document_language, overwrite)
    if isinstance(config, TextAlone):
        return click.echo("\n".join(map(escape_controls, [*config.there, f"no questions; next: {config.command}"])))
    lines = [*config.there, *(f"missing: {line}" for line in config.missing)]
    next_one = f"{config.path}: written; next: distill run --config {shlex.quote(str(config.path))}"
    click.echo("\n".join(map(escape_controls, [*lines, next_one])))
