import json

import pytest

from distill.errors import DataError, InputError
from distill.evaluation.answers import (
    Match,
    f1,
    measure_answers,
    plain_words,
    read_predictions,
    score_answer,
    stemmed_words,
)
from distill.vocabulary.words import morphology


def test_plain_words_are_squads_and_others_stemmed():
    assert plain_words("The U.S. of  an Apple-pie, a-b?") == ["us", "of", "applepie", "ab"]
    assert stemmed_words("The Houses", "en") == ["hous"]
    assert stemmed_words("die Häuser", "de") == ["die", "haus"]
    assert stemmed_words("+ +", "de") == [] and stemmed_words("€ ₽", "de") == ["€", "₽"]


@pytest.mark.parametrize(
    "predicted, gold, expected",
    [
        ("a b c", "b c d e", 2 * (2 / 3) * (2 / 4) / (2 / 3 + 2 / 4)),
        ("x x", "x", 2 * (1 / 2) * 1 / (1 / 2 + 1)),
        ("x", "y", 0.0),
        ("", "y", 0.0),
        ("", "", 1.0),
    ],
)
def test_f1(predicted, gold, expected):
    assert f1(predicted.split(), gold.split()) == pytest.approx(expected)


def test_the_best_gold_answer_counts_and_none_is_refused():
    assert score_answer("the red car", ["blue", "red car", "car"], "en") == (1.0, 1.0)
    assert score_answer("red", ["red car", "green"], "en") == (0.0, pytest.approx(2 / 3))
    with pytest.raises(InputError, match="gold"):
        score_answer("a", [], "en")


@pytest.mark.parametrize(
    "language, prediction, gold",
    [
        ("ru", "в Москве", "в Москва"),
        ("ko", "서울에서", "서울"),
        ("ja", "東京へ行った", "東京に行く"),
        ("ar", "المدرسة", "مدرسة"),
    ],
)
def test_inflection_costs_nothing_with_morphology(language, prediction, gold):
    assert score_answer(prediction, [gold], language)[0] == 0.0
    assert score_answer(prediction, [gold], language, "morphology") == (1.0, 1.0)


def test_a_missing_prediction_counts_as_wrong_and_unknown_ids_are_refused():
    golds = {"1": ["Häuser"], "2": ["Baum"], "3": ["x y"], "4": ["z"]}
    assert measure_answers({"1": "Haus", "2": "Baum", "3": "y"}, golds, "de").as_dict() == {
        "questions": 4,
        "missing": 1,
        "plain": {"em": 1 / 4, "f1": pytest.approx((0 + 1 + 2 / 3) / 4)},
        "morphology": {"em": 2 / 4, "f1": pytest.approx((1 + 1 + 2 / 3) / 4)},
    }
    assert measure_answers({}, golds, "de").matches["plain"] == Match(0.0, 0.0)
    with pytest.raises(DataError, match="1 predictions .* 9;"):
        measure_answers({"9": "x"}, {"1": ["x"]}, "en")


def test_answers_without_a_stemmer_are_counted(capsys):
    morphology._warn.cache_clear()
    measure_answers({"1": "x"}, {"1": ["x"], "2": ["y"]}, "he")
    said = "warning: he: no stemmer; the words of the answers of 2 questions are compared whole\n"
    assert capsys.readouterr().err == said


def written(tmp_path, *rows):
    path = tmp_path / "predictions.jsonl"
    path.write_text("\n".join(map(json.dumps, rows)), encoding="utf-8")
    return path


def test_predictions_are_read_and_an_empty_file_is_refused(tmp_path):
    german = {"id": "1", "answer": "y", "language": "de", "answers": ["z"]}
    rows = {"id": 1, "prediction": "x", "language": None}, german
    assert read_predictions(written(tmp_path, *rows), "en") == {"en": {"1": ("x", None)}, "de": {"1": ("y", ["z"])}}
    with pytest.raises(DataError, match="predictions.jsonl"):
        read_predictions(written(tmp_path), "en")


@pytest.mark.parametrize(
    "row, said",
    [
        ({"prediction": "x"}, "got id None"),
        *(({"id": id, "prediction": "x"}, f"got id {id}") for id in (None, True, 2.0)),
        ({"id": "2"}, "prediction None"),
        ({"id": "2", "prediction": "x", "answers": []}, "'answers'"),
        ({"id": "2", "prediction": "x", "language": 3}, "'language'"),
        ({"id": "1", "prediction": "x"}, "id 1 .* en"),
    ],
)
def test_a_bad_line_is_named(tmp_path, row, said):
    with pytest.raises(DataError, match=f"line 2: .*{said}"):
        read_predictions(written(tmp_path, {"id": "1", "prediction": "x"}, row), "en")
