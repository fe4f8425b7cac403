"""Reading both forms of a data set: what comes out, and every way in which files can be wrong."""

import pytest
from fixtures.data import squad, write_lines, write_squad

from distill.data.dataset import Question
from distill.data.loading import read_dataset
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


def lines(folder, documents=DOCUMENTS, questions=QUESTIONS):
    return write_lines(folder, documents, questions)


@pytest.fixture
def squad_folder(tmp_path):
    return write_squad(tmp_path, en=squad(ENGLISH), de=squad(GERMAN))


def test_a_data_set_is_the_one_that_ships_or_a_folder(tmp_path):
    assert (find("sample"), find(str(tmp_path))) == (SAMPLE, tmp_path)
    (tmp_path / "en.json").write_text("{}")
    for name, place in (("nowhere", "/nowhere; .*'sample'"), ("en.json", r"/en\.json")):
        with pytest.raises(DataError, match=place):
            find(tmp_path / name)


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


def test_squad_ids_are_whole_numbers_too_and_a_title_that_is_null_is_none(tmp_path):
    english, german = squad([(None, [("Bread.", {959: "What?"})])]), squad([(None, [("Brot.", {"959": "Was?"})])])
    data = read_squad_folder(write_squad(tmp_path, en=english, de=german), "en")
    assert data.titles == ("document 0",)
    assert data.questions == {
        "en": {"959": Question("959", "en", "What?", 0)},
        "de": {"959": Question("959", "de", "Was?", 0)},
    }


def impossible(value, *ids):
    for article in value["data"]:
        for part in article["paragraphs"]:
            for qa in part["qas"]:
                qa["is_impossible"] = qa["id"] in ids
    return value


def test_questions_that_the_documents_do_not_answer_are_left_out_in_every_language_and_counted(tmp_path, capsys):
    # German says nothing of t1, which the English paragraph does not answer; and of b1 that its own does not.
    german = squad([("Backen", [("Brot wird gebacken.", {"t1": "Was wird gebrüht?", "b2": "Wird Brot gebacken?"})])])
    write_squad(tmp_path, en=impossible(squad(ENGLISH), "t1", "b1"), de=german)
    data = read_squad_folder(tmp_path, "en")
    assert {language: list(known) for language, known in data.questions.items()} == {"en": ["b2"], "de": ["b2"]}
    # The documents stay, as what is searched.
    assert data.passage_texts == ["Bread is baked.", "Flour is milled.", "Tea is brewed."]
    [line] = capsys.readouterr().err.splitlines()
    assert str(tmp_path) in line and "3 of 5" in line
    read_squad_folder(write_squad(tmp_path, en=impossible(squad(ENGLISH)), de=squad(GERMAN)), "en")
    assert capsys.readouterr().err == ""


def test_hidden_files_are_no_language(squad_folder):
    for language in ("en", "de"):
        (squad_folder / f"._{language}.json").write_bytes(b"\x00\x05\x16\x07\xb0")
    assert set(read_squad_folder(squad_folder, "en").questions) == {"en", "de"}
    assert set(read_dataset(squad_folder).files) == {"en.json", "de.json"}


def test_squad_documents_come_from_the_document_language_and_without_a_title_are_numbered(tmp_path):
    english = [("Baking", [("Bread is baked.", {"b1": "What is baked?"})])]
    data = read_squad_folder(write_squad(tmp_path, en=squad(english), de=squad(GERMAN)), "de")
    assert (data.document_language, data.titles) == ("de", ("Backen",))
    assert data.passage_texts == ["Brot wird gebacken."]
    assert set(data.questions) == {"de", "en"}
    value = squad(ENGLISH)
    del value["data"][1]["title"]
    data = read_squad_folder(write_squad(tmp_path, en=value), "en")
    assert data.titles == ("Baking", "document 1") and data.untitled == {1}


def test_no_file_in_the_document_language(squad_folder, tmp_path):
    with pytest.raises(DataError, match=r" ru\.json .* de, "):
        read_squad_folder(squad_folder, "ru")
    (tmp_path / "empty").mkdir()
    with pytest.raises(DataError, match=r" en\..* init "):
        read_squad_folder(tmp_path / "empty", "en")


QAS = [{"id": "b1", "question": "What?"}]


