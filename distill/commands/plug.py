"""The commands that put an index where it is used: `mcp` and `page`."""

from __future__ import annotations

import click

from ..encoders.catalog.kinds import ENCODER_HELP
from .shared.command import command
from .shared.help import option
from .shared.options import (
    add_limit_options,
    asker_option,
    hybrid_option,
    sentence_language_option,
    text_field_option,
    title_field_option,
)


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
@option("--name", panel="server", default="distill", help="Name of the tool for the assistant.")
def mcp(folder: str, model: str | None, hybrid: bool, name: str) -> None:
    """Offer an index to an AI assistant as a tool (MCP).

    The assistant starts this command, as its settings say, and speaks the Model Context Protocol with it on standard
    input and output.
    """
    from ..search_engine.plugs.mcp import serve_index

    serve_index(folder, model, hybrid, name)


@command(
    examples=[
        "distill page notes --output site",
        'distill page notes --title "Our handbook" --compact --output site',
    ],
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
