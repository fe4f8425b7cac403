import json
import math

import pytest

from distill.errors import DataError, InputError
from distill.evaluation.answers import (
    WORDS,
    Match,
    bleu,
    f1,
    measure_answers,
    mlqa_words,
    plain_words,
    read_predictions,
    score_answer,
    stemmed_words,
    xor_words,
)
from distill.settings.choices import NORMALISATIONS
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


# The normalisations of XOR-TyDi's and MLQA's evaluation scripts, and XOR-TyDi's BLEU, by hand.
@pytest.mark.parametrize(
    ("text", "language", "words"),
    [
        # Articles stay, and punctuation that is no ASCII.
        ("The U.S. “Army”, 1990", "en", ["the", "us", "“army”", "1990"]),
        # Behind a number they would cost "1990" its match; within a word they go as well.
        ("1990년", "ko", ["1990"]),
        ("1990年 25歳 3人", "ru", ["1990", "25", "3"]),
        ("東京都は", "ja", ["東京", "都", "は"]),
    ],
)
def test_xor_tydis_words(text, language, words):
    assert xor_words(text, language) == words


@pytest.mark.parametrize(
    ("text", "language", "words"),
    [
        ("The “Army” of a U.S. — 5 % €", "en", ["army", "of", "us", "5", "€"]),
        # Those of other languages stay.
        ("the Das Haus des Mannes, einer", "de", ["the", "haus", "mannes"]),
        ("El río y las aguas", "es", ["río", "y", "aguas"]),
        ("những cái cây của tôi", "vi", ["cây", "tôi"]),
        # The script's expression cuts the article out of the middle of a word, too.
        ("المدرسة بالبيت", "ar", ["مدرسة", "ب", "بيت"]),
        ("राम की किताब।", "hi", ["राम", "की", "किताब"]),
        ("《清华大学》 2019年 MIT-AI lab", "zh", ["清", "华", "大", "学", "2019", "年", "mitai", "lab"]),
        ("le a the", "fi", ["le", "a", "the"]),
    ],
)
def test_mlqas_words(text, language, words):
    assert mlqa_words(text, language) == words


def test_two_empty_answers_match_exactly_and_have_nothing_in_common():
    assert score_answer("年", ["人"], "ja", "xor") == score_answer("the", ["a"], "en", "mlqa") == (1.0, 0.0)
    assert score_answer("the", ["a"], "en") == (1.0, 1.0)


def test_dots_and_commas_of_a_japanese_prediction_alone_are_changed():
    # There the gold comma stays a word of its own, so one word of two is in common with each.
    assert score_answer("京都、大阪", ["京都 大阪"], "ja", "xor") == (1.0, 1.0)
    assert score_answer("京都 大阪", ["京都、大阪"], "ja", "xor") == (0.0, pytest.approx(4 / 5))


def geometric(*precisions):
    return math.exp(sum(map(math.log, precisions)) / 4)


def test_bleu_is_of_one_to_four_characters_without_smoothing():
    assert bleu("Moscow", ["Moscow"], "en") == pytest.approx(1)
    # abcdx of abcde: 4 of 5, 3 of 4, 2 of 3 and 1 of 2.
    assert bleu("abcdx", ["abcde"], "fi") == pytest.approx(geometric(4 / 5, 3 / 4, 2 / 3, 1 / 2))
    # Two characters shorter than the nearest gold answer: exp(1 - 7 / 5). Case counts.
    assert bleu("abcde", ["abcdefg", "xxxxxxxxxxxx"], "fi") == pytest.approx(math.exp(1 - 7 / 5))
    assert bleu("ABCDE", ["abcde"], "fi") == 0
    # Three characters have no four in a row.
    assert bleu("Tea", ["Tea"], "en") < 1e-70


def test_a_languages_figures_by_the_scripts():
    golds = {"1": ["abcde", "y"], "2": ["1990년"], "3": ["z"]}
    figures = measure_answers({"1": "abcdx", "2": "1990"}, golds, "ko", ("xor", "mlqa"))
    xor = {"em": 1 / 3, "f1": 1 / 3}
    # The year is one character short of its gold answer.
    runs = (geometric(4 / 5, 3 / 4, 2 / 3, 1 / 2) + math.exp(1 - 5 / 4)) / 3
    assert figures.as_dict() == {
        **{"questions": 3, "missing": 1, "mlqa": {"em": 0.0, "f1": 0.0}},
        "xor": {name: pytest.approx(value) for name, value in {**xor, "bleu": runs}.items()},
    }


def test_every_normalisation_that_may_be_named_has_its_words():
    assert tuple(WORDS) == NORMALISATIONS
