import json
import os
from pathlib import Path

import numpy as np
import pytest

from distill.data.loading import load_dataset
from distill.data.pool_readers import has_sentences, load_pool
from distill.errors import DataError

DATA = Path(os.environ.get("DISTILL_DATA", Path(__file__).parents[3] / "shared" / "data"))
XQUAD_R = DATA / "xquad-r"
CONTEXT = "It rains. Dr. Who came late. The end."
BREAKS = [[0, 9], [10, 28], [29, 37]]


def paragraph(answers=(("x", "Who", 14),), context=CONTEXT, breaks=BREAKS):
    qas = [
        {"id": id, "question": f"{id}?", "answers": [{"text": text, "answer_start": start}]}
        for id, text, start in answers
    ]
    return {"context": context, "qas": qas, "sentence_breaks": breaks}


def write(folder, name, *articles):
    data = [{"title": str(number), "paragraphs": list(article)} for number, article in enumerate(articles)]
    (folder / f"{name}.json").write_text(json.dumps({"data": data}), encoding="utf-8")
    return folder


def test_every_sentence_is_a_candidate_with_its_paragraph_and_those_where_spans_begin_are_right(tmp_path):
    write(tmp_path, "en", [paragraph()], [paragraph([("y", "b", 3)], "A. b.", [[0, 2], [3, 5]])])
    pool = load_pool(tmp_path, split="all")
    assert pool.sentences == ("It rains.", "Dr. Who came late.", "The end.", "A.", "b.")
    assert pool.contexts == (CONTEXT, CONTEXT, CONTEXT, "A. b.", "A. b.")
    np.testing.assert_array_equal(pool.targets, [[1], [4]])
    assert pool.questions == ("x?", "y?")
    # A few spans cross a boundary that a sentence breaker set after an abbreviation.
    write(tmp_path, "en", [paragraph([("x", "Dr. Who", 10)], breaks=[[0, 9], [10, 13], [14, 37]])])
    np.testing.assert_array_equal(load_pool(tmp_path, split="all").targets, [[1]])
    both = paragraph()
    both["qas"][0]["answers"].append({"text": "end", "answer_start": 33})
    write(tmp_path, "en", [both])
    np.testing.assert_array_equal(load_pool(tmp_path, split="all").targets, [[1, 2]])
    # An offset that is off: the second "An e" is nearer to character 20 than the first.
    context, breaks = "An e here. More text. An e there.", [[0, 10], [11, 21], [22, 33]]
    write(tmp_path, "en", [paragraph([("x", "An e", 20), ("y", "An e", 2)], context, breaks)])
    np.testing.assert_array_equal(load_pool(tmp_path, split="all").targets, [[2], [0]])


def test_mlqa_names_and_questions_of_some_languages(tmp_path):
    write(tmp_path, "dev-context-en-question-en", [paragraph([("x", "It", 0), ("y", "late", 23)])])
    write(tmp_path, "dev-context-de-question-de", [paragraph([("y", "It", 0)])])
    write(tmp_path, "dev-context-de-question-en", [paragraph([("y", "nothing", 9999)])])
    pool = load_pool(tmp_path, split="all")
    assert pool.languages == ("de", "en")
    assert pool.ids == ("y", "x", "y")
    np.testing.assert_array_equal(pool.targets, [[0, 4], [3, -1], [0, 4]])


def test_of_a_pool_too_ids_may_be_numbers_answers_an_object_and_questions_impossible(tmp_path, capsys):
    part = paragraph([(7, "Who", 14), (8, "It", 0)])
    part["qas"][0]["answers"] = {"text": ["Who"], "answer_start": [14]}
    part["qas"].append({"id": 9, "question": "Why?", "answers": [], "is_impossible": True})
    write(tmp_path, "en", [part])
    (tmp_path / "._en.json").write_bytes(b"\x00\x05\x16\x07\xb0")
    (tmp_path / "splits.json").write_text(json.dumps({"train": [8, 9], "dev": [7]}))
    pool = load_pool(tmp_path, split="all")
    assert pool.languages == ("en",) and pool.ids == ("7", "8")
    np.testing.assert_array_equal(pool.targets, [[1], [0]])
    [line] = capsys.readouterr().err.splitlines()
    assert "en.json" in line and "1 of 3" in line
    assert load_pool(tmp_path, split="dev").ids == ("7",)


def test_splits_json_decides(tmp_path):
    answers = [(f"q{number}", "It", 0) for number in range(5)]
    write(tmp_path, "en", [paragraph(answers)])
    (tmp_path / "splits.json").write_text(json.dumps({"train": ["q0", "q4"], "dev": ["q3", "q1"]}))
    assert load_pool(tmp_path, split="dev").ids == ("q1", "q3")
    assert load_pool(tmp_path, split="all").ids == ("q0", "q1", "q2", "q3", "q4")
    with pytest.raises(DataError, match="test; .*train, "):
        load_pool(tmp_path, split="test")


@pytest.mark.parametrize("split_by", ["question", "document"])
def test_a_seeded_split_is_the_one_that_training_uses_of_all_languages_questions(tmp_path, split_by):
    """German lacks some questions: the others must not fall into another split for it."""
    for language, step in (("en", 1), ("de", 2)):
        ids = [[f"q{number}-{k}" for k in range(0, 4, step)] for number in range(10)]
        write(tmp_path, language, *([paragraph([(id, "It", 0) for id in of])] for of in ids))
    trained = load_dataset(tmp_path, split_by=split_by, seed=1)
    for split in ("train", "dev", "test"):
        expected = {question.id for question in trained.select("de", split)}
        assert set(load_pool(tmp_path, ["de"], split, split_by=split_by, seed=1).ids) == expected
        assert set(load_pool(tmp_path, None, split, split_by=split_by, seed=1).ids) == set(trained.splits[split])


