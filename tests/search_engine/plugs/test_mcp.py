"""An index as an assistant's tool, asked by the protocol's own client over the command's input and output."""

import asyncio
import json
import subprocess
import sys

import pytest
from mcp import Client, StdioServerParameters, stdio_client

from distill.errors import DataError, InputError
from distill.search_engine.indexing.answers import Answers
from distill.search_engine.indexing.building import IndexChange, build_index
from distill.search_engine.plugs.mcp import MOST, find_passages, make_server, serve_index


@pytest.fixture(scope="module")
def kb(tmp_path_factory, sample):
    folder = tmp_path_factory.mktemp("kb")
    rows = [{"id": str(row), "text": text} for row, text in enumerate(sample.document_texts[:8])]
    (folder / "some.jsonl").write_text("".join(f"{json.dumps(row)}\n" for row in rows), encoding="utf-8")
    build_index(folder / "kb", IndexChange([folder / "some.jsonl"]), "multi12-static")
    return folder / "kb"


def asked(kb, *calls):
    """What the client gets for arguments of the tool `search`, one after the other, and the tool itself."""

    async def ask():
        command = StdioServerParameters(command=sys.executable, args=["-m", "distill", "mcp", "--index", str(kb)])
        async with Client(stdio_client(command)) as client:
            (tool,) = (await client.list_tools()).tools
            return tool, [await client.call_tool("search", arguments) for arguments in calls]

    return asyncio.run(ask())


def test_an_assistant_finds_what_the_library_finds(kb):
    question = "Wo endet die Donau?"
    calls = ({"question": question, "count": 2}, {"question": " "}, {"question": "Danube " * 3000})
    tool, (answer, empty, long) = asked(kb, *calls)
    (expected,) = Answers(kb).answers([question], 2)
    assert not answer.is_error and answer.structured_content == expected.as_dict()
    assert tool.name == "search" and str(Answers(kb).index.passages) in tool.description
    assert empty.is_error and "empty" in empty.content[0].text
    assert long.is_error and long.content[0].text.endswith("question: 21000 characters; a text has 20000 at most")


def test_half_a_character_is_answered_as_the_one_that_stands_for_it(kb):
    command = [sys.executable, "-m", "distill", "mcp", "--index", str(kb)]
    version = {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "test", "version": "1"}}
    calls = [
        {"id": 0, "method": "initialize", "params": version},
        {"method": "notifications/initialized"},
        {"id": 1, "method": "tools/call", "params": {"name": "search", "arguments": {"question": "Danube \ud800"}}},
    ]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as process:
        for call in calls:
            process.stdin.write(json.dumps({"jsonrpc": "2.0", **call}).encode() + b"\n")
            process.stdin.flush()
        answers = [json.loads(process.stdout.readline()) for _ in range(2)]
        process.stdin.close()
    assert answers[1]["id"] == 1 and answers[1]["result"]["structuredContent"]["question"] == "Danube \ufffd"


def test_a_question_that_is_not_answered_in_time_is_refused_as_by_the_server(kb):
    async def ask():
        async with Client(make_server(kb, seconds=0)) as client:
            return await client.call_tool("search", {"question": "Wo endet die Donau?"})

    answer = asyncio.run(ask())
    assert answer.is_error and answer.content[0].text.endswith("the server is busy: no answer within 0 s; try again")


@pytest.mark.parametrize("count", [0, MOST + 1])
def test_no_passage_and_too_many_are_refused(count, kb):
    with pytest.raises(InputError):
        find_passages(Answers(kb), "Wo?", count)


def test_a_folder_without_an_index_is_refused_before_anything_is_served(tmp_path):
    with pytest.raises((InputError, DataError)):
        serve_index(tmp_path)
