"""Reading both forms of a data set: what comes out, and every way in which files can be wrong."""

import json

import pytest

from distill.data.dataset import Question
from distill.data.readers import SAMPLE, find, read_jsonl_folder, read_squad_folder
from distill.errors import DataError

ENGLISH = [
    ("Baking", [("Bread is baked.", {"b1": "What is baked?", "b2": "Is bread baked?"}), ("Flour is milled.", {})]),
    ("Drinks", [("Tea is brewed.", {"t1": "What is brewed?"})]),
]
GERMAN = [("Backen", [("Brot wird gebacken.", {"t1": "Was wird gebrüht?", "b1": "Was wird gebacken?"})])]

DOCUMENTS = [
    {"id": "baking", "title": "Baking", "passages": ["Bread is baked.", "Flour is milled."]},
    {"id": "drinks", "passages": [{"id": "tea", "text": "Tea is brewed."}, {"text": "Coffee too."}]},
]
QUESTIONS = [
    {"id": "b1", "language": "en", "text": "What is baked?", "passage": "baking/0"},
    {"id": "t1", "language": "en", "text": "What is brewed?", "passage": "tea"},
    {"id": "t1", "language": "de", "text": "Was wird gebrüht?", "passage": "tea"},
]


def squad(articles):
    """A SQuAD v1.1 value of (title, [(context, {id: question})]) articles."""
    return {"data": [{"title": title, "paragraphs": [paragraph(*item) for item in items]} for title, items in articles]}


def paragraph(context, qas):
    return {"context": context, "qas": [{"id": id, "question": question} for id, question in qas.items()]}


def write_squad(folder, **languages):
    for language, value in languages.items():
        text = json.dumps(value, ensure_ascii=False)
        (folder / f"{language}.json").write_text(text, encoding="utf-8")
    return folder


def write_lines(folder, documents=DOCUMENTS, questions=QUESTIONS):
    for name, rows in (("documents", documents), ("questions", questions)):
        lines = "".join(json.dumps(row, ensure_ascii=False) + "\n" for row in rows)
        (folder / f"{name}.jsonl").write_text(lines, encoding="utf-8")
    return folder


@pytest.fixture
def squad_folder(tmp_path):
    return write_squad(tmp_path, en=squad(ENGLISH), de=squad(GERMAN))


# where a data set is


def test_sample_is_the_one_that_ships():
    assert find("sample") == SAMPLE
    assert (SAMPLE / "documents.jsonl").is_file()


def test_a_path_is_taken_as_it_is(tmp_path):
    assert find(str(tmp_path)) == tmp_path


def test_no_such_folder(tmp_path):
    with pytest.raises(DataError, match="no such data set folder: .*/absent; give a folder, or 'sample'"):
        find(tmp_path / "absent")


# SQuAD folders


def test_squad_passages_keep_their_order_and_document(squad_folder):
    data = read_squad_folder(squad_folder, "en")
    assert data.titles == ("Baking", "Drinks")
    assert [(passage.text, passage.document) for passage in data.passages] == [
        ("Bread is baked.", 0),
        ("Flour is milled.", 0),
        ("Tea is brewed.", 1),
    ]
    assert len({passage.id for passage in data.passages}) == 3


def test_squad_questions_are_placed_by_their_id_in_the_documents_file(squad_folder):
    # Both German questions stand under one German paragraph; their ids belong to two English ones.
    assert read_squad_folder(squad_folder, "en").questions == {
        "en": {
            "b1": Question("b1", "en", "What is baked?", 0),
            "b2": Question("b2", "en", "Is bread baked?", 0),
            "t1": Question("t1", "en", "What is brewed?", 2),
        },
        "de": {"t1": Question("t1", "de", "Was wird gebrüht?", 2), "b1": Question("b1", "de", "Was wird gebacken?", 0)},
    }


def test_squad_documents_come_from_the_document_language(tmp_path):
    english = [("Baking", [("Bread is baked.", {"b1": "What is baked?"})])]
    data = read_squad_folder(write_squad(tmp_path, en=squad(english), de=squad(GERMAN)), "de")
    assert data.document_language == "de"
    assert data.passage_texts == ["Brot wird gebacken."]
    assert data.titles == ("Backen",)
    assert set(data.questions) == {"de", "en"}


def test_an_article_without_a_title_is_numbered(tmp_path):
    value = squad(ENGLISH)
    del value["data"][1]["title"]
    assert read_squad_folder(write_squad(tmp_path, en=value), "en").titles == ("Baking", "document 1")


def test_a_data_set_is_named_after_its_folder(squad_folder):
    assert read_squad_folder(squad_folder, "en").name == squad_folder.name


