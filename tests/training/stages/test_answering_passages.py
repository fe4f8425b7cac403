import json

import numpy as np
import pytest

from distill.data.contexts import read_contexts
from distill.data.dataset import Question
from distill.data.loading import load_dataset
from distill.data.pairs import Pairs, make_gold_pairs
from distill.errors import DataError
from distill.training.stages.answering_passages import (
    HELD,
    NOT,
    UNKNOWN,
    AnsweringPassages,
    collect_answers,
    find_answering_passages,
)

EN = ("The Danube ends in the Black Sea.", "The BLACK  sea is salty.", "The Rhine ends in the North Sea.")
DE = ("Die Donau endet im Schwarzen Meer.", "Es ist salzig.", "Der Rhein endet in der Nordsee.")
ANSWERS = {"en": {"danube": ("Black Sea",), "rhine": ("yes",), "both": ("Holland", "North Sea")}}


def pool(*ids):
    """Rows 0 to 2 are English, 3 to 5 their translations; the first passage is each question's own."""
    return Pairs(
        tuple(Question(id, language, f"{id}?", 0) for id in ids for language in ("en", "de")),
        EN + DE,
        np.repeat(np.array(["en", "de"]), 3),
        np.tile(np.arange(3), 2),
        tuple(np.array([0, 3]) for _ in range(2 * len(ids))),
        tuple(np.zeros(0, dtype=int) for _ in range(2 * len(ids))),
    )


@pytest.fixture
def answered():
    return AnsweringPassages(pool("danube", "rhine", "both"), {**ANSWERS, "de": {"danube": ("Schwarzen Meer",)}})


def test_a_passage_is_searched_for_the_answers_in_its_own_language(answered):
    assert answered.of("danube", range(6)).tolist() == [HELD, HELD, NOT, HELD, NOT, NOT]
    assert answered.of("both", [2, 1, 5]).tolist() == [HELD, NOT, UNKNOWN]
    assert answered.of("rhine", [0, 2]).tolist() == [UNKNOWN, UNKNOWN]
    assert answered.of("danube", [5, 0, 5]).tolist() == [NOT, HELD, NOT]
    assert answered.of("danube", [3, 5, 0]).tolist() == [HELD, NOT, HELD]
    assert answered.of("danube", []).tolist() == []
    assert [answered.anywhere("danube", content) for content in range(3)] == [True, True, False]
    assert answered.nowhere == {"rhine"}
    assert answered.without() == {"en": (1, 3), "de": (1, 3)}


def squad(folder, answers):
    """Two questions about two paragraphs; `answers`: `{language: [texts, texts]}`."""
    for language, texts in {"en": EN[:2], "de": DE[:2]}.items():
        paragraphs = [
            {
                "context": context,
                "qas": [{"id": f"q{i}", "question": f"{i}?", "answers": [{"text": a} for a in answers[language][i]]}],
            }
            for i, context in enumerate(texts)
        ]
        paragraphs[0]["qas"].append({"id": "later", "question": "?", "answers": []})
        article = {"title": "seas", "paragraphs": paragraphs}
        (folder / f"{language}.json").write_text(json.dumps({"data": [article]}), encoding="utf-8")
    (folder / "splits.json").write_text(json.dumps({"train": ["q0", "q1"], "dev": ["later"]}), encoding="utf-8")
    dataset = load_dataset(folder)
    return dataset, make_gold_pairs(dataset, read_contexts(dataset, folder, ["de"]), ["en", "de"])


def test_questions_that_nothing_answers_are_counted_by_language_and_none_that_is_answered_is_refused(tmp_path, capsys):
    dataset, pairs = squad(tmp_path, {"en": [["Black Sea"], ["Volga"]], "de": [["Schwarzen Meer"], []]})
    answered = find_answering_passages(dataset, tmp_path, ["en", "de"], pairs)
    assert answered.of("q0", range(4)).tolist() == [HELD, HELD, HELD, NOT]
    assert "1 of 2 in en, 1 of 2 in de" in " ".join(capsys.readouterr().err.split())
    dataset, pairs = squad(tmp_path, {"en": [["Volga"], []], "de": [[], []]})
    with pytest.raises(DataError, match="answer"):
        find_answering_passages(dataset, tmp_path, ["en", "de"], pairs)


def test_a_question_of_another_language_alone_has_the_documents_answers(tmp_path):
    rows = [
        {"id": "a", "language": "en", "text": "a?", "passage": "one", "answers": ["salty"]},
        {"id": "a", "language": "ru", "text": "а?", "passage": "one"},
        {"id": "b", "language": "ru", "text": "б?", "passage": "one", "answers": ["Black Sea"]},
        *({"id": "c", "language": language, "text": "?", "passage": "one"} for language in ("en", "ru")),
    ]
    document = {"id": "d", "title": "seas", "passages": [{"id": "one", "text": EN[1]}]}
    (tmp_path / "documents.jsonl").write_text(json.dumps(document), encoding="utf-8")
    (tmp_path / "questions.jsonl").write_text("\n".join(map(json.dumps, rows)), encoding="utf-8")
    (tmp_path / "splits.json").write_text(json.dumps({"train": ["a", "b"], "dev": ["c"]}), encoding="utf-8")
    answers = collect_answers(load_dataset(tmp_path), tmp_path, ["en", "ru"])
    assert answers == {"en": {"a": ("salty",), "b": ("Black Sea",), "c": ()}}
