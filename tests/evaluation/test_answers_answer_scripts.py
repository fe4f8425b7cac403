"""The normalisations of XOR-TyDi's and MLQA's evaluation scripts, and XOR-TyDi's BLEU, by hand."""

import math

import pytest

from distill.evaluation.answers import WORDS, bleu, measure_answers, mlqa_words, score_answer, xor_words
from distill.settings.choices import NORMALISATIONS


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
