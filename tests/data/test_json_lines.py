"""Documents as `distill index` takes them too, whole numbers as ids, and null where there is nothing."""

import pytest
from fixtures.data import write_lines

from distill.data.dataset import Passage, Question
from distill.data.readers import read_jsonl_folder
from distill.errors import DataError
from distill.search_engine.documents.document import cut_document
from distill.search_engine.documents.read_documents import read_documents
from distill.vocabulary.words.cutting import Cut

QUESTION = {"id": "q", "language": "en", "text": "What is baked?", "passage": "bread/0"}


def read(folder, documents, questions):
    return read_jsonl_folder(write_lines(folder, documents, questions), "en")


def test_whole_numbers_are_ids_as_their_digits(tmp_path):
    documents = [{"id": 1, "passages": [{"id": 100, "text": "Bread."}, "Tea."]}, {"id": "1 ", "passages": ["Rye."]}]
    questions = [
        {**QUESTION, "id": 7, "passage": 100},
        {**QUESTION, "id": "7", "language": "de", "passage": "100"},
        {**QUESTION, "id": 0, "passage": "1/1"},
    ]
    data = read(tmp_path, documents, questions)
    assert [passage.id for passage in data.passages] == ["100", "1/1", "1 /0"] and data.titles == ("1", "1 ")
    assert data.questions == {
        "en": {"7": Question("7", "en", "What is baked?", 0), "0": Question("0", "en", "What is baked?", 1)},
        "de": {"7": Question("7", "de", "What is baked?", 0)},
    }
    with pytest.raises(DataError, match="line 2: duplicate document id 1$"):
        read(tmp_path, [documents[0], {"id": "1", "passages": ["Oats."]}], questions)


@pytest.mark.parametrize("id", [True, 1.5, "", [1]])
def test_an_id_of_a_passage_that_is_none_is_refused_with_its_line(tmp_path, id):
    with pytest.raises(DataError, match="line 1, passage 0: .*'id'"):
        read(tmp_path, [{"id": "bread", "passages": [{"id": id, "text": "Bread."}]}], [QUESTION])


def test_null_is_nothing_and_a_document_without_an_id_is_called_after_its_line(tmp_path):
    bread = {"id": "bread", "title": None, "passages": [{"id": None, "text": "Bread.", "language": None}]}
    rows = [bread, {"id": None, "passages": ["Tea."]}, {"title": "Rye", "passages": None, "text": "Rye."}]
    data = read(tmp_path, rows, [{**QUESTION, "answers": None}])
    assert data.titles == ("bread", "line 2", "Rye") and data.untitled == {0, 1}
    assert data.passages == (
        Passage("bread/0", "Bread.", 0),
        Passage("line 2/0", "Tea.", 1),
        Passage("line 3/0", "Rye.", 2, ((0, 4),)),
    )


def test_blanks_around_a_language_are_no_part_of_it(tmp_path):
    documents = [{"id": "a", "language": " de", "passages": ["Brot.", {"text": "Bread.", "language": "en "}]}]
    data = read(tmp_path, documents, [{**QUESTION, "passage": "a/1", "language": " en "}])
    assert data.passage_languages == ("de", "en") and data.languages == ("en",)


LONG = " ".join(f"This is sentence number {number} of the text." for number in range(60))


def test_a_text_is_cut_into_the_passages_of_an_index(tmp_path):
    rows = [
        {"id": "bread", "title": "Bread", "text": "Bread is baked. It is eaten."},
        {"_id": "long", "text": LONG},
        {"pid": 3, "context": "Das kostet z. B. 3 Euro. Mehr nicht.", "lang": "de"},
    ]
    data = read(tmp_path, rows, [QUESTION])
    assert data.titles == ("Bread", "long", "3")
    first, last = data.passages[0], data.passages[-1]
    assert first == Passage("bread/0", "Bread is baked. It is eaten.", 0, ((0, 15), (16, 28)))
    assert last == Passage("3/0", "Das kostet z. B. 3 Euro. Mehr nicht.", 2, ((0, 24), (25, 36)), "de")
    # Sentences of 38 and then 39 characters, a blank between two: 989 and 999 of 25, and 10 are left.
    assert [passage.id for passage in data.passages[1:-1]] == ["long/0", "long/1", "long/2"]
    assert [len(passage.sentences) for passage in data.passages[1:-1]] == [25, 25, 10]
    assert " ".join(passage.text for passage in data.passages[1:-1]) == LONG
    indexed = [
        document.text[piece.start : piece.end]
        for document in read_documents([tmp_path / "documents.jsonl"])
        for piece in cut_document(document, Cut())
    ]
    assert data.passage_texts == indexed


def test_a_question_may_name_a_document_of_one_passage_or_one_with_its_answer(tmp_path):
    rows = [{"id": "bread", "text": "Bread is baked."}, {"id": "long", "text": LONG}]
    questions = [
        {**QUESTION, "passage": "bread"},
        # The English version alone has an answer, which is in the third passage.
        {**QUESTION, "id": "n", "language": "de", "text": "Welche?", "passage": "long"},
        {**QUESTION, "id": "n", "text": "Which?", "passage": "long", "answers": {"text": ["number 50"]}},
    ]
    data = read(tmp_path, rows, questions)
    assert [data.questions["en"][id].passage for id in ("q", "n")] == [0, 3]
    assert data.questions["de"]["n"].passage == 3 and data.questions["en"]["n"].answers == ("number 50",)
    with pytest.raises(DataError, match="line 1: question q names document long.* long/0 to long/2"):
        read(tmp_path, rows, [{**QUESTION, "passage": "long", "answer": "number 90"}])


@pytest.mark.parametrize("row", [{"text": " "}, {"text": 3}, {}, {"text": "Rye.", "passages": []}])
def test_a_document_without_text_is_refused_with_its_line(tmp_path, row):
    with pytest.raises(DataError, match=r"documents\.jsonl, line 2: "):
        read(tmp_path, [{"id": "bread", "text": "Bread."}, {"id": "x", **row}], [QUESTION])


def test_the_language_of_a_document_is_that_of_its_passages(tmp_path):
    rows = [
        {"id": "bread", "language": "en", "passages": ["Bread."]},
        {"id": "brot", "language": "de", "passages": ["Brot.", {"text": "Pain.", "language": "fr"}]},
    ]
    data = read(tmp_path, rows, [QUESTION])
    assert [passage.language for passage in data.passages] == ["", "de", "fr"]


def test_questions_that_no_passage_answers_are_left_out_and_counted(tmp_path, capsys):
    rows = [QUESTION, {**QUESTION, "id": "i", "is_impossible": True}, {**QUESTION, "id": "j", "is_impossible": False}]
    data = read(tmp_path, [{"id": "bread", "passages": ["Bread."]}], rows)
    assert list(data.questions["en"]) == ["q", "j"]
    [line] = capsys.readouterr().err.splitlines()
    assert "questions.jsonl" in line and "1 of 3" in line
