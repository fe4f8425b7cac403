"""MLQA's and XOR-TyDi's own files: which are read, what becomes of them, and files of another corpus."""

import json

import pytest
from fixtures.data import squad

from distill.data.corpora import find_corpus_reader, read_mlqa, read_xor
from distill.data.dataset import Passage, Question
from distill.data.loading import read_dataset
from distill.errors import DataError

BREAD, TEA, FLOUR = "Bread is baked.", "Tea is brewed.", "Flour is milled."
MLQA = {
    "dev-context-en-question-en": [("Baking", [(BREAD, {"b": "What is baked?"})]), ("Tea", [(TEA, {"t": "What?"})])],
    "dev-context-en-question-de": [("Tea", [(TEA, {"t": "Was wird gebrüht?"})])],
    # The same article again, with another paragraph: its passages stand beside each other all the same.
    "test-context-en-question-en": [("Baking", [(FLOUR, {"f": "What is milled?"})])],
    "test-context-de-question-de": [("Backen", [("Mehl wird gemahlen.", {"f": "Was wird gemahlen?"})])],
    "test-context-de-question-en": [("Backen", [("Mehl wird gemahlen.", {"f": "What is milled?"})])],
}


def mlqa(folder, **other):
    for name, articles in {**MLQA, **other}.items():
        (folder / f"{name}.json").write_text(json.dumps(squad(articles)), encoding="utf-8")
    return folder


def test_mlqas_dev_and_test_are_one_data_set_of_the_contexts_in_one_language(tmp_path):
    data = read_dataset(mlqa(tmp_path))
    assert data.titles == ("Baking", "Tea")
    assert [(passage.text, passage.document) for passage in data.passages] == [(BREAD, 0), (FLOUR, 0), (TEA, 1)]
    assert data.questions == {
        "en": {
            "b": Question("b", "en", "What is baked?", 0),
            "t": Question("t", "en", "What?", 2),
            "f": Question("f", "en", "What is milled?", 1),
        },
        "de": {"t": Question("t", "de", "Was wird gebrüht?", 2)},
    }
    german = read_mlqa(tmp_path, "de")
    assert german.passage_texts == ["Mehl wird gemahlen."]
    assert german.languages == ("de", "en")


def test_of_mlqas_files_hidden_ones_and_questions_without_an_answer_are_left_out(tmp_path, capsys):
    (mlqa(tmp_path) / "._dev-context-en-question-en.json").write_bytes(b"\x00\x05\x16\x07\xb0")
    path = tmp_path / "dev-context-en-question-en.json"
    value = json.loads(path.read_text(encoding="utf-8"))
    value["data"][0] |= {"title": None}
    value["data"][0]["paragraphs"][0]["qas"].append({"id": 5, "question": "Who?", "is_impossible": True, "answers": []})
    value["data"][1]["paragraphs"][0]["qas"].append({"id": 6, "question": "Is it?", "answers": {"text": ["Tea"]}})
    path.write_text(json.dumps(value), encoding="utf-8")
    data = read_dataset(tmp_path)
    assert data.titles == ("dev-context-en-question-en 0", "Tea", "Baking")
    assert list(data.questions["en"]) == ["b", "t", "6", "f"] and data.questions["en"]["6"].answers == ("Tea",)
    [line] = capsys.readouterr().err.splitlines()
    assert "1 of 6" in line


@pytest.mark.parametrize(
    ("value", "language", "place"),
    [
        (MLQA["dev-context-en-question-en"], "fr", "in fr; they are in de, en"),
        ([*MLQA["dev-context-en-question-en"], ("More", [(TEA, {"t": "What?"})])], "en", "question t: duplicate"),
        ([("Tea", [(" ", {"t": "What?"})])], "en", "article 'Tea': .*'context'"),
    ],
)
def test_what_is_wrong_in_mlqas_files_is_named(tmp_path, value, language, place):
    with pytest.raises(DataError, match=place):
        read_mlqa(mlqa(tmp_path, **{"dev-context-en-question-en": value}), language)


def gold(title, context, id, question, answer="", **more):
    """An entry of XOR-TyDi's gold paragraphs, as its authors wrote them: one question each."""
    answers = [{"text": answer, "answer_start": context.index(answer)}]
    title = f"title:{title}_parentSection:Introduction_sectionName:Career._sectionIndex:2"
    qas = [{"question": question, "answers": answers, "id": id, "split": "train", **more}]
    return {"title": title, "paragraphs": [{"context": context, "qas": qas}]}


