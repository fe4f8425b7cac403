"""`distill index`: documents into an index that `distill search --index` searches."""

from __future__ import annotations

import click

from ..catalog.kinds import ENCODER_HELP
from ..settings.choices import PASSAGE_SCORES
from .shared.panels import PanelCommand
from .use import engine_of, engine_options


@click.command(cls=PanelCommand)
@click.option("--model", required=True, help=ENCODER_HELP)
@click.option(
    "--question-model", help="the encoder of the questions, a small one in --model's space [default: --model]"
)
@click.option(
    "--documents",
    multiple=True,
    type=click.Path(),
    metavar="FILE...",
    help=".jsonl, .csv, .tsv, .txt, .md, .html, .pdf or .docx files, folders of them",
)
@click.argument("more", nargs=-1, type=click.Path(), metavar="")
@click.option("--remove", multiple=True, metavar="ID", help="a document that is taken out")
@click.option("--sync", is_flag=True, help="take out the documents whose file or record is gone from what is given")
@click.option("--strict", is_flag=True, help="refuse a bad file or record in place of leaving it out")
@click.option("--text-field", metavar="NAME", help="of records: the field, or column, of the text [default: text]")
@click.option("--title-field", metavar="NAME", help="of records: that of the title [default: title]")
@click.option("--id-field", metavar="NAME", help="of records: that of the id [default: id]")
@click.option("--output", required=True, type=click.Path(file_okay=False), help="the index's folder")
@click.option("--length", type=click.IntRange(50, 100_000), help="characters of a passage, at most [default: 1000]")
@click.option(
    "--overlap", type=click.IntRange(0), help="characters of whole sentences that two passages share [default: 0]"
)
@click.option("--language", help="of documents that do not say theirs, for their sentences [default: auto]")
@click.option("--score", type=click.Choice(PASSAGE_SCORES), help="of a passage [default: the encoder's, else sum]")
@click.option("--compact", is_flag=True, help="a quarter of the bytes: a bit a number, text deflated; asks longer")
@click.option("--hybrid", "words", is_flag=True, help="the words too, for search --hybrid")
@click.option(
    "--word-model",
    help="with --hybrid: a small encoder that matches words across languages, or 'none' for words as they are written "
    "[default: released-small]",
)
@engine_options
def index(
    model: str,
    question_model: str | None,
    documents: tuple[str, ...],
    more: tuple[str, ...],
    remove: tuple[str, ...],
    sync: bool,
    strict: bool,
    text_field: str | None,
    title_field: str | None,
    id_field: str | None,
    output: str,
    length: int | None,
    overlap: int | None,
    language: str | None,
    score: str | None,
    compact: bool,
    words: bool,
    word_model: str | None,
    engine: str,
    workers: int | None,
    ray_address: str | None,
) -> None:
    """An index of documents, or more documents for it.

    A document takes the place of the one with its id. The same command goes on with what a stopped one wrote.
    """
    from ..documents.records import Columns
    from ..indexing.building import COMPACT, IndexSettings, build_index
    from ..indexing.intake import IndexChange
    from ..system.progress import say

    change = IndexChange((*documents, *more), remove, Columns(text_field, title_field, id_field), strict, sync)
    given = IndexSettings(length, overlap, language, score, COMPACT if compact else None, words or None)
    by = engine_of(model, engine, workers, ray_address)
    card = build_index(output, change, model, given, by, question_model, word_model)
    counts = ", ".join(f"{card[name]} {name}" for name in ("documents", "passages", "sentences"))
    say(f"{output}: {counts}")
