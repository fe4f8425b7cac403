"""An index as an assistant's tool, asked by the protocol's own client over the command's input and output."""

import asyncio
import io
import json
import subprocess
import sys
from pathlib import Path

import pytest
from mcp import Client, StdioServerParameters, stdio_client

from distill.encoders.files.questions import size_problem
from distill.errors import DataError, InputError
from distill.search_engine.indexing.answers import Answers
from distill.search_engine.indexing.building import IndexChange, build_index
from distill.search_engine.plugs.mcp import MESSAGE, MOST, _Messages, find_passages, make_server, serve_index


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


def test_a_question_of_more_tokens_than_the_server_takes_is_refused(kb):
    with pytest.raises(InputError, match="pieces.* 16384 "):
        find_passages(Answers(kb), "\u57ce\u3007" * 10_000)


VERSION = {"protocolVersion": "2025-06-18", "capabilities": {}, "clientInfo": {"name": "test", "version": "1"}}
BEGIN = [{"id": 0, "method": "initialize", "params": VERSION}, {"method": "notifications/initialized"}]


def sent(kb, lines):
    """The answers to lines, by their ids, after those that begin a session, and the memory that the last one left."""
    command = [sys.executable, "-m", "distill", "mcp", "--index", str(kb)]
    answers = {}
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as process:
        for number, line in enumerate([*(json.dumps({"jsonrpc": "2.0", **call}) for call in BEGIN), *lines]):
            if number == len(BEGIN):
                answers[0], before = json.loads(process.stdout.readline()), memory_of(process)
            process.stdin.write(line.encode() + b"\n")
            process.stdin.flush()
        while 1 not in answers:
            answer = json.loads(process.stdout.readline())
            answers[answer["id"]] = answer
        after = memory_of(process)
        process.stdin.close()
    return answers, after - before


def memory_of(process):
    """The bytes that a process holds at most until now; 0 where the system has no /proc."""
    status = Path(f"/proc/{process.pid}/status")
    lines = status.read_text().splitlines() if status.exists() else ["VmHWM: 0 kB"]
    return 1024 * next(int(line.split()[1]) for line in lines if line.startswith("VmHWM"))


def search(id, question):
    return {"jsonrpc": "2.0", "id": id, "method": "tools/call", "params": {"name": "search", "arguments": question}}


def test_half_a_character_is_answered_as_the_one_that_stands_for_it(kb):
    answers, _ = sent(kb, [json.dumps(search(1, {"question": "Danube \ud800"}))])
    assert answers[1]["result"]["structuredContent"]["question"] == "Danube \ufffd"


def test_a_message_that_is_too_large_is_refused_without_being_held(kb):
    large = "Danube " * 3_000_000
    first, last = search("a", {"question": large}), search(7, {"question": large, "id": 8})
    last["id"] = last.pop("id")
    lines = [*map(json.dumps, (first, last)), '{"id": 5, ' * 100_000, f'{{"id": 6, "x": "{large}"']
    answers, more = sent(kb, [*lines, json.dumps({"jsonrpc": "2.0", "id": 1, "method": "ping"})])
    refused = {"code": -32600, "message": size_problem("the message", MESSAGE)}
    assert {id: answer.get("error") for id, answer in answers.items()} == {
        **dict.fromkeys(("a", 7, 5, 6), refused),
        **dict.fromkeys((0, 1)),
    }
    assert more < 20_000_000


@pytest.mark.parametrize(
    ("line", "id"),
    [
        ('{"jsonrpc": "2.0", "id": "a\\"b", "x": ', 'a"b'),
        ('{"x": {"id": 3}, "y": "%s"}', None),
        ('{"x": "%s", "y": {"id": 3}}', None),
        ('{"x": "\\",\\"id\\":3%s}', None),
        ('{"x": "%s", "id": 3, "method": "ping"} ', 3),
        ('{"x": "%s", "id": 3.5}', None),
        ('[{"id": 3, "x": "%s"}]', None),
    ],
    ids=["quote", "part before", "part behind", "text", "end", "fraction", "list"],
)
def test_the_id_of_a_large_message_is_that_of_the_whole(line, id):
    file = io.BytesIO((line.replace("%s", "x" * MESSAGE) + " " * (MESSAGE if line.endswith(": ") else 1)).encode())
    stood = _Messages(file).read()
    assert (json.loads(stood)["id"] if stood.strip() else None) == id


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
