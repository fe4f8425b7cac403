"""Serve an index to assistants as a tool, by the Model Context Protocol on standard input and output: `distill mcp`."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, TypeAlias

from .. import __version__
from ..errors import InputError
from ..indexing.answers import Answers
from ..system.extras import install_command, require_extra
from ..system.types import File, Json

if TYPE_CHECKING:
    from mcp.server import MCPServer

# The SDK derives a schema from the return type of a tool, and cannot do so from a recursive type.
Structured: TypeAlias = dict[str, Any]
# The greatest number of passages per call: more would fill an assistant's context with passages far from the question.
MOST = 50
SHOWN = 5


def serve_index(folder: File, model: File | None = None, hybrid: bool = False, name: str = "distill") -> None:
    """Serve an index to an assistant that started this process, until the assistant ends it.

    Args:
        folder: The folder of `distill index`.
        model: The encoder of the questions; None for the one of the index.
        hybrid: If True, passages that hold the words of the question rank higher.
        name: The name of the server for the assistant.

    Raises:
        InputError: If the package mcp is not installed.
        DataError: If the folder holds no index.
        EncoderError: If the encoder has another space than the index.

    Example:
        >>> import distill
        >>> distill.serve_index("my-index", hybrid=True)
    """
    make_server(folder, model, hybrid, name).run("stdio")


def make_server(folder: File, model: File | None = None, hybrid: bool = False, name: str = "distill") -> MCPServer:
    """Load an index and make the server that searches it.

    Args:
        folder: The folder of `distill index`.
        model: The encoder of the questions; None for the one of the index.
        hybrid: If True, passages that hold the words of the question rank higher.
        name: The name of the server for the assistant.

    Returns:
        The server.

    Raises:
        InputError: If the package mcp is not installed.
        DataError: If the folder holds no index.
        EncoderError: If the encoder has another space than the index.
    """
    require_extra("distill mcp", ["mcp"], "mcp")
    try:
        from mcp.server import MCPServer
        from mcp.server.mcpserver.exceptions import ToolError
    except ImportError as error:
        raise InputError(f"distill mcp needs mcp 2 or newer; run: {install_command('mcp')}") from error

    answers = Answers(folder, model, hybrid=hybrid)
    server = MCPServer(name, instructions=_describe(answers), version=__version__, log_level="ERROR")

    # The tool is async and thus runs in no other thread: the encoder answers one question at a time.
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
    """Find the passages that are nearest to a question.

    Args:
        answers: The index that is searched.
        question: The question.
        count: The number of passages.

    Returns:
        The passages in the form of `distill search --json`.

    Raises:
        InputError: If the question is empty, or if `count` is not between 1 and `MOST`.
    """
    if not question.strip():
        raise InputError("the question is empty; give a text")
    if not 1 <= count <= MOST:
        raise InputError(f"count: expected a number from 1 to {MOST}, got {count}")
    (answer,) = answers.answers([question], count)
    return answer.as_dict()
