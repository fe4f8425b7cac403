"""The command that plugs an index into another program: `mcp`."""

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
