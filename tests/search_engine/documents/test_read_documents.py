"""Files of every format, and folders of them, are read as documents; what is none is left out and listed."""

import gzip
import json
import shutil
import subprocess

import pytest

from distill.encoders.catalog.bundle import released_folder
from distill.errors import DataError
from distill.search_engine.documents import formats
from distill.search_engine.documents.limits import MOST, SkippedFiles
from distill.search_engine.documents.read_documents import read_documents
from distill.search_engine.documents.records import Columns


def write(folder, **files):
    """Files by their names, in which __ stands for a dot."""
    for name, content in files.items():
        path = folder / name.replace("__", ".")
        path.write_bytes(content if isinstance(content, bytes) else content.encode())
    return folder


def read(*paths, columns=None):
    """The documents, and the lines that tell what was left out."""
    skipped = SkippedFiles()
    return list(read_documents(paths, columns or Columns(), skipped)), skipped


def test_files_of_every_format_are_read_in_order(tmp_path):
    page = "<title>A  page</title><script>var x;</script><h1>Head</h1><p>One &amp; <b>two</b>.</p>\n<ul><li>x<li>y</ul>"
    files = {
        "a.txt": "Plain text.",
        "b.md": "Some words.\n\n## The heading ##\nMore.",
        "c/d.html": page,
        "e.csv": 'id,title,text,lang\n1,T,"Said ""yes""\nand went.",en\n2,,No.,de\n',
        "f.jsonl": '{"pid": 5, "context": "Five.", "section": "S"}\n\n{"text": "Six.", "lang": "de"}\n',
        ".hidden.txt": "Not read.",
        "g.bin": "Not read.",
    }
    for name, content in files.items():
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text(content, encoding="utf-8")
    documents = list(read_documents([tmp_path]))
    texts = [
        "Plain text.",
        "Some words.\n\nThe heading\n\nMore.",
        "Head\n\nOne & two.\n\nx\n\ny",
        'Said "yes"\nand went.',
        "No.",
        "Five.",
        "Six.",
    ]
    assert [document.text for document in documents] == texts
    names = [(tmp_path / name).as_posix() for name in files]
    titles = ["a", "The heading", "A page"]
    for document, name, title in zip(documents, names, titles, strict=False):
        assert (document.id, document.fields) == (name, {"id": name, "title": title, "path": name})
    assert [document.fields for document in documents[3:]] == [
        {"id": "1", "title": "T", "lang": "en"},
        {"id": "2", "title": "", "lang": "de"},
        {"id": "5", "title": "", "section": "S"},
        {"id": f"{names[4]}, line 3", "title": "", "lang": "de"},
    ]
    assert [document.language for document in documents[3:]] == ["en", "de", "", "de"]
    assert [document.id for document in read_documents([names[0], names[3]])] == [names[0], "1", "2"]


def test_bad_files_and_records_are_left_out_and_listed_with_their_places(tmp_path, capsys):
    write(
        tmp_path,
        a__jsonl=b'{"id": 1, "text": "One."}\n{"id": 2, "text": " "}\n{"text": "\xe4"}\nno JSON\n'
        b'{"id": 5, "text": "Five."}',
        b__csv=b"id,text\n6,Six.\n7,\n8,\xe4\n9,Nine.\n",
        c__md="",
        d__txt=b"\xff",
        e__txt="Good.",
        f__tsv="id\ttext\n",
    )
    documents, skipped = read(tmp_path)
    assert [document.text for document in documents] == ["One.", "Five.", "Six.", "Nine.", "Good."]
    skipped.say()
    said = capsys.readouterr().err
    places = ("a.jsonl, line 2:", "a.jsonl, line 3:", "a.jsonl, line 4:", "b.csv, line 3:", "b.csv, line 4:")
    assert skipped.count == 8 and all(place in said for place in (*places, "c.md:", "d.txt:", "f.tsv:")), said
    with pytest.raises(DataError, match=r"a\.jsonl, line 2"):
        list(read_documents([tmp_path]))


def test_of_many_bad_records_the_rest_is_counted(tmp_path, capsys):
    write(tmp_path, a__jsonl='{"text": ""}\n' * 100)
    skipped = read(tmp_path)[1]
    skipped.say()
    said = capsys.readouterr().err
    assert f"and {100 - MOST} more" in said and said.count("\n") == MOST + 2
    assert "line 1:" in str(skipped.make_error("a")) and "99 " in str(skipped.make_error("a"))


