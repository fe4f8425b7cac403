"""Serve an index to assistants as a tool, by the Model Context Protocol on standard input and output: `distill mcp`."""

from __future__ import annotations

import asyncio
import io
import json
import sys
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING, Any, TypeAlias

from ... import __version__
from ...encoders.files.questions import late_problem, require_question
from ...errors import InputError
from ...settings.choices import SECONDS
from ...system.extras import install_command, require_extra
from ...system.input_files import SURROGATE
from ...system.text import dump_json
from ...system.types import File, Json
from ..indexing.answers import Answers

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
    server = make_server(folder, model, hybrid, name)
    sys.stdin = io.TextIOWrapper(io.BufferedReader(_WellFormedLines(sys.stdin.buffer)), encoding="utf-8")
    server.run("stdio")


class _WellFormedLines(io.RawIOBase):
    """Lines of JSON with U+FFFD for lone surrogates: the SDK cannot parse a line with one, and leaves it unanswered."""

    def __init__(self, lines):
        self._lines, self._rest = iter(lines), memoryview(b"")

    def readable(self):
        return True

    def readinto(self, room):
        self._rest = self._rest or memoryview(_mend_line(next(self._lines, b"")))
        count = min(len(room), len(self._rest))
        room[:count], self._rest = self._rest[:count], self._rest[count:]
        return count


def _mend_line(line):
    if not SURROGATE.search(line.decode("ascii", "replace")):
        return line
    try:
        return dump_json(json.loads(line)).encode() + b"\n"
    except (ValueError, RecursionError):
        return line


def make_server(
    folder: File, model: File | None = None, hybrid: bool = False, name: str = "distill", seconds: float = SECONDS
) -> MCPServer:
    """Load an index and make the server that searches it.

    Args:
        folder: The folder of `distill index`.
        model: The encoder of the questions; None for the one of the index.
        hybrid: If True, passages that hold the words of the question rank higher.
        seconds: The time in which a question is answered.

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

    # The encoder answers one question at a time, and those that wait too long are not begun.
    thread = ThreadPoolExecutor(1, "questions")

    @server.tool(description=_describe(answers))
    async def search(question: str, count: int = SHOWN) -> Structured:
        try:
            _require_call(question, count)
            work = asyncio.get_running_loop().run_in_executor(thread, find_passages, answers, question, count)
            return await asyncio.wait_for(work, seconds)
        except InputError as error:
            raise ToolError(str(error)) from error
        except asyncio.TimeoutError:
            raise ToolError(late_problem(seconds)) from None

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

    Returns:
        The passages in the form of `distill search --json`.

    Raises:
        InputError: If the question is empty or too long, or if `count` is not between 1 and `MOST`.
    """
    _require_call(question, count)
    (answer,) = answers.answers([question], count)
    return answer.as_dict()


def _require_call(question, count):
    require_question(question)
    if not 1 <= count <= MOST:
        raise InputError(f"count: expected a number from 1 to {MOST}, got {count}")
