"""The commands that put an index where it is used: `mcp` and `page`."""

from __future__ import annotations

import click

from ..catalog.kinds import ENCODER_HELP
from .shared.panels import PanelCommand


@click.command(cls=PanelCommand)
@click.option(
    "--index",
    "folder",
    required=True,
    type=click.Path(file_okay=False),
    help="the folder of distill index that is searched",
)
@click.option("--model", help=f"{ENCODER_HELP} [default: the index's own]")
@click.option("--hybrid", is_flag=True, help="passages with the question's words stand higher; repeats are folded")
@click.option("--name", default="distill", show_default=True, help="what the assistant calls it")
def mcp(folder: str, model: str | None, hybrid: bool, name: str) -> None:
    """Serve an index to an assistant, as a tool of the Model Context Protocol on standard input and output.

    The assistant starts the command; its settings name it.
    """
    from ..plugs.mcp import serve_index

    serve_index(folder, model, hybrid, name)


@click.command(cls=PanelCommand)
@click.argument("documents", nargs=-1, required=True, type=click.Path(), metavar="FILE...")
@click.option("--model", default="released", show_default=True, help=ENCODER_HELP)
@click.option("--title", default="", help="of the page, and its name as an app [default: Ask in your own language]")
@click.option("--about", default="", help="a line under the title")
@click.option("--compact", is_flag=True, help="a quarter of the index's bytes: a bit a number; asks longer")
@click.option("--by-ranges", is_flag=True, help="load what a question needs, of a server that gives parts of files")
@click.option("--language", help="of documents that do not say theirs, for their sentences [default: auto]")
@click.option("--output", required=True, type=click.Path(file_okay=False), help="the page's folder")
def page(
    documents: tuple[str, ...],
    model: str,
    title: str,
    about: str,
    compact: bool,
    by_ranges: bool,
    language: str | None,
    output: str,
) -> None:
    """A page that searches documents by itself, from any static server and without a network.

    FILE... are .jsonl, .csv, .tsv, .txt, .md, .html, .pdf or .docx files, or folders of them.
    """
    from ..indexing.intake import IndexChange
    from ..jobs.make_page import make_page
    from ..system.progress import say

    card = make_page(IndexChange(documents), output, model, title, about, compact, language, by_ranges).card
    say(f"{output}: {card.bytes / 1e6:.1f} MB; python -m http.server --directory {output}")
