"""SQuAD's objects: which questions a paragraph answers."""

import pytest

from distill.data.parsing.fields import find_impossible, parse_questions


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