def test_splits_json_and_other_files_are_no_languages(squad_folder):
    (squad_folder / "splits.json").write_text("{}")
    (squad_folder / "README.md").write_text("about")
    assert set(read_squad_folder(squad_folder, "en").questions) == {"en", "de"}


def test_no_file_in_the_document_language(squad_folder):
    with pytest.raises(DataError, match=r"no ru\.json with the documents; found de, en\. Use --document-language"):
        read_squad_folder(squad_folder, "ru")


def test_an_empty_folder(tmp_path):
    with pytest.raises(DataError, match=r"no en\.json with the documents; found no language file at all"):
        read_squad_folder(tmp_path, "en")


@pytest.mark.parametrize("language", ["en", "de"])
def test_squad_invalid_json_gives_line_and_column(squad_folder, language):
    # The second line lacks a value: the parser stops at its ninth character.
    (squad_folder / f"{language}.json").write_text('{\n"data": ]}')
    with pytest.raises(DataError, match=rf"{language}\.json: invalid JSON at line 2, column 9: "):
        read_squad_folder(squad_folder, "en")


QAS = [{"id": "b1", "question": "What?"}]


@pytest.mark.parametrize(
    ("value", "message"),
    [
        ([], "expected a SQuAD v1.1 object with 'data', got list"),
        ({}, "a list of objects under 'data'"),
        ({"data": {}}, "a list of objects under 'data'"),
        ({"data": ["Baking"]}, "a list of objects under 'data'"),
        ({"data": [{"title": "Baking"}]}, "a list of objects under 'paragraphs'"),
        ({"data": [{"paragraphs": ["Bread."]}]}, "a list of objects under 'paragraphs'"),
        ({"data": [{"paragraphs": [{"context": "Bread."}]}]}, "a list of objects under 'qas'"),
        ({"data": [{"paragraphs": [{"context": "Bread.", "qas": "What?"}]}]}, "a list of objects under 'qas'"),
        ({"data": [{"paragraphs": [{"qas": QAS}]}]}, "article 0, paragraph 0: .* 'context', got None"),
    ],
)
def test_a_wrong_squad_shape_names_the_file_and_the_key(tmp_path, value, message):
    with pytest.raises(DataError, match=rf"en\.json.*{message}"):
        read_squad_folder(write_squad(tmp_path, en=value), "en")


def test_a_wrong_shape_in_another_language_names_its_file(tmp_path):
    with pytest.raises(DataError, match=r"de\.json: expected SQuAD v1\.1 format, a list of objects under 'data'"):
        read_squad_folder(write_squad(tmp_path, en=squad(ENGLISH), de={"answers": []}), "en")


@pytest.mark.parametrize("context", ["", " \n", 7])
def test_an_empty_context_gives_article_and_paragraph(tmp_path, context):
    articles = [("A", [("Bread.", {"a": "What?"})]), ("B", [("Tea.", {"b": "What?"}), (context, {"c": "What?"})])]
    with pytest.raises(DataError, match=r"en\.json, article 1, paragraph 1: expected a non-empty string"):
        read_squad_folder(write_squad(tmp_path, en=squad(articles)), "en")


def test_an_article_without_paragraphs_is_refused(tmp_path):
    # It would be a document with an empty text, which every question is compared with.
    articles = [*ENGLISH, ("Nothing", [])]
    with pytest.raises(DataError, match=r"en\.json"):
        read_squad_folder(write_squad(tmp_path, en=squad(articles)), "en")


@pytest.mark.parametrize("language", ["en", "de"])
@pytest.mark.parametrize("text", ["", "\t", None, 3])
def test_an_empty_squad_question_gives_its_id(tmp_path, language, text):
    values = {"en": squad(ENGLISH), "de": squad(GERMAN)}
    values[language]["data"][0]["paragraphs"][0]["qas"][0]["question"] = text
    id = {"en": "b1", "de": "t1"}[language]
    with pytest.raises(DataError, match=rf"{language}\.json, question {id}: expected a non-empty string"):
        read_squad_folder(write_squad(tmp_path, **values), "en")


@pytest.mark.parametrize("qa", [{"question": "What?"}, {"id": 5, "question": "What?"}, {"id": "", "question": "What?"}])
def test_a_squad_question_without_a_usable_id_gives_its_article(tmp_path, qa):
    value = squad(ENGLISH)
    value["data"][1]["paragraphs"][0]["qas"].append(qa)
    with pytest.raises(DataError, match=r"en\.json, article 'Drinks': expected a non-empty string under 'id'"):
        read_squad_folder(write_squad(tmp_path, en=value), "en")


def test_a_squad_question_whose_passage_is_missing(tmp_path):
    german = [("Backen", [("Brot.", {"b1": "Was?", "b9": "Wer?"})])]
    with pytest.raises(DataError, match=r"de\.json: question b9 has no passage: the id is not in en\.json"):
        read_squad_folder(write_squad(tmp_path, en=squad(ENGLISH), de=squad(german)), "en")


