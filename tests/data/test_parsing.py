"""Ids, titles and answers in the forms that files have them in."""

import csv

import pytest

from distill.data.parsing import (
    as_id,
    find_impossible,
    parse_answer_texts,
    parse_answers,
    parse_distinct_answers,
    parse_id,
    parse_questions,
    parse_title,
    read_columns,
    read_table,
)
from distill.errors import DataError


@pytest.mark.parametrize(("value", "id"), [("a b", "a b"), (959, "959"), (0, "0"), (-1, "-1"), (2**70, str(2**70))])
def test_an_id_is_a_text_or_the_digits_of_a_whole_number(value, id):
    assert as_id(value) == parse_id("file", {"pid": value}, "pid", "line 1") == id


@pytest.mark.parametrize("value", [None, "", " ", True, False, 959.0, [1], {"id": 1}])
def test_anything_else_is_no_id(value):
    assert as_id(value) is None
    with pytest.raises(DataError, match="^file, line 1: .*'id'"):
        parse_id("file", {"id": value}, "id", "line 1")


def test_a_title_that_is_null_is_none():
    assert [parse_title(row, "default") for row in ({}, {"title": None}, {"title": ""}, {"title": 7})] == [
        "default",
        "default",
        "",
        "7",
    ]


OBJECTS = [{"text": "Bread", "answer_start": 0}, {"text": "rye", "answer_start": 9}]


@pytest.mark.parametrize(
    ("answers", "objects", "texts"),
    [
        (OBJECTS, OBJECTS, ["Bread", "rye"]),
        ({"text": ["Bread", "rye"], "answer_start": [0, 9]}, OBJECTS, ["Bread", "rye"]),
        ({"text": "Bread", "answer_start": 0}, OBJECTS[:1], ["Bread"]),
        ({"text": ["Bread"]}, [{"text": "Bread"}], ["Bread"]),
        ({"text": [], "answer_start": []}, [], []),
        (["Bread"], ["Bread"], ["Bread"]),
        # Of no form that is known, and given back for the reader to refuse.
        *(
            (value, value, value)
            for value in (None, "Bread", {}, {"text": None}, {"text": ["a"], "answer_start": [0, 1]})
        ),
    ],
)
def test_answers_are_a_list_of_objects_or_hugging_faces_object_of_lists(answers, objects, texts):
    assert parse_answers({"answers": answers}) == objects
    assert parse_answer_texts({"answers": answers}) == texts


@pytest.mark.parametrize(
    ("row", "texts"),
    [
        ({"answers": {"text": ["a", "b", "a", " "], "answer_start": [0, 1, 2, 3]}}, ("a", "b")),
        ({"answers": [{"text": "a"}, 3, {"text": None}]}, ("a", "3")),
        ({"answers": "a", "answer": "b"}, ("a",)),
        ({"answers": None, "answer": {"text": 1200, "answer_start": 4}}, ("1200",)),
        *(({"answers": answers}, ()) for answers in ({"text": None}, [{"text": " "}], [{}], [], None)),
        ({}, ()),
    ],
)
def test_the_answers_of_a_question_are_its_distinct_texts(row, texts):
    assert parse_distinct_answers("file", row, "question 1") == texts


@pytest.mark.parametrize("answers", [[["a", 3]], {"text": ["a", "b"], "answer_start": [1]}, [True], {"a": 1}])
def test_answers_of_another_form_are_not_dropped(answers):
    with pytest.raises(DataError, match="file, question 1"):
        parse_distinct_answers("file", {"answers": answers}, "question 1")


def written(folder, text):
    path = folder / "x.tsv"
    path.write_text(text, encoding="utf-8", newline="")
    return path


@pytest.mark.parametrize(
    ("cell", "text"),
    [
        ('"He said ""nine""."', 'He said "nine".'),
        ('"""Nine."""', '"Nine."'),
        ('"nine, ten"', "nine, ten"),
        ('""', ""),
        # Text as it is, which is no cell of that form.
        *((cell, cell) for cell in ('"Hello" he said', '"Hello" and "bye"', 'a "b" c', '"open', 'close"', '"', "a")),
    ],
)
def test_a_quoted_cell_is_taken_without_the_quotation_marks_of_its_form(tmp_path, cell, text):
    path = written(tmp_path, f"en\tde\n{cell}\tx\nx\t{cell}\n")
    assert read_table(path, ()) == {"en": [text, "x"], "de": ["x", text]}


@pytest.mark.parametrize("quoting", [csv.QUOTE_MINIMAL, csv.QUOTE_ALL])
def test_what_pythons_csv_writes_is_read_again(tmp_path, quoting):
    rows = [["en", "de"], ['say "a"', '"b"'], ["it's", '""'], ["", "c"]]
    with open(tmp_path / "x.tsv", "w", encoding="utf-8", newline="") as file:
        csv.writer(file, delimiter="\t", quoting=quoting).writerows(rows)
    assert read_table(tmp_path / "x.tsv", ()) == {"en": ['say "a"', "it's", ""], "de": ['"b"', '""', "c"]}


def test_blanks_around_a_heading_are_none_of_it(tmp_path):
    assert read_table(written(tmp_path, "en\t de \na\tb\n"), ()) == {"en": ["a"], "de": ["b"]}


def test_blank_lines_at_the_end_are_no_rows(tmp_path):
    assert read_table(written(tmp_path, "en\tde\r\na\tb\r\n\r\n\t\r\n\r\n"), ()) == {"en": ["a"], "de": ["b"]}


def test_hidden_files_are_no_language(tmp_path):
    for name in ("en.txt", "de.txt", "._en.txt", "._de.txt"):
        (tmp_path / name).write_bytes(b"\x00\x05\x16\x07\xb0" if name[0] == "." else b"a\n")
    assert read_columns(tmp_path) == {"de": ["a"], "en": ["a"]}


@pytest.mark.parametrize(
    ("flag", "answered"),
    [(True, False), ("TRUE", False), (1, False), (False, True), (None, True), ("false", True), (0, True)],
)
def test_a_question_that_says_it_is_impossible_is_none_that_its_paragraph_answers(flag, answered):
    qa = {"id": 7, "question": "Who?", "is_impossible": flag, "answers": []}
    other = {"id": "b", "question": "What?"}
    paragraph = {"context": "Bread.", "qas": [qa, other]}
    assert parse_questions("file", paragraph) == ([qa] if answered else []) + [other]
    assert find_impossible("file", [{"paragraphs": [paragraph]}]) == ([] if answered else ["7"])


def test_an_object_without_answers_is_hugging_faces_mark_of_an_impossible_question():
    qas = [{"id": n, "answers": {"text": texts, "answer_start": texts}} for n, texts in enumerate(([], [3]))]
    assert parse_questions("file", {"qas": [*qas, {"id": 2, "answers": []}]}) == [qas[1], {"id": 2, "answers": []}]