def test_a_null_id_or_title_is_as_if_it_were_missing_and_no_field_is_lost(tmp_path):
    rows = [
        {"id": None, "title": None, "text": "A."},
        {"id": None, "_id": 0, "text": "B.", "context": "C."},
        {"id": 3, "pid": 4, "text": None, "passage": "D."},
        {"id": 5, "title": 0, "text": "E."},
        {"id": 6, "title": ["F", "é"], "text": "F."},
    ]
    write(tmp_path, a__jsonl="\n".join(map(json.dumps, rows)))
    path = (tmp_path / "a.jsonl").as_posix()
    documents = read(path)[0]
    assert [(document.text, document.fields) for document in documents] == [
        ("A.", {"id": f"{path}, line 1", "title": ""}),
        ("B.", {"id": "0", "title": "", "context": "C."}),
        ("D.", {"id": "3", "title": "", "pid": 4, "text": None}),
        ("E.", {"id": "5", "title": "0"}),
        ("F.", {"id": "6", "title": '["F", "é"]'}),
    ]


def test_numbers_that_json_has_not_are_refused(tmp_path):
    numbers = ("NaN", "-Infinity", "1e999")
    lines = [f'{{"text": "x", "lat": {number}}}' for number in (*numbers, "1e9")]
    write(tmp_path, a__jsonl="\n".join(lines))
    [document], skipped = read(tmp_path / "a.jsonl")
    assert document.fields["lat"] == 1e9 and skipped.count == 3


@pytest.mark.parametrize("number", ["9" * 4301, "-" + "9" * 5000])
def test_a_whole_number_of_more_digits_than_python_reads_is_told_in_plain_words(tmp_path, capsys, number):
    write(tmp_path, a__jsonl=f'{{"text": "x", "n": {number}}}', b__md=f"---\nn: {number}\n---\nText.")
    skipped = read(tmp_path)[1]
    skipped.say()
    said = capsys.readouterr().err
    assert said.count(" 4300 digits;") == 2 and "sys." not in said


def test_text_title_and_id_are_under_the_names_given_else_the_usual_ones(tmp_path):
    row = {"key": "k", "headline": "H", "body": "B.", "text": "T.", "id": "i", "title": "t"}
    write(tmp_path, a__jsonl="\n".join(map(json.dumps, (row, {"id": "u", "text": "Usual."}))), b__csv="body\nCell.\n")
    documents = read(tmp_path / "a.jsonl", tmp_path / "b.csv", columns=Columns("body", "headline", "key"))[0]
    assert [(document.text, document.fields) for document in documents[:2]] == [
        ("B.", {"id": "k", "title": "H", "text": "T."}),
        ("Usual.", {"id": "u", "title": ""}),
    ]
    assert documents[2].text == "Cell."


def test_what_distill_has_exported_into_a_folder_is_none_of_its_documents(tmp_path, capsys):
    for name in ("a.md", "site/README.md", "site/more/b.html", "game/README.md"):
        (tmp_path / "kb" / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / "kb" / name).write_text("Text.")
    shutil.copyfile(released_folder("multi12-static") / "card.json", tmp_path / "kb" / "site" / "card.json")
    (tmp_path / "kb" / "game" / "card.json").write_text('{"name": "ace", "format": "poker"}')
    documents, skipped = read(tmp_path / "kb")
    assert [document.source.path.relative_to(tmp_path / "kb").as_posix() for document in documents] == [
        "a.md",
        "game/README.md",
    ]
    skipped.say()
    assert "1 exported" in capsys.readouterr().err


def test_of_a_folder_other_formats_are_counted_and_what_git_ignores_is_not_read(tmp_path, capsys):
    names = (
        "a.md",
        ".hidden/b.md",
        "node_modules/p/README.md",
        "build/c.md",
        "sub/d.txt",
        "sub/e.txt",
        "f.rst",
        "g.rst",
        "~$h.md",
    )
    for name in names:
        (tmp_path / "kb" / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / "kb" / name).write_text("Text.")
    (tmp_path / "kb" / ".gitignore").write_text("build/\n*.txt\n")
    (tmp_path / "kb" / "sub" / ".gitignore").write_text("!d.txt\n")
    documents, skipped = read(tmp_path / "kb")
    assert [document.source.path.relative_to(tmp_path / "kb").as_posix() for document in documents] == [
        "a.md",
        "sub/d.txt",
    ]
    skipped.say()
    line = capsys.readouterr().err
    assert line.count("\n") == 1 and "2 .rst" in line and "1 node_modules" in line and "2 named by .gitignore" in line
    # Of a file with lines that are no patterns the others hold.
    (tmp_path / "kb" / ".gitignore").write_bytes(b"\xef\xbb\xbfbuild/\r\n!\r\n[z-a]\r\ncaf\xe9\r\n*.txt\r\n")
    assert [document.source.path.name for document in read(tmp_path / "kb")[0]] == ["a.md", "d.txt"]
    # What is named is read.
    assert len(read(tmp_path / "kb" / "build")[0]) == 1 and len(read(tmp_path / "kb" / "sub" / "e.txt")[0]) == 1


