"""Serve an index to assistants as a tool, by the Model Context Protocol on standard input and output: `distill mcp`."""

from __future__ import annotations

import asyncio
import io
import json
import re
import sys
from concurrent.futures import ThreadPoolExecutor
from typing import TYPE_CHECKING, Any, TypeAlias

from ... import __version__
from ...encoders.files.questions import encode_question, late_problem, require_question, size_problem
from ...errors import InputError
from ...settings.choices import PIECES, SECONDS
from ...system.extras import install_command, require_extra
from ...system.input_files import SURROGATE
from ...system.text import dump_json
from ...system.types import File, Json
from ..indexing.answers import Answers

if TYPE_CHECKING:
    from mcp.server import MCPServer
    from mcp.server.context import CallNext, HandlerResult, ServerRequestContext

# The SDK derives a schema from the return type of a tool, and cannot do so from a recursive type.
Structured: TypeAlias = dict[str, Any]
# The greatest number of passages per call: more would fill an assistant's context with passages far from the question.
MOST = 50
SHOWN = 5
# The greatest number of bytes of a message: the longest question, each letter of it written as two escapes, is half.
MESSAGE = 500_000
# Of a longer message, the bytes of its begin and of its end among which its id is looked for.
ENDS = 4096
# The method that stands for such a message.
TOO_LARGE = "distill/too-large"
SCALAR, ID = rb'(?:"(?:[^"\\]|\\.)*"|[-+.\w]+)', rb'(-?\d{1,18}|"(?:[^"\\]|\\.){0,200}")'
# An id with only numbers and short texts before it, or behind it, which therefore is none of a part.
FIRST = re.compile(rb'\s*\{(?:\s*"[^"\\]*"\s*:\s*' + SCALAR + rb'\s*,)*?\s*"id"\s*:\s*' + ID + rb"\s*[,}]")
LAST = re.compile(rb',\s*"id"\s*:\s*' + ID + rb'\s*(?:,\s*"[^"\\]*"\s*:\s*' + SCALAR + rb"\s*)*\}\s*$")


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
    sys.stdin = io.TextIOWrapper(io.BufferedReader(_Messages(sys.stdin.buffer)), encoding="utf-8")
    server.run("stdio")


class _Messages(io.RawIOBase):
    """Lines of JSON as the SDK can take them.

    One with a lone surrogate, which it could not parse, and would leave unanswered, has U+FFFD in its place. One that
    is too long, which it would hold several times, is passed over as it comes, and a request to be refused stands for
    it.
    """

    def __init__(self, file):
        self._file, self._rest = file, memoryview(b"")

    def readable(self):
        return True

    def readinto(self, room):
        self._rest = self._rest or memoryview(_mend_line(_read_line(self._file)))
        count = min(len(room), len(self._rest))
        room[:count], self._rest = self._rest[:count], self._rest[count:]
        return count


def _read_line(file):
    line = file.readline(MESSAGE)
    if len(line) < MESSAGE or line.endswith(b"\n"):
        return line
    begin, end = line[:ENDS], line[-ENDS:]
    while line and not line.endswith(b"\n"):
        line = file.readline(MESSAGE)
        end = (end + line)[-ENDS:]
    return _stand_for(FIRST.match(begin) or LAST.search(end))


def _stand_for(id):
    """Return the request that is answered in place of the one whose id was found, and a blank line if none was."""
    try:
        request = {"jsonrpc": "2.0", "id": json.loads(id[1]), "method": TOO_LARGE} if id else None
    except ValueError:
        request = None
    return (dump_json(request).encode() if request else b"") + b"\n"


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
    """Load an index and make the server that searches it."""
    require_extra("distill mcp", ["mcp"], "mcp")
    try:
        from mcp.server import MCPServer
        from mcp.server.mcpserver.exceptions import ToolError
    except ImportError as error:
        raise InputError(f"distill mcp needs mcp 2 or newer; run: {install_command('mcp')}") from error

    answers = Answers(folder, model, hybrid=hybrid)
    described = _describe(answers)
    server = MCPServer(
        name, instructions=described, version=__version__, log_level="ERROR", middleware=[_refuse_too_large]
    )

    # The encoder answers one question at a time, and those that wait too long are not begun.
    thread = ThreadPoolExecutor(1, "questions")

    @server.tool(description=described)
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


async def _refuse_too_large(ctx: ServerRequestContext, call_next: CallNext) -> HandlerResult:
    from mcp import MCPError
    from mcp_types import INVALID_REQUEST

    if ctx.method == TOO_LARGE:
        raise MCPError(INVALID_REQUEST, size_problem("the message", MESSAGE))
    return await call_next(ctx)


def _describe(answers):
    index = answers.index
    return (
        f"Searches {index.documents} documents by meaning, in {index.passages} passages. A question may be in another "
        "language than the documents. Returns the nearest passages, best first, with text, best sentence, score and "
        f"document: `count` of them, from 1 to {MOST}."
    )


def find_passages(answers: Answers, question: str, count: int = SHOWN) -> dict[str, Json]:
    """Find the passages that are nearest to a question. Returns the passages in the form of `distill search --json`."""
    _require_call(question, count)
    vector = encode_question(answers.encoder, question, PIECES)
    return answers.judge(question, vector, count, hybrid=answers.hybrid).as_dict()


def _require_call(question, count):
    require_question(question)
    if not 1 <= count <= MOST:
        raise InputError(f"count: expected a number from 1 to {MOST}, got {count}")
