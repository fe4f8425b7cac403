"""An index as an assistant's tool, asked by the protocol's own client over the command's input and output."""

import asyncio
import json
import sys

import pytest
from mcp import Client, StdioServerParameters, stdio_client

from distill.errors import DataError, InputError
from distill.indexing.answers import Answers
from distill.indexing.building import IndexChange, build_index
from distill.plugs.mcp import MOST, find_passages, serve_index


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
    tool, (answer, empty) = asked(kb, {"question": question, "count": 2}, {"question": " "})
    (expected,) = Answers(kb).answers([question], 2)
    assert not answer.is_error and answer.structured_content == expected.as_dict()
    assert tool.name == "search" and str(Answers(kb).index.passages) in tool.description
    assert empty.is_error and "empty" in empty.content[0].text


@pytest.mark.parametrize("count", [0, MOST + 1])
def test_no_passage_and_too_many_are_refused(count, kb):
    with pytest.raises(InputError):
        find_passages(Answers(kb), "Wo?", count)


def test_a_folder_without_an_index_is_refused_before_anything_is_served(tmp_path):
    with pytest.raises((InputError, DataError)):
        serve_index(tmp_path)