def test_the_checkout_that_a_folder_lies_in_has_rules_for_it(tmp_path):
    for name in ("docs/a.md", "docs/b.md", "private/c.md"):
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text("Text.")
    (tmp_path / ".gitignore").write_text("b.md\nprivate/\n")
    assert len(read(tmp_path / "docs")[0]) == 2
    subprocess.run(["git", "init", "-q", tmp_path], check=True)
    assert len(read(tmp_path / "docs")[0]) == 1 and len(read(tmp_path / "private")[0]) == 1


def test_a_file_is_read_once_however_its_path_is_spelled(tmp_path, monkeypatch):
    (tmp_path / "d").mkdir()
    (tmp_path / "link").symlink_to(tmp_path / "d")
    (tmp_path / "d" / "a.md").write_text("Text.")
    monkeypatch.chdir(tmp_path)
    [document] = read("d", "./d/a.md", tmp_path / "d", "d/../d", "link")[0]
    assert document.id == "d/a.md"


def test_without_the_extra_its_formats_are_refused_by_its_name(tmp_path, monkeypatch, capsys):
    write(tmp_path, a__pdf="x", b__docx="x", c__md="Text.")
    monkeypatch.setattr(formats, "find_spec", lambda name: None)
    monkeypatch.setattr("distill.system.extras.find_spec", lambda name: None)
    documents, skipped = read(tmp_path)
    skipped.say()
    assert len(documents) == 1 and "[files]'" in capsys.readouterr().err
    for name in ("a.pdf", "b.docx"):
        assert "[files]'" in str(read(tmp_path / name)[1].make_error(name))


def test_passages_that_are_null_are_none(tmp_path):
    (tmp_path / "a.jsonl").write_text('{"id": 1, "text": "x", "passages": null}', encoding="utf-8")
    [document] = read(tmp_path / "a.jsonl")[0]
    assert (document.text, document.parts, document.fields) == ("x", (), {"id": "1", "title": ""})


@pytest.mark.parametrize(
    ("name", "content", "place"),
    [
        ("a.jsonl", '{"text": "x"}\n{"text": 3}', r"a\.jsonl, line 2"),
        ("a.jsonl", '{"text": "x"}\n{"id": [1], "text": "x"}', r"a\.jsonl, line 2"),
        ("a.jsonl", '{"text": "x"}\n{"text": "\\n"}', r"a\.jsonl, line 2"),
        ("a.jsonl", '{"passages": ["x", " "]}', r"a\.jsonl, line 1, passage 1"),
        ("a.jsonl", '{"passages": []}', r"a\.jsonl, line 1"),
        ("a.csv", "id,url\n1,x\n", r"a\.csv, line 1"),
        ("a.csv", "id,text\n1,x\n2,\n", r"a\.csv, line 3"),
        ("a.csv", 'id,text\n1,"x\n', r"a\.csv, line"),
        ("a.csv", "id,text\n1,x\n2,x, y\n", r"a\.csv, line 3"),
        ("a.csv", "id,text,text\n1,x,y\n", r"a\.csv, line 1.*'text'"),
        ("a.html", "<script>x</script>", r"a\.html"),
        ("a.txt", b"\xff", r"a\.txt"),
        ("a.txt", "%PDF-1.4\n1 0 obj\n", r"a\.txt"),
        ("a.md", "{\\rtf1 Text.}", r"a\.md"),
        ("a.txt", "Text.".encode("utf-16-le"), r"a\.txt: UTF-16"),
        ("a.csv", "id,text\n1,x\n".encode("utf-16-be"), r"a\.csv: UTF-16"),
        ("a.jsonl", '{"text": "x"}\n{"text": "y"}'.encode("utf-16"), r"a\.jsonl: UTF-16"),
        ("a.jsonl", gzip.compress(b'{"text": "x"}', mtime=0), r"a\.jsonl.*gzip"),
        ("a.pdf", "x", r"a\.pdf"),
        ("a.docx", "x", r"a\.docx"),
        ("a.xyz", "x", r"a\.xyz"),
        ("empty/a.xyz", "x", "empty"),
    ],
)
def test_what_is_no_document_is_refused_with_its_place(tmp_path, name, content, place):
    path = tmp_path / name
    path.parent.mkdir(exist_ok=True)
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    with pytest.raises(DataError, match=place):
        list(read_documents([path if path.parent == tmp_path else path.parent]))