def test_a_duplicate_squad_question_in_the_documents_language(tmp_path):
    english = [*ENGLISH, ("More", [("Rye.", {"b1": "What?"})])]
    with pytest.raises(DataError, match=r"en\.json: question b1: duplicate id in language en"):
        read_squad_folder(write_squad(tmp_path, en=squad(english)), "en")


def test_a_duplicate_squad_question_in_another_language(tmp_path):
    german = [*GERMAN, ("Mehr", [("Roggen.", {"t1": "Was?"})])]
    with pytest.raises(DataError, match=r"de\.json: question t1: duplicate id in language de"):
        read_squad_folder(write_squad(tmp_path, en=squad(ENGLISH), de=squad(german)), "en")


# documents.jsonl and questions.jsonl


def test_jsonl_passages_and_titles(tmp_path):
    data = read_jsonl_folder(write_lines(tmp_path), "en")
    assert data.titles == ("Baking", "drinks")
    assert [(passage.id, passage.text, passage.document) for passage in data.passages] == [
        ("baking/0", "Bread is baked.", 0),
        ("baking/1", "Flour is milled.", 0),
        ("tea", "Tea is brewed.", 1),
        ("drinks/1", "Coffee too.", 1),
    ]


def test_jsonl_questions(tmp_path):
    assert read_jsonl_folder(write_lines(tmp_path), "en").questions == {
        "en": {"b1": Question("b1", "en", "What is baked?", 0), "t1": Question("t1", "en", "What is brewed?", 2)},
        "de": {"t1": Question("t1", "de", "Was wird gebrüht?", 2)},
    }


def test_jsonl_without_questions_in_the_document_language(tmp_path):
    with pytest.raises(DataError, match="no questions in the documents' language ru; found en, de"):
        read_jsonl_folder(write_lines(tmp_path), "ru")


def test_jsonl_without_any_questions(tmp_path):
    with pytest.raises(DataError, match="no questions in the documents' language en; found none"):
        read_jsonl_folder(write_lines(tmp_path, questions=[]), "en")


def test_jsonl_without_the_file_of_questions(tmp_path):
    write_lines(tmp_path)
    (tmp_path / "questions.jsonl").unlink()
    with pytest.raises(DataError, match=r"questions\.jsonl: cannot be read: No such file"):
        read_jsonl_folder(tmp_path, "en")


@pytest.mark.parametrize("name", ["documents", "questions"])
def test_jsonl_invalid_json_gives_line_and_column(tmp_path, name):
    path = write_lines(tmp_path) / f"{name}.jsonl"
    first, rest = path.read_text(encoding="utf-8").split("\n", 1)
    path.write_text(f'{first}\n{{"id": ,\n{rest}', encoding="utf-8")
    with pytest.raises(DataError, match=rf"{name}\.jsonl, line 2: invalid JSON, column 8: "):
        read_jsonl_folder(tmp_path, "en")


@pytest.mark.parametrize("id", [None, "", 4])
def test_a_document_without_a_usable_id(tmp_path, id):
    documents = [DOCUMENTS[0], {"id": id, "passages": ["Tea."]}]
    with pytest.raises(DataError, match=r"documents\.jsonl, line 2: expected a non-empty string under 'id'"):
        read_jsonl_folder(write_lines(tmp_path, documents), "en")


@pytest.mark.parametrize("row", [{"id": "x"}, {"id": "x", "passages": []}, {"id": "x", "passages": "Tea."}])
def test_a_document_without_passages(tmp_path, row):
    with pytest.raises(DataError, match=r"documents\.jsonl, line 3: expected a non-empty list under 'passages'"):
        read_jsonl_folder(write_lines(tmp_path, [*DOCUMENTS, row]), "en")


@pytest.mark.parametrize("passage", ["", "  ", 7, {"id": "p"}, {"text": ""}, {"text": 7}])
def test_an_empty_passage_gives_line_and_number(tmp_path, passage):
    documents = [{"id": "x", "passages": ["Tea.", passage]}]
    with pytest.raises(DataError, match=r"documents\.jsonl, line 1: passage 1 has an empty text"):
        read_jsonl_folder(write_lines(tmp_path, documents), "en")


def test_a_duplicate_document(tmp_path):
    documents = [*DOCUMENTS, {"id": "baking", "passages": [{"id": "new", "text": "Rye."}]}]
    with pytest.raises(DataError, match=r"documents\.jsonl, line 3: duplicate document id baking"):
        read_jsonl_folder(write_lines(tmp_path, documents), "en")


