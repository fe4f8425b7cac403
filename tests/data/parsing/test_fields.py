"""Ids, titles and answers in the forms that files have them in."""

import pytest

from distill.data.parsing.fields import (
    as_id,
    parse_answer_texts,
    parse_answers,
    parse_distinct_answers,
    parse_id,
    parse_title,
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