@pytest.mark.parametrize(
    ("value", "place"),
    [
        *((value, ": .*'data'") for value in ([], {}, {"data": {}}, {"data": ["Baking"]})),
        ({"data": [{"title": "Baking"}]}, ": .*'paragraphs'"),
        ({"data": [{"paragraphs": ["Bread."]}]}, ": .*'paragraphs'"),
        ({"data": [{"paragraphs": [{"context": "Bread."}]}]}, ": .*'qas'"),
        ({"data": [{"paragraphs": [{"context": "Bread.", "qas": "What?"}]}]}, ": .*'qas'"),
        ({"data": [{"paragraphs": [{"qas": QAS}]}]}, ", article 0, paragraph 0: .*'context'"),
        # It would be a document with an empty text, which every question is compared with.
        (squad([*ENGLISH, ("Nothing", [])]), ", article 2: .*'paragraphs'"),
        *(
            (squad([*ENGLISH, ("B", [("Tea.", {}), (text, {})])]), ", article 2, paragraph 1: ")
            for text in ("", " \n", 7)
        ),
        *(
            ({"data": [{"title": "B", "paragraphs": [{"context": "Tea.", "qas": [qa]}]}]}, ", article 'B': .*'id'")
            for qa in ({"question": "What?"}, *({"id": id, "question": "What?"} for id in ("", None, True, 5.0)))
        ),
        (squad([*ENGLISH, ("More", [("Rye.", {"b1": "What?"})])]), ": question b1: "),
    ],
)
def test_a_wrong_squad_file_is_named_with_the_place(tmp_path, value, place):
    with pytest.raises(DataError, match=rf"en\.json{place}"):
        read_squad_folder(write_squad(tmp_path, en=value), "en")


@pytest.mark.parametrize(
    ("value", "place"),
    [
        ({"answers": []}, ": .*'data'"),
        (squad([("Backen", [("Brot.", {"b1": "Was?", "b9": "Wer?"})])]), r": question b9 .* en\.json"),
        (squad([*GERMAN, ("Mehr", [("Roggen.", {"t1": "Was?"})])]), ": question t1: "),
    ],
)
def test_a_wrong_file_of_another_language_is_named(tmp_path, value, place):
    with pytest.raises(DataError, match=rf"de\.json{place}"):
        read_squad_folder(write_squad(tmp_path, en=squad(ENGLISH), de=value), "en")


@pytest.mark.parametrize("language", ["en", "de"])
@pytest.mark.parametrize("text", ["", "\t", None, 3])
def test_an_empty_squad_question_gives_its_id(tmp_path, language, text):
    values = {"en": squad(ENGLISH), "de": squad(GERMAN)}
    values[language]["data"][0]["paragraphs"][0]["qas"][0]["question"] = text
    with pytest.raises(DataError, match=rf"{language}\.json, question {'b1' if language == 'en' else 't1'}: "):
        read_squad_folder(write_squad(tmp_path, **values), "en")


def test_jsonl_passages_which_may_be_in_a_language_of_their_own_titles_and_questions(tmp_path):
    data = read_jsonl_folder(lines(tmp_path), "en")
    assert data.titles == ("Baking", "drinks")
    assert [(passage.id, passage.text, passage.document) for passage in data.passages] == [
        ("baking/0", "Bread is baked.", 0),
        ("baking/1", "Flour is milled.", 0),
        ("tea", "Tea is brewed.", 1),
        ("drinks/1", "Coffee too.", 1),
    ]
    assert data.questions == {
        "en": {"b1": Question("b1", "en", "What is baked?", 0), "t1": Question("t1", "en", "What is brewed?", 2)},
        "de": {"t1": Question("t1", "de", "Was wird gebrüht?", 2)},
    }
    documents = [*DOCUMENTS, {"id": "tee", "passages": [{"text": "Tee wird gebrüht.", "language": "de"}, "Hot."]}]
    data = read_jsonl_folder(lines(tmp_path, documents=documents), "en")
    assert data.passage_languages == ("en",) * 4 + ("de", "en")


