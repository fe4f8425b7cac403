"""Files of every format are read as documents, and cut at sentence ends."""

import json

import pytest

from distill.errors import DataError
from distill.indexing.batches import write_texts
from distill.indexing.documents import Document, read_documents
from distill.indexing.passages import pieces
from distill.system.sections import read_sections
from distill.words.cutting import Cut

TEXT = "One two. Three four! Five six seven eight nine ten eleven twelve? End."


def cut(text, **settings):
    """The passages of a text, each a list of its sentences."""
    parts = pieces(Document("1", text, "", {}), Cut(**settings))
    return [[text[part.start : part.end][start:end] for start, end in part.sentences] for part in parts]


def test_a_document_is_cut_at_sentence_ends_and_a_long_sentence_between_words():
    one, two, three, end = "One two.", "Three four!", "Five six seven eight nine ten eleven twelve?", "End."
    assert cut(TEXT) == [[one, two, three, end]]
    assert cut(TEXT, length=50) == [[one, two], [three, end]]
    assert cut(TEXT, length=66, overlap=11) == [[one, two, three], [end]]
    assert cut(TEXT, length=66, overlap=60) == [[one, two, three], [two, three, end]]
    assert cut(TEXT, length=20) == [[one, two], ["Five six seven eight"], ["nine ten eleven"], ["twelve?", end]]
    assert cut("x" * 120, length=50) == [["x" * 50], ["x" * 50], ["x" * 20]]
    long = "\n".join(f"This is sentence {n}." for n in range(3000))
    assert [part for passage in cut(long) for part in passage] == long.splitlines()


def test_the_languages_rules_decide_on_the_ends_of_sentences():
    text = "Das kostet z. B. 3 Euro. Mehr nicht."
    parts = pieces(Document("1", text, "", {}, language="de"), Cut())
    assert parts[0].sentences == ((0, 24), (25, 36))


def test_offsets_are_bytes(tmp_path):
    text = " Größe ä. Straße ö! Öl ü? Ende."
    write_texts(tmp_path / "texts", [Document("1", text, "", {"id": "1"})], Cut(length=50), None)
    write_texts(tmp_path / "short", [Document("1", text, "", {"id": "1"})], Cut(length=19, overlap=10), None)
    for name, count in (("texts", 1), ("short", 3)):
        arrays, content = read_sections(tmp_path / name), text.encode()
        assert len(arrays["text_lengths"]) == count
        stored, at = arrays["text"].tobytes(), 0
        for offset, length in zip(arrays["passage_offsets"].tolist(), arrays["text_lengths"].tolist(), strict=True):
            assert content[offset : offset + length] == stored[at : at + length]
            at += length
        start, end = arrays["sentence_bounds"][1].tolist()
        assert stored[start:end].decode() == "Straße ö!"


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
    texts = ["Plain text.", files["b.md"], "Head\nOne & two.\nx\ny", 'Said "yes"\nand went.', "No.", "Five.", "Six."]
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


def test_a_data_sets_passages_stay_as_they_are(tmp_path):
    parts = [
        {"id": "p0", "text": "One. Two.", "sentence_breaks": [[0, 9]]},
        {"id": "p1", "text": "Drei. Vier.", "language": "de"},
    ]
    path = tmp_path / "documents.jsonl"
    path.write_text(json.dumps({"id": "d", "title": "T", "passages": parts}), encoding="utf-8")
    [document] = read_documents([path])
    assert (document.text, document.fields["passages"]) == ("One. Two. Drei. Vier.", ["p0", "p1"])
    places = [(part.start, part.end, part.sentences) for part in pieces(document, Cut(length=50))]
    assert places == [(0, 9, ((0, 9),)), (10, 21, ((0, 5), (6, 11)))]


@pytest.mark.parametrize(
    ("name", "content", "place"),
    [
        ("a.jsonl", '{"text": "x"}\n{"text": 3}', r"a\.jsonl, line 2"),
        ("a.jsonl", '{"text": "x"}\n{"id": [1], "text": "x"}', r"a\.jsonl, line 2"),
        ("a.jsonl", '{"text": "x"}\n{"text": "\\n"}', r"a\.jsonl, line 2"),
        ("a.jsonl", '{"passages": ["x", " "]}', r"a\.jsonl, line 1, passage 1"),
        ("a.jsonl", '{"passages": []}', r"a\.jsonl, line 1"),
        ("a.csv", "id,body\n1,x\n", r"a\.csv, line 1"),
        ("a.csv", "id,text\n1,x\n2,\n", r"a\.csv, line 3"),
        ("a.csv", 'id,text\n1,"x\n', r"a\.csv, line"),
        ("a.html", "<script>x</script>", r"a\.html"),
        ("a.txt", b"\xff", r"a\.txt"),
        ("a.pdf", "x", r"a\.pdf"),
        ("empty/a.pdf", "x", "empty"),
    ],
)
def test_what_is_no_document_is_refused_with_its_place(tmp_path, name, content, place):
    path = tmp_path / name
    path.parent.mkdir(exist_ok=True)
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    with pytest.raises(DataError, match=place):
        list(read_documents([path if path.parent == tmp_path else path.parent]))
