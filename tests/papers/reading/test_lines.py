import json

import pytest

from distill.errors import DataError
from distill.papers.reading.lines import Question, read_bare_questions, write_predictions


def test_a_prediction_stands_with_the_language_and_the_answers_of_its_question(tmp_path):
    rows = [{"id": 7, "question": "Wer?", "language": "de", "answers": ["Drais"]}, {"question": "Who?"}]
    path, output = tmp_path / "questions.jsonl", tmp_path / "answers.jsonl"
    path.write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    questions = read_bare_questions(path)
    assert questions == [Question("7", "de", "Wer?", ("Drais",)), Question("2", "en", "Who?", ())]
    write_predictions(output, questions, ["Karl", ""])
    assert [json.loads(line) for line in output.read_text(encoding="utf-8").splitlines()] == [
        {"id": "7", "language": "de", "prediction": "Karl", "answers": ["Drais"]},
        {"id": "2", "language": "en", "prediction": ""},
    ]


def test_an_id_that_is_null_is_none_and_answers_may_be_hugging_faces_object(tmp_path):
    row = {"id": None, "question": "Who?", "answers": {"text": ["Drais"], "answer_start": [3]}}
    (tmp_path / "questions.jsonl").write_text(json.dumps(row), encoding="utf-8")
    assert read_bare_questions(tmp_path / "questions.jsonl") == [Question("1", "en", "Who?", ("Drais",))]


@pytest.mark.parametrize(
    "content",
    [
        '{"question": "Who?", "answers": [["a"]]}',
        "",
        '{"id": "a"}\n',
        '{"question": 3}\n',
        '{"question": "Who?", "language": 1}\n',
    ],
)
def test_lines_without_a_question_are_refused(tmp_path, content):
    (tmp_path / "questions.jsonl").write_text(content, encoding="utf-8")
    with pytest.raises(DataError):
        read_bare_questions(tmp_path / "questions.jsonl")