def test_jsonl_without_questions_in_the_document_language_or_a_question_with_two_passages(tmp_path):
    with pytest.raises(DataError, match=" ru; .* en, "):
        read_jsonl_folder(lines(tmp_path), "ru")
    with pytest.raises(DataError, match=" en; "):
        read_jsonl_folder(lines(tmp_path, questions=[]), "en")
    questions = [*QUESTIONS, {"id": "b1", "language": "de", "text": "Was?", "passage": "baking/1"}]
    with pytest.raises(DataError, match=r"questions\.jsonl: .* b1 "):
        read_jsonl_folder(lines(tmp_path, questions=questions), "en")
    (tmp_path / "questions.jsonl").unlink()
    with pytest.raises(DataError, match=r"questions\.jsonl: "):
        read_jsonl_folder(tmp_path, "en")


@pytest.mark.parametrize(
    ("row", "said"),
    [
        *(({"id": id, "passages": ["Rye."]}, "'id'") for id in ("", True, 4.0)),
        *(({"id": "x", **passages}, "'passages'") for passages in ({}, {"passages": []}, {"passages": "Tea."})),
        *(
            ({"id": "x", "passages": ["Rye.", passage]}, "passage 1 ")
            for passage in ("", "  ", 7, {"id": "p"}, {"text": ""}, {"text": 7}, {"text": "Oats.", "language": " "})
        ),
        ({"id": "baking", "passages": [{"id": "new", "text": "Rye."}]}, "baking$"),
        ({"id": "more", "passages": [{"id": "tea", "text": "Rye."}]}, "tea$"),
        ({"id": "x", "passages": [{"id": "p", "text": "Oats."}, {"id": "p", "text": "Rye."}]}, "p$"),
    ],
)
def test_a_wrong_document_is_named_by_its_line(tmp_path, row, said):
    with pytest.raises(DataError, match=rf"documents\.jsonl, .*3: .*{said}"):
        read_jsonl_folder(lines(tmp_path, [*DOCUMENTS, row]), "en")


@pytest.mark.parametrize(
    ("row", "said"),
    [
        *(({"id": "new", key: value}, f"'{key}'") for key in QUESTIONS[0] for value in ("", " ", None, True, 5.0)),
        ({"id": "x", "passage": "wine"}, r"question x .* wine, .*documents\.jsonl"),
        ({"id": "t1", "language": "de", "passage": "tea"}, "question t1: .* de$"),
        *(({"id": "x", "answers": answers}, "'answers'") for answers in ("Bread", ["Bread", " "], [3])),
    ],
)
def test_a_wrong_question_is_named_by_its_line(tmp_path, row, said):
    rows = [*QUESTIONS, {**QUESTIONS[0], **row}]
    with pytest.raises(DataError, match=rf"questions\.jsonl, .*4: .*{said}"):
        read_jsonl_folder(lines(tmp_path, questions=rows), "en")


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
    answers = {id: question.answers for id, question in questions["en"].items()}
    assert answers == {"b1": ("Bread", "bread"), "b2": (), "t1": ()}
    assert questions["de"]["b1"].answers == ("Bread", "bread")


def test_squad_answers_may_be_hugging_faces_object(tmp_path):
    english = with_answers(squad(ENGLISH), b1={"text": ["Bread", "bread"], "answer_start": [0, 0]})
    assert read_squad_folder(write_squad(tmp_path, en=english), "en").questions["en"]["b1"].answers == (
        "Bread",
        "bread",
    )


def test_squad_answers_of_another_form_are_refused_with_their_question(tmp_path):
    write_squad(tmp_path, en=with_answers(squad(ENGLISH), b1=[["Bread", 0]]))
    with pytest.raises(DataError, match=r"en\.json, question b1"):
        read_squad_folder(tmp_path, "en")


@pytest.mark.parametrize(
    "row",
    [
        {"answers": ["Bread", "bread"]},
        {"answers": {"text": ["Bread", "bread"], "answer_start": [0, 0]}},
        {"answers": [{"text": "Bread", "answer_start": 0}, {"text": "bread"}]},
        {"answer": "Bread"},
    ],
)
def test_jsonl_answers(tmp_path, row):
    rows = [{**QUESTIONS[0], **row}, *QUESTIONS[1:]]
    questions = read_jsonl_folder(lines(tmp_path, questions=rows), "en").questions
    assert questions["en"]["b1"].answers == (("Bread",) if "answer" in row else ("Bread", "bread"))
    assert questions["en"]["t1"].answers == ()
