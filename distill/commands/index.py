"""The commands that make an index, and that put one where it is used: `index`, `mcp` and `page`."""

from __future__ import annotations

import click

from ..encoders.catalog.kinds import ENCODER_HELP
from ..settings.choices import PASSAGE_SCORES
from .shared.command import command
from .shared.help import count_option, option
from .shared.options import (
    add_limit_options,
    asker_option,
    hybrid_option,
    id_field_option,
    sentence_language_option,
    text_field_option,
    title_field_option,
)
from .use import add_engine_options, choose_engine


@command(
    examples=[
        "distill index --documents notes --output kb",
        "distill index --documents faq.csv --text-field answer --hybrid --output kb",
        "distill index --documents notes --sync --output kb",
    ]
)
@option(
    "--model",
    panel="encoder",
    main=True,
    help=f"The encoder: {ENCODER_HELP}. multi12-transformer finds most; multi12-ngram takes a tenth of the time. "
    "[default: that of the index; for a new one multi12-transformer]",
)
@option(
    "--question-model",
    panel="encoder",
    help="Encode questions with this encoder, a small one in the vector space of --model, such as multi12-six for "
    "multi12-transformer. [default: --model]",
)
@option(
    "--score",
    panel="encoder",
    type=click.Choice(PASSAGE_SCORES),
    help="Score a passage by its own vector, by its best sentence, or by the sum of both. [default: the encoder's own, "
    "else sum]",
)
@option(
    "--documents",
    panel="documents",
    main=True,
    multiple=True,
    type=click.Path(),
    metavar="FILE...",
    help="Files to add, or folders of them: .jsonl, .csv, .tsv, .txt, .md, .html, .pdf or .docx.",
)
@click.argument("more", nargs=-1, type=click.Path(), metavar="")
@option("--remove", panel="documents", main=True, multiple=True, metavar="ID", help="Remove the document with this id.")
@option(
    "--sync", panel="documents", main=True, is_flag=True, help="Remove documents whose file or record no longer exists."
)
@option(
    "--remove-most",
    panel="documents",
    is_flag=True,
    help="Let --sync remove all documents of a file or a folder, or more than half of 20 or more.",
)
@option("--strict", panel="documents", is_flag=True, help="Stop at a bad file or record instead of skipping it.")
@add_limit_options
@text_field_option
@title_field_option
@id_field_option
@option(
    "--output",
    panel="stored",
    main=True,
    required=True,
    type=click.Path(file_okay=False),
    help="Folder of the index, new or not.",
)
@option(
    "--compact",
    panel="stored",
    main=True,
    is_flag=True,
    help="Take a quarter of the bytes: one bit per dimension, compressed text. Searches take longer.",
)
@option(
    "--hybrid",
    "words",
    panel="stored",
    main=True,
    is_flag=True,
    help="Store the words too, for distill search --hybrid.",
)
@option(
    "--word-model",
    panel="stored",
    help="With --hybrid: a small encoder that matches words across languages, or none to match words as they are "
    "written. [default: multi12-static]",
)
@count_option("--length", panel="passages", least=50, most=100_000, help="Most characters per passage. [default: 1000]")
@count_option(
    "--overlap",
    panel="passages",
    least=0,
    help="Most characters that two neighbouring passages share, in whole sentences. [default: 0]",
)
@sentence_language_option
@add_engine_options
def index(
    model: str | None,
    question_model: str | None,
    documents: tuple[str, ...],
    more: tuple[str, ...],
    remove: tuple[str, ...],
    sync: bool,
    remove_most: bool,
    strict: bool,
    most_megabytes: float,
    most_seconds: float,
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
    """Make an index of documents for search, or update it.

    A document replaces the one with the same id. If the command is interrupted, run it again: it continues where it
    stopped.
    """
    from ..search_engine.documents.limits import ReadingLimits
    from ..search_engine.documents.records import Columns
    from ..search_engine.indexing.building import COMPACT, IndexSettings, build_index
    from ..search_engine.indexing.intake import IndexChange
    from ..system.progress import say

    columns, limits = Columns(text_field, title_field, id_field), ReadingLimits(most_megabytes, most_seconds)
    change = IndexChange((*documents, *more), remove, columns, strict, sync, remove_most, limits)
    given = IndexSettings(length, overlap, language, score, COMPACT if compact else None, words or None)
    by = choose_engine(model, engine, workers, ray_address)
    card = build_index(output, change, model, given, by, question_model, word_model)
    counts = ", ".join(f"{card[name]} {name}" for name in ("documents", "passages", "sentences"))
    say(f"{output}: {counts}")


@command(quiet=True, examples=["distill mcp --index kb", "distill mcp --index kb --hybrid --name handbook"])
@option(
    "--index",
    "folder",
    panel="index",
    required=True,
    type=click.Path(file_okay=False),
    help="Search this folder, which distill index wrote.",
)
@hybrid_option
@asker_option
@option("--name", panel="server", default="distill", help="Name of the server for the assistant.")
def mcp(folder: str, model: str | None, hybrid: bool, name: str) -> None:
    """Offer an index to an AI assistant as a tool (MCP).

    The assistant starts this command, as its settings say, and speaks the Model Context Protocol with it on standard
    input and output.
    """
    from ..search_engine.plugs.mcp import serve_index

    serve_index(folder, model, hybrid, name)


@command(
    examples=["distill page notes --output site", 'distill page notes --title "Our handbook" --compact --output site']
)
@click.argument("documents", nargs=-1, required=True, type=click.Path(), metavar="FILE...")
@option(
    "--output",
    panel="page",
    required=True,
    type=click.Path(file_okay=False),
    help="Folder of the page, new or to be replaced.",
)
@option(
    "--title",
    panel="page",
    default="",
    help="Title of the page, and its name as an app. [default: Ask in your own language]",
)
@option("--about", panel="page", default="", help="A line below the title.")
@option("--model", panel="encoder", default="multi12-ngram", help=f"The encoder: {ENCODER_HELP}.")
@option(
    "--compact",
    panel="stored",
    is_flag=True,
    help="Take a quarter of the index's bytes: one bit per dimension. Searches take longer.",
)
@option(
    "--by-ranges",
    panel="stored",
    is_flag=True,
    help="Load only the parts of the index that a question needs. The server must support range requests.",
)
@text_field_option
@title_field_option
@sentence_language_option
@add_limit_options
def page(
    documents: tuple[str, ...],
    text_field: str | None,
    title_field: str | None,
    model: str,
    title: str,
    about: str,
    compact: bool,
    by_ranges: bool,
    language: str | None,
    most_megabytes: float,
    most_seconds: float,
    output: str,
) -> None:
    """Make a web page that searches documents in the browser.

    FILE... are .jsonl, .csv, .tsv, .txt, .md, .html, .pdf or .docx files, or folders of them. Any static server can
    host the page, which works offline. The same command again takes in what has changed.
    """
    from ..search_engine.documents.limits import ReadingLimits
    from ..search_engine.documents.records import Columns
    from ..search_engine.indexing.intake import IndexChange
    from ..search_engine.make_page import make_page
    from ..system.progress import say

    limits = ReadingLimits(most_megabytes, most_seconds)
    change = IndexChange(documents, columns=Columns(text_field, title_field), limits=limits)
    card = make_page(change, output, model, title, about, compact, language, by_ranges).card
    serve = f"python -m http.server --directory {output}"
    say(f"{output}: {card.bytes / 1e6:.1f} MB; to see it at http://localhost:8000 run: {serve}")