def test_a_duplicate_passage_in_another_document(tmp_path):
    documents = [*DOCUMENTS, {"id": "more", "passages": [{"id": "tea", "text": "Rye."}]}]
    with pytest.raises(DataError, match=r"documents\.jsonl, line 3: duplicate passage id tea"):
        read_jsonl_folder(write_lines(tmp_path, documents), "en")


def test_a_duplicate_passage_in_one_document(tmp_path):
    documents = [{"id": "x", "passages": [{"id": "p", "text": "Tea."}, {"id": "p", "text": "Rye."}]}]
    with pytest.raises(DataError, match=r"documents\.jsonl, line 1: duplicate passage id p"):
        read_jsonl_folder(write_lines(tmp_path, documents), "en")


@pytest.mark.parametrize("key", ["id", "language", "text", "passage"])
@pytest.mark.parametrize("value", ["", " ", None, 5])
def test_a_question_without_one_of_its_strings(tmp_path, key, value):
    questions = [*QUESTIONS, {**QUESTIONS[0], "id": "new", key: value}]
    message = rf"questions\.jsonl, line 4: expected a non-empty string under '{key}', got {value!r}"
    with pytest.raises(DataError, match=message):
        read_jsonl_folder(write_lines(tmp_path, questions=questions), "en")


def test_a_question_whose_passage_is_missing(tmp_path):
    questions = [*QUESTIONS, {"id": "x", "language": "en", "text": "Who?", "passage": "wine"}]
    message = r"questions\.jsonl, line 4: question x names passage wine, which documents\.jsonl lacks"
    with pytest.raises(DataError, match=message):
        read_jsonl_folder(write_lines(tmp_path, questions=questions), "en")


def test_a_question_with_another_passage_in_another_language(tmp_path):
    questions = [*QUESTIONS, {"id": "b1", "language": "de", "text": "Was?", "passage": "baking/1"}]
    message = r"questions\.jsonl: question b1 has another passage in de than in an earlier language"
    with pytest.raises(DataError, match=message):
        read_jsonl_folder(write_lines(tmp_path, questions=questions), "en")


def test_a_duplicate_question_in_one_language(tmp_path):
    questions = [*QUESTIONS, QUESTIONS[2]]
    with pytest.raises(DataError, match=r"questions\.jsonl, line 4: question t1: duplicate id in language de"):
        read_jsonl_folder(write_lines(tmp_path, questions=questions), "en")


# answers, which only recall by tokens asks for


def with_answers(value, **answers):
    """A SQuAD value whose questions have answers, by id."""
    for article in value["data"]:
        for part in article["paragraphs"]:
            for qa in part["qas"]:
                qa.update({"answers": answers[qa["id"]]} if qa["id"] in answers else {})
    return value


def test_squad_answers_are_those_of_the_documents_file(tmp_path):
    english = with_answers(squad(ENGLISH), b1=[{"text": "Bread"}, {"text": "bread"}, {"text": "Bread"}], t1=[])
    german = with_answers(squad(GERMAN), b1=[{"text": "Brot"}])
    questions = read_squad_folder(write_squad(tmp_path, en=english, de=german), "en").questions
    assert {id: question.answers for id, question in questions["en"].items()} == {
        "b1": ("Bread", "bread"),
        "b2": (),
        "t1": (),
    }
    assert questions["de"]["b1"].answers == ("Bread", "bread")


@pytest.mark.parametrize("answers", ["Bread", [1], [{"text": 3}], [{"text": " "}], [{}], None])
def test_squad_answers_of_another_form_are_none(tmp_path, answers):
    english = with_answers(squad(ENGLISH), b1=answers)
    assert read_squad_folder(write_squad(tmp_path, en=english), "en").questions["en"]["b1"].answers == ()


def test_jsonl_answers(tmp_path):
    rows = [{**QUESTIONS[0], "answers": ["Bread", "bread"]}, *QUESTIONS[1:]]
    questions = read_jsonl_folder(write_lines(tmp_path, questions=rows), "en").questions
    assert questions["en"]["b1"].answers == ("Bread", "bread")
    assert questions["en"]["t1"].answers == ()


def test_a_jsonl_question_may_have_one_answer(tmp_path):
    rows = [{**QUESTIONS[0], "answer": "Bread"}, *QUESTIONS[1:]]
    assert read_jsonl_folder(write_lines(tmp_path, questions=rows), "en").questions["en"]["b1"].answers == ("Bread",)


@pytest.mark.parametrize("answers", ["Bread", ["Bread", " "], [3], None])
def test_jsonl_answers_of_another_form_are_refused(tmp_path, answers):
    rows = [{**QUESTIONS[0], "answers": answers}]
    with pytest.raises(DataError, match="line 1: expected a list of non-empty strings under 'answers'"):
        read_jsonl_folder(write_lines(tmp_path, questions=rows), "en")
