"""SQuAD's objects: which questions a paragraph answers."""

import pytest

from distill.data.parsing.squad import find_impossible, parse_distinct_answers, parse_questions


@pytest.mark.parametrize(
    ("flag", "answered"), [(True, False), ("true", False), (False, True), (None, True), ("false", True), (0, True)]
)
def test_a_question_that_says_it_is_impossible_is_none_that_its_paragraph_answers(flag, answered):
    qa = {"id": 7, "question": "Who?", "is_impossible": flag, "answers": []}
    other = {"id": "b", "question": "What?"}
    paragraph = {"context": "Bread.", "qas": [qa, other]}
    assert parse_questions("file", paragraph) == ([qa] if answered else []) + [other]
    assert find_impossible("file", [{"paragraphs": [paragraph]}]) == ([] if answered else ["7"])


def test_the_answers_of_a_question_are_its_distinct_texts():
    assert parse_distinct_answers({"answers": {"text": ["a", "b", "a", " "], "answer_start": [0, 1, 2, 3]}}) == (
        "a",
        "b",
    )
    assert parse_distinct_answers({"answers": [{"text": "a"}, 3, {"text": 4}]}) == ("a",)