TRAIN = [
    gold("Bread", BREAD, "1", "Mitä leivotaan?", "Bread", lang="fi"),
    gold("Tea", TEA, "2", "ما هو؟", "Tea", lang=" ar"),
    gold("Bread", FLOUR, "3", "무엇인가?", "Flour", lang="ko"),
    # A question that another paragraph answers, too.
    gold("Bread", FLOUR, "1", "Mitä leivotaan?", "Flour", lang="fi"),
]
DEV = [gold("Coffee", "Coffee is ground.", "4", "Mitä jauhetaan?", "Coffee", lang="fi")]


def xor(folder, train=TRAIN, dev=DEV):
    for name, rows in (("train", train), ("dev", dev)):
        (folder / f"gp_squad_{name}_data.json").write_text(json.dumps({"data": rows}), encoding="utf-8")
    return folder


def test_xor_tydis_gold_paragraphs_by_article_and_by_the_language_of_each_question(tmp_path):
    data = read_dataset(xor(tmp_path))
    assert data.titles == ("Bread", "Tea", "Coffee")
    assert data.passages == (
        Passage("0-0", BREAD, 0),
        Passage("0-1", FLOUR, 0),
        Passage("1-0", TEA, 1),
        Passage("2-0", "Coffee is ground.", 2),
    )
    assert data.questions == {
        "fi": {
            "1": Question("1", "fi", "Mitä leivotaan?", 0, ("Bread",)),
            "4": Question("4", "fi", "Mitä jauhetaan?", 3, ("Coffee",)),
        },
        "ar": {"2": Question("2", "ar", "ما هو؟", 2, ("Tea",))},
        "ko": {"3": Question("3", "ko", "무엇인가?", 1, ("Flour",))},
    }


def test_english_twins_of_xor_tydi_are_found_by_text_or_id(tmp_path, capsys):
    # Two spaces and case do not count; a line of no question, and one without English, bring nothing.
    (xor(tmp_path) / "fi-en.tsv").write_text(
        "fi\ten\nMitä  LEIVOTAAN?\tWhat is baked?\nKuka?\tWho?\nMitä jauhetaan?\t\n", encoding="utf-8"
    )
    before = read_dataset(tmp_path).files
    (tmp_path / "ko-en.tsv").write_text("id\ten\n3\tWhat is it?\n", encoding="utf-8")
    capsys.readouterr()
    data = read_dataset(tmp_path)
    assert data.questions["en"] == {
        "1": Question("1", "en", "What is baked?", 0, ("Bread",)),
        "3": Question("3", "en", "What is it?", 1, ("Flour",)),
    }
    assert "2 of 4 questions" in capsys.readouterr().err
    # What a run that goes on compares.
    assert set(data.files) - set(before) == {"ko-en.tsv"}


def test_a_language_that_the_file_does_not_say_comes_from_xor_tydis_questions(tmp_path):
    silent = [gold("Bread", BREAD, "1", "Mitä leivotaan?", "Bread")]
    with pytest.raises(DataError, match=r"gp_squad_train_data\.json: question 1: "):
        read_xor(xor(tmp_path, train=silent), "en")
    (tmp_path / "xor_train_full.jsonl").write_text('{"id": "1", "lang": "fi", "question": "?"}\n', encoding="utf-8")
    assert list(read_xor(tmp_path, "en").questions) == ["fi"]


def test_xor_tydis_ids_are_whole_numbers_too_and_its_impossible_questions_are_left_out(tmp_path, capsys):
    train = [gold("Bread", BREAD, 1, "Mitä leivotaan?", "Bread"), gold("Tea", TEA, 2, "?", "", is_impossible=True)]
    (xor(tmp_path, train=train) / "xor_train_full.jsonl").write_text('{"id": 1, "lang": "fi"}\n', encoding="utf-8")
    (tmp_path / "._fi-en.tsv").write_bytes(b"\x00\x05\x16\x07\xb0")
    (tmp_path / "fi-en.tsv").write_text("id\ten\n1\tWhat is baked?\n", encoding="utf-8")
    questions = read_xor(tmp_path, "en").questions
    assert list(questions["fi"]) == ["1", "4"] and list(questions["en"]) == ["1"]
    assert "1 of 3" in capsys.readouterr().err


def test_a_table_without_a_column_that_finds_the_questions(tmp_path):
    (xor(tmp_path) / "fi-en.tsv").write_text("text\ten\nMitä?\tWhat?\n", encoding="utf-8")
    with pytest.raises(DataError, match=r"fi-en\.tsv: "):
        read_xor(tmp_path, "en")


def test_xor_tydi_has_english_paragraphs_alone(tmp_path):
    with pytest.raises(DataError, match="not in fi"):
        read_dataset(xor(tmp_path), "fi")


def test_another_folder_has_no_reader_of_its_own(tmp_path):
    (tmp_path / "en.json").write_text("{}")
    assert find_corpus_reader(tmp_path) is None
