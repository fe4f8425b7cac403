"""`distill init`: a config for a user's own data."""

from __future__ import annotations

import shlex

import click


@click.command()
@click.argument("folder", type=click.Path(file_okay=False))
@click.option("--document-language", default="en", show_default=True, help="the language of the documents")
@click.option("--overwrite", is_flag=True, help="replace a distill.toml that is there")
def init(folder: str, document_language: str, overwrite: bool) -> None:
    """Look at the data in FOLDER, say what is there and what is missing, and write FOLDER/distill.toml for it.

    FOLDER holds a data set, {lang}.json in SQuAD form or documents.jsonl and questions.jsonl, and may hold splits.json,
    parallel text, .tsv or .jsonl, and descriptions.jsonl. Of text without questions the command that learns it is said.
    """
    from ..errors import visible
    from ..pipeline.own_data import init_config, text_alone

    if text := text_alone(folder, document_language):
        return click.echo("\n".join(map(visible, [*text.there, f"no questions; next: {text.command}"])))
    config = init_config(folder, document_language, overwrite)
    lines = [*config.there, *(f"missing: {line}" for line in config.missing)]
    next_one = f"{config.path}: written; next: distill run --config {shlex.quote(str(config.path))}"
    click.echo("\n".join(map(visible, [*lines, next_one])))
