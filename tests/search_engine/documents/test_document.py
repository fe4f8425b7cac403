"""Documents are cut at sentence ends."""

import json

from distill.search_engine.documents.document import Document, cut_document
from distill.search_engine.documents.read_documents import read_documents
from distill.vocabulary.words.cutting import Cut

TEXT = "One two. Three four! Five six seven eight nine ten eleven twelve? End."


def cut(text, **settings):
    """The passages of a text, each a list of its sentences."""
    parts = cut_document(Document("1", text, "", {}), Cut(**settings))
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
    parts = cut_document(Document("1", text, "", {}, language="de"), Cut())
    assert parts[0].sentences == ((0, 24), (25, 36))


def test_a_data_sets_passages_stay_as_they_are(tmp_path):
    parts = [
        {"id": "p0", "text": "One. Two.", "sentence_breaks": [[0, 9]]},
        {"id": "p1", "text": "Drei. Vier.", "language": "de"},
    ]
    path = tmp_path / "documents.jsonl"
    path.write_text(json.dumps({"id": "d", "title": "T", "passages": parts}), encoding="utf-8")
    [document] = read_documents([path])
    assert (document.text, document.fields["passages"]) == ("One. Two. Drei. Vier.", ["p0", "p1"])
    places = [(part.start, part.end, part.sentences) for part in cut_document(document, Cut(length=50))]
    assert places == [(0, 9, ((0, 9),)), (10, 21, ((0, 5), (6, 11)))]
