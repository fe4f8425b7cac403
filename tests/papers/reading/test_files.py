import json

import pytest

from distill.errors import DataError
from distill.papers.reading.files import ReaderSource, find_only_place, find_place_at, read_source

PASSAGES = [{"pid": 1, "context": "Rome is in Italy. Italy is old."}]


def write(folder, questions, passages=PASSAGES):
    for name, rows in (("passages.en", passages), ("questions.train.en", questions)):
        lines = "".join(json.dumps(row) + "\n" for row in rows)
        (folder / f"{name}.jsonl").write_text(lines, encoding="utf-8")
    return ReaderSource(folder)


def question(answers, **fields):
    return {"id": "a", "pid": 1, "question": "Where is Rome?", "answers": answers, **fields}


def test_an_answer_is_taken_from_its_place_or_looked_for(tmp_path, capsys):
    rows = [question(["Italy"], answer_start=[18]), question(["Rome"]), question(["Italy"]), question(["Paris"])]
    examples = read_source(write(tmp_path, rows))
    assert [example.place for example in examples] == [(18, 23), (0, 4)]
    assert "2 of 4" in capsys.readouterr().err


def test_a_split_is_taken_and_a_file_of_no_split_always(tmp_path):
    write(tmp_path, [question(["Rome"])])
    (tmp_path / "questions.dev.en.jsonl").write_text(json.dumps(question(["old"])) + "\n")
    assert [one.place for one in read_source(ReaderSource(tmp_path, "dev"))] == [(27, 30)]
    assert len(read_source(ReaderSource(tmp_path, "all"))) == 2
    (tmp_path / "questions.en.jsonl").write_text(json.dumps(question(["is old"])) + "\n")
    assert len(read_source(ReaderSource(tmp_path, "dev"))) == 2


@pytest.mark.parametrize(
    ("row", "line"),
    [
        (question(["Paris"], answer_start=[0]), "line 1"),
        (question(["Italy"], pid=2), "line 1"),
        (question("Italy"), "line 1"),
    ],
)
def test_what_does_not_belong_together_is_refused_by_its_line(tmp_path, row, line):
    with pytest.raises(DataError, match=f"questions.train.en.jsonl, {line}: "):
        read_source(write(tmp_path, [row]))


def test_empty_files_and_a_split_without_questions_are_refused(tmp_path):
    for source in (write(tmp_path, []), write(tmp_path, [question(["Rome"])], []), ReaderSource(tmp_path, "test")):
        with pytest.raises(DataError):
            read_source(source)


def test_ids_may_be_null_or_numbers_answers_an_object_and_questions_impossible(tmp_path, capsys):
    answers = {"text": ["Italy"], "answer_start": [18]}
    rows = [question(answers, id=7), question(["Rome"], id=None), question(["Rome"], is_impossible=True)]
    examples = read_source(write(tmp_path, rows))
    assert [(one.id, one.place) for one in examples] == [("7", (18, 23)), ("line 2", (0, 4))]
    # A passage without a name is none that a question without one means.
    with pytest.raises(DataError, match="passages.en.jsonl, line 1: .*'pid'"):
        read_source(write(tmp_path, [question(["Rome"], pid=None)], [{"pid": None, "context": "Rome."}]))


def test_a_squad_file_too_has_whole_numbers_an_object_of_answers_and_impossible_questions(tmp_path):
    for language, context in (("en", "Rome is old."), ("de", "Rom ist alt.")):
        word = context.split()[0]
        qas = [
            {"id": 7, "question": "Where?", "answers": {"text": [word], "answer_start": [0]}},
            # In German alone it has an answer with a place.
            {"id": 8, "question": "Who?", "answers": [{"text": word, "answer_start": 0}] if language == "de" else []},
            {"id": 9, "question": "Why?", "answers": [{"text": word, "answer_start": 0}], "is_impossible": True},
        ]
        value = {"data": [{"title": "Rome", "paragraphs": [{"context": context, "qas": qas}]}]}
        (tmp_path / f"{language}.json").write_text(json.dumps(value), encoding="utf-8")
    examples = read_source(ReaderSource(tmp_path, "all"))
    assert [(one.id, one.language, one.passage.language) for one in examples] == [
        ("7", "de", "de"),
        ("8", "de", "de"),
        ("7", "en", "en"),
        ("7", "de", "en"),
    ]


def test_questions_of_squad_are_read_in_the_documents_passages_and_in_their_own(sentence_data):
    examples = read_source(ReaderSource(sentence_data))
    pairs = [(one.language, one.passage.language) for one in examples]
    assert {pair: pairs.count(pair) for pair in set(pairs)} == {("en", "en"): 8, ("de", "de"): 8, ("de", "en"): 8}
    for example in examples:
        start, end = example.place
        assert example.passage.text[start:end] == example.answers[0]


def test_answers_of_another_data_set_are_looked_for(tmp_path, capsys):
    (tmp_path / "documents.jsonl").write_text(
        json.dumps({"id": "rome", "passages": ["Rome is in Italy. Italy is old."]}) + "\n"
    )
    rows = [("a", "en", "Where is Rome?", "Rome"), ("b", "de", "Wo ist Rom?", "old"), ("c", "de", "Wo?", "Italy")]
    lines = (
        json.dumps({"id": id, "language": language, "text": text, "answers": [answer], "passage": "rome/0"})
        for id, language, text, answer in rows
    )
    (tmp_path / "questions.jsonl").write_text("".join(f"{line}\n" for line in lines))
    examples = read_source(ReaderSource(tmp_path, "all"))
    assert [(one.id, one.language, one.place) for one in examples] == [("a", "en", (0, 4)), ("b", "de", (27, 30))]
    assert "1 of 3" in capsys.readouterr().err


PASSAGE = "It rained,  and it rained again in Rome."


def test_an_answer_is_where_it_is_said_to_be_or_nowhere():
    assert find_place_at(PASSAGE, "rained", 3) == (3, 9) and PASSAGE[3:9] == "rained"
    assert find_place_at(PASSAGE, "rained", 4) is None and find_place_at(PASSAGE, "", 0) is None
    assert find_place_at(PASSAGE, "It", -1) is None and find_place_at(PASSAGE, "Rome", 400) is None


def test_runs_of_blanks_count_as_one():
    assert find_place_at(PASSAGE, "rained, and", 3) == (3, 15)
    assert find_place_at(PASSAGE, " rained ", 2) == (3, 9)


@pytest.mark.parametrize("answer", ["rained", "Paris", " "])
def test_without_a_place_an_answer_is_taken_that_is_there_once(answer):
    assert find_only_place(PASSAGE, answer) is None
    assert find_only_place(PASSAGE, "Rome.") == (35, 40)
