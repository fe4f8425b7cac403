"""`distill mcp`: an index as a tool of assistants, over the Model Context Protocol on standard input and output."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, TypeAlias

from .. import __version__
from ..errors import InputError
from ..indexing.answers import Answers
from ..system.extras import require_extra
from ..system.types import File, Json

if TYPE_CHECKING:
    from mcp.server import MCPServer

# The SDK makes a schema of what a tool returns, and none of a type that names itself.
Structured: TypeAlias = dict[str, Any]
# Passages of one call: more would fill an assistant's memory with what is far from the question.
MOST = 50
SHOWN = 5


def serve_index(folder: File, model: File | None = None, hybrid: bool = False, name: str = "distill") -> None:
    """Serve an index to an assistant that started this process, until it ends the process.

    Args:
        folder: the folder of `distill index`.
        model: the encoder of the questions; None for the index's own.
        hybrid: passages with the question's words stand higher.
        name: what the assistant calls the server.

    Raises:
        InputError: where the package mcp is not installed.
        DataError: for a folder without an index.
        EncoderError: for an encoder of another space.
    """
    make_server(folder, model, hybrid, name).run("stdio")


def make_server(folder: File, model: File | None = None, hybrid: bool = False, name: str = "distill") -> MCPServer:
    """Return the server, its index loaded; arguments and errors are those of `serve_index`."""
    require_extra("distill mcp", ["mcp"], "mcp")
    try:
        from mcp.server import MCPServer
        from mcp.server.mcpserver.exceptions import ToolError
    except ImportError as error:
        raise InputError("distill mcp needs mcp 2 or newer; run: pip install 'distill[mcp]'") from error

    answers = Answers(folder, model, hybrid=hybrid)
    server = MCPServer(name, instructions=_describe(answers), version=__version__, log_level="ERROR")

    # Not in a thread of its own: one encoder answers one question after the other.
    @server.tool(description=_describe(answers))
    async def search(question: str, count: int = SHOWN) -> Structured:
        try:
            return find_passages(answers, question, count)
        except InputError as error:
            raise ToolError(str(error)) from error

    return server


def _describe(answers):
    index = answers.index
    return (
        f"Searches {index.documents} documents by meaning, in {index.passages} passages. A question may be in another "
        "language than the documents. Returns the nearest passages, best first, with text, best sentence, score and "
        f"document: `count` of them, from 1 to {MOST}."
    )


def find_passages(answers: Answers, question: str, count: int = SHOWN) -> dict[str, Json]:
    """Return the passages that are nearest to a question, as `distill search --json` prints them.

    Raises `InputError` for an empty question, or another number of passages than 1 to `MOST`.
    """
    if not question.strip():
        raise InputError("the question is empty; give a text")
    if not 1 <= count <= MOST:
        raise InputError(f"count: expected a number from 1 to {MOST}, got {count}")
    (answer,) = answers.answers([question], count)
    return answer.as_dict()
