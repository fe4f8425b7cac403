"""A document beyond a limit is left out by name, while it is read; limits are a document's and not a file's."""

import json
import subprocess
import sys
import time
import tracemalloc
import zipfile
from contextlib import suppress
from functools import partial

import pytest

from distill.errors import DataError, InputError
from distill.search_engine.documents.document import add_passages
from distill.search_engine.documents.limits import Meter, ReadingLimits, SkippedFiles
from distill.search_engine.documents.read_documents import read_documents
from distill.vocabulary.words.cutting import Cut

SPACE = "http://schemas.openxmlformats.org"
WORDS, ROW = "The ferry leaves. " * 3000, "The ferry leaves. " * 600
# 50 kB: WORDS are 54 kB, and ROW is 11 kB, or in a table 44 kB.
SMALL = ReadingLimits(megabytes=0.05)


def left_out(path, limits):
    """What a reader says of the only file that is left out, which another one does not keep from being read."""
    (path.parent / "z.txt").write_text("Read.")
    skipped = SkippedFiles()
    [document] = read_documents([path, path.parent / "z.txt"], skipped=skipped, limits=limits)
    assert (document.text, skipped.count) == ("Read.", 1)
    return str(skipped.make_error(""))


def compute(seconds):
    end = time.process_time() + seconds
    while time.process_time() < end:
        pass


def docx(path, members):
    """A DOCX with some members by their names."""
    word = f'xmlns:w="{SPACE}/wordprocessingml/2006/main"'
    link = f'<Relationship Id="r" Type="{SPACE}/officeDocument/2006/relationships/officeDocument"'
    whole = {
        "[Content_Types].xml": f'<Types xmlns="{SPACE}/package/2006/content-types"/>',
        "_rels/.rels": f'<Relationships xmlns="{SPACE}/package/2006/relationships">{link} '
        'Target="word/document.xml"/></Relationships>',
        "word/document.xml": f"<w:document {word}><w:body><w:p><w:r><w:t>A ferry.</w:t></w:r></w:p></w:body>"
        "</w:document>",
    }
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as file:
        for name, content in (whole | members).items():
            file.writestr(name, content)


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("a.txt", WORDS),
        ("a.md", WORDS),
        ("a.html", f"<p>{WORDS}"),
        ("a.csv", f"id,text\n1,{WORDS}\n"),
        ("a.csv", 'id,text\n1,"' + "The ferry\n" * 6000),
        ("a.tsv", f"id\ttext\n1\t{WORDS}\n"),
        ("a.jsonl", f'{{"text": "{WORDS}"}}\n'),
        ("a.pdf", "%PDF-1.4\n" + WORDS),
    ],
    ids=["text", "markdown", "page", "row", "quote", "tabs", "line", "pdf"],
)
def test_a_document_of_too_many_bytes_is_left_out_by_name_and_limit(name, content, tmp_path):
    if name.endswith(".pdf"):
        pytest.importorskip("pypdf")
    (tmp_path / name).write_text(content)
    said = left_out(tmp_path / name, SMALL)
    assert f"{name}: larger" in said and "--most-megabytes" in said


def test_a_docx_is_unpacked_up_to_the_limit_and_no_further(tmp_path):
    pytest.importorskip("mammoth")
    docx(tmp_path / "a.docx", {"word/styles.xml": bytes(40_000_000)})
    left_out(tmp_path / "a.docx", SMALL)
    tracemalloc.start()
    said = left_out(tmp_path / "a.docx", SMALL)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert "a.docx: larger" in said and peak < 5_000_000


def test_members_of_a_docx_without_text_are_not_unpacked(tmp_path):
    pytest.importorskip("mammoth")
    names = ("word/embeddings/a.xml", "word/media/a.png", "word/other.bin", "customXml/item1.xml")
    docx(tmp_path / "a.docx", {name: bytes(1_000_000) for name in names})
    [document] = read_documents([tmp_path / "a.docx"], limits=SMALL)
    assert document.text == "A ferry."


@pytest.mark.parametrize(
    ("name", "content"),
    [("a.docx", "<w:p/>" * 100), ("a.csv", "id,text\n1," + "a" * 13_000), ("a.tsv", "id\ttext\n1\t" + "a" * 13_000)],
)
def test_what_a_parser_makes_large_counts_as_more_than_it_has(name, content, tmp_path):
    if name == "a.docx":
        pytest.importorskip("mammoth")
        docx(tmp_path / name, {"word/notes.xml": content})
    else:
        (tmp_path / name).write_text(content)
    assert f"{name}: larger" in left_out(tmp_path / name, SMALL)


@pytest.mark.parametrize("name", ["a.html", "a.docx"])
def test_a_parser_that_takes_too_long_is_stopped(name, tmp_path):
    if name == "a.docx":
        pytest.importorskip("mammoth")
        body = "<w:p><w:r><w:t>A ferry.</w:t></w:r></w:p>" * 30_000
        space = f'xmlns:w="{SPACE}/wordprocessingml/2006/main"'
        docx(tmp_path / name, {"word/document.xml": f"<w:document {space}><w:body>{body}</w:body></w:document>"})
    else:
        (tmp_path / name).write_text("<p>A ferry.\n" * 200_000)
    said = left_out(tmp_path / name, ReadingLimits(seconds=0.05))
    assert f"{name}: not" in said and "--most-seconds" in said