@pytest.mark.parametrize("stored", [None, {"train": ["q0", "q5"], "dev": ["q4", "q3"], "test": ["q1"]}])
def test_a_question_under_several_ids_is_in_the_split_that_training_has_it_in(tmp_path, stored):
    """Of forty questions the odd ones are one in German."""
    for language, text in (("en", "{}?"), ("de", "Odd?")):
        part = paragraph([(f"q{number}", "It", 0) for number in range(40)])
        for number, one in enumerate(part["qas"]):
            one["question"] = text.format(number) if number % 2 else f"{language} {number}?"
        write(tmp_path, language, [part])
    if stored:
        (tmp_path / "splits.json").write_text(json.dumps(stored))
    trained = load_dataset(tmp_path)
    for split, ids in trained.splits.items():
        assert set(load_pool(tmp_path, ["en"], split).ids) == set(ids), split
    odd = {f"q{number}" for number in range(1, 40, 2)}
    assert len([split for split, ids in trained.splits.items() if odd & set(ids)]) == 1


def test_languages_restrict_the_pool(tmp_path):
    for language in ("de", "en", "th"):
        write(tmp_path, language, [paragraph()])
    assert load_pool(tmp_path, ["en", "de"], "all").languages == ("de", "en")
    with pytest.raises(DataError, match=" el; .* en, "):
        load_pool(tmp_path, ["en", "el"])
    write(tmp_path, "el", [])
    with pytest.raises(DataError, match=" el .* --languages"):
        load_pool(tmp_path, split="all")
    write(tmp_path, "test-context-en-question-en", [paragraph()])
    with pytest.raises(DataError, match=" en: en.json .*test-"):
        load_pool(tmp_path)


def test_has_sentences(tmp_path):
    write(tmp_path, "en", [paragraph()])
    assert has_sentences(tmp_path, ["en"])
    write(tmp_path, "de", [{"context": "a", "qas": []}])
    assert has_sentences(tmp_path, ["en"])
    assert not has_sentences(tmp_path, ["de", "en"])
    assert not has_sentences(tmp_path, ["en", "th"])


def without(name):
    """A paragraph whose question has no answers, or that has no sentences."""
    part = paragraph()
    if name == "answers":
        part["qas"][0]["answers"] = []
    else:
        del part[name]
    return part


BAD = {
    "no answers": (without("answers"), "question x: .* 'answers'"),
    "no boundaries": (without("sentence_breaks"), "en.json, article 0, paragraph 0: .* 'sentence_breaks'"),
    "no list": (paragraph(breaks="0-9"), "'sentence_breaks', .*'0-9'"),
    "no sentence": (paragraph(breaks=[]), r"'sentence_breaks', .*\[\]$"),
    "no pair": (paragraph(breaks=[[0, 9, 10]]), r"\[0, 9, 10\]"),
    "no number": (paragraph(breaks=[[0, "9"]]), r"\[0, '9'\]"),
    "beyond": (paragraph(breaks=[[0, 99]]), r"\[0, 99\] .* 37 "),
    "overlap": (paragraph(breaks=[[0, 9], [8, 37]]), r"\[8, 37\]"),
    "empty": (paragraph(breaks=[[0, 0]]), r"\[0, 0\]"),
    "blank": (paragraph(breaks=[[0, 9], [9, 10]]), r"\[9, 10\]"),
    "elsewhere": (paragraph([("x", "Whom", 14)]), "question x: .* 'Whom'"),
    "outside": (paragraph([("x", "late", 35)]), r"question x: .* \[35, 39\]"),
    "before": (paragraph([("x", "It", -1)]), r"question x: .* \[-1, 1\]"),
    "between": (paragraph([("x", " ", 9)]), "question x: .* 9 "),
    "no text": (paragraph([("x", "", 3)]), "question x: .* 'text'"),
    "no start": (paragraph([("x", "It", None)]), "question x: .* 'answer_start'"),
    "twice": (paragraph([("x", "It", 0), ("x", "It", 0)]), "question x: "),
    "no question": (paragraph([]), " en "),
}


@pytest.mark.parametrize("kind", BAD)
def test_bad_files_are_refused_with_their_place(tmp_path, kind):
    content, said = BAD[kind]
    write(tmp_path, "en", [content])
    with pytest.raises(DataError, match=said):
        load_pool(tmp_path, split="all")


@pytest.mark.skipif(not XQUAD_R.is_dir(), reason=f"needs XQuAD-R in {XQUAD_R}; set DISTILL_DATA")
def test_the_candidate_counts_of_lareqas_table_1():
    pool = load_pool(XQUAD_R, split="all")
    assert pool.count(pool.language_of) == {
        "ar": 1222, "de": 1276, "el": 1234, "en": 1180, "es": 1215, "hi": 1244,
        "ru": 1219, "th": 852, "tr": 1167, "vi": 1209, "zh": 1196,
    }  # fmt: skip
    assert (pool.targets >= 0).all() and pool.targets.shape[1] == 11
