"""Letters with their marks are cut where the library regex cuts them, or at fewer places."""

import random

import pytest

from distill.vocabulary.words.cutting import find_cluster_start, is_within_cluster

LETTERS = [
    "a",
    "é",
    "1",
    ".",
    "ก",
    "ก่",
    "กำ",
    "นี่",
    "की",
    "कि",
    "क्षा",
    "र्क",
    "কে্ষ",
    "ਕੋ",
    "த்",
    "m̈",
    "ǖ",
    "👨\u200d👩\u200d👧\u200d👦",
    "👩🏽\u200d🚀",
    "❤️",
    "‼️",
    "🇩🇪",
    "🏴\U000e0067\U000e0062\U000e0065\U000e006e\U000e0067\U000e007f",
    "한",
    "각",
    "ㅎ",
    "한",
    "ｶﾞ",
    "שָ",
    "بَّ",
    "ک\u200c",
]


@pytest.mark.parametrize("letter", LETTERS)
def test_a_letter_is_one_and_has_an_end(letter):
    places = [at for at in range(1, len(letter) * 2) if not is_within_cluster(letter * 2, at)]
    # A virama joins a consonant to the next, and the two halves of flags are counted from the first.
    assert places == ([len(letter)] if letter != "த்" else [])


def test_what_is_no_place_within_a_text_is_none_within_a_letter():
    assert [is_within_cluster("é", at) for at in (-1, 0, 1, 2)] == [False] * 4
    assert is_within_cluster("e\u0301", 1) and not is_within_cluster("\n\u0301", 1)


def test_a_cut_is_one_of_the_library():
    regex, draws = pytest.importorskip("regex"), random.Random(0)
    for _ in range(300):
        text = "".join(draws.choices([*LETTERS, " "], k=12))
        cuts = {one.start() for one in regex.finditer(r"\X", text)}
        assert {at for at in range(len(text)) if not is_within_cluster(text, at)} <= cuts


def test_the_last_place_that_is_not_within_a_letter_is_found_or_the_text_is_cut_anyway():
    assert find_cluster_start("ab" + "u\u0308\u0304" * 2, 7, 0) == 5
    assert find_cluster_start("ab" + "u\u0308\u0304" * 2, 5, 0) == 5
    assert find_cluster_start("u" + "\u0308" * 9, 7, 3) == 7