def test_a_text_that_takes_too_long_to_be_cut_is_left_out_and_the_next_record_is_read(tmp_path):
    row = json.dumps({"text": "a. " * 700_000})
    (tmp_path / "a.jsonl").write_text(f'{row}\n{{"text": "A ferry."}}\n')
    skipped, limits = SkippedFiles(), ReadingLimits(seconds=0.1)
    prepare = partial(add_passages, cut=Cut())
    documents = list(read_documents([tmp_path / "a.jsonl"], skipped=skipped, limits=limits, prepare=prepare))
    assert [document.text for document in documents] == ["A ferry."] and len(documents[0].passages) == 1
    said = str(skipped.make_error(""))
    assert "line 1" in said and "--most-seconds" in said
    assert skipped.unread == {str(tmp_path / "a.jsonl")}


def test_a_document_may_need_a_library_to_be_cut_which_is_wrong_usage_and_no_malformed_document(tmp_path):
    def refuse(document):
        raise InputError("a library is missing")

    (tmp_path / "a.txt").write_text("A ferry.")
    with pytest.raises(InputError, match="library"):
        list(read_documents([tmp_path / "a.txt"], skipped=SkippedFiles(), prepare=refuse))


def test_what_is_nested_too_deeply_is_said_plainly(tmp_path):
    pytest.importorskip("mammoth")
    space = f'xmlns:w="{SPACE}/wordprocessingml/2006/main"'
    tables = "<w:tbl><w:tr><w:tc>" * 2000 + "<w:p/>" + "</w:tc></w:tr></w:tbl>" * 2000
    docx(tmp_path / "a.docx", {"word/document.xml": f"<w:document {space}><w:body>{tables}</w:body></w:document>"})
    (tmp_path / "a.jsonl").write_text('{"text": "A ferry.", "x": ' + "[" * 100_000)
    for name in ("a.docx", "a.jsonl"):
        skipped = SkippedFiles()
        assert not list(read_documents([tmp_path / name], skipped=skipped))
        said = str(skipped.make_error(""))
        assert name in said and "nested" in said and "recursion" not in said


def test_a_loop_that_passes_over_every_error_is_stopped_and_nothing_comes_later():
    def loop():
        while True:
            with suppress(Exception):
                compute(0.001)

    after = 0
    with pytest.raises(DataError):
        Meter("a", ReadingLimits(seconds=0.05)).watch(loop)
    while after < 3:
        compute(0.05)
        after += 1


TRACED = """
import sys
from distill.search_engine.documents.document import add_passages
from distill.search_engine.documents.limits import Meter, ReadingLimits
from distill.errors import DataError, InputError
from distill.vocabulary.words.cutting import Cut

def loop():
    while True:
        pass

assert Meter("a", ReadingLimits()).watch(lambda: 3) == 3
if sys.argv[1] == "stopped":
    try:
        Meter("a", ReadingLimits(seconds=0.01)).watch(loop)
    except DataError:
        pass
traced = []
sys.settrace(lambda frame, event, value: traced.append(event))
(lambda: None)()
sys.settrace(None)
assert traced == ["call"]
"""


@pytest.mark.parametrize("parser", ["ended", "stopped"])
def test_a_debugger_or_coverage_runs_after_a_document_was_read(parser):
    """CPython 3.11 looks for an error that was taken back before each traced step, without an end."""
    subprocess.run([sys.executable, "-c", TRACED, parser], check=True, timeout=60)


@pytest.mark.parametrize(
    ("name", "content"),
    [
        ("a.csv", "id,text\n" + "".join(f"{id},{ROW}\n" for id in "123")),
        ("a.tsv", "id\ttext\n" + "".join(f'{id}\t"{ROW}\n' for id in "123")),
        ("a.jsonl", f'{{"text": "{ROW}"}}\n' * 3),
    ],
    ids=["rows", "tabs with a quote of the text", "lines"],
)
def test_a_file_of_many_documents_may_be_of_any_size(name, content, tmp_path):
    (tmp_path / name).write_text(content)
    assert len(list(read_documents([tmp_path / name], limits=SMALL))) == 3


def test_the_time_that_others_take_between_two_documents_does_not_count(tmp_path):
    (tmp_path / "a.jsonl").write_text('{"text": "A ferry."}\n' * 3)
    for _ in read_documents([tmp_path / "a.jsonl"], limits=ReadingLimits(seconds=0.2)):
        compute(0.25)


def test_a_long_line_is_whole_again(tmp_path):
    text = "é" * (2**20 + 5)
    (tmp_path / "a.jsonl").write_text(f'{{"text": "{text}"}}\n{{"text": "b"}}', encoding="utf-8")
    assert [document.text for document in read_documents([tmp_path / "a.jsonl"])] == [text, "b"]
