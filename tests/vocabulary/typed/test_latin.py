import random
import unicodedata

import pytest

from distill.vocabulary.typed.kinds import add_noise
from distill.vocabulary.typed.latin import GREEK, replace_letters, romanise_chinese

TEXTS = {
    "ar": "متى بدأت الحرب؟",
    "el": "Ποιος ήταν ο βασιλιάς της Θεσσαλονίκης;",
    "hi": "भारत की राजधानी क्या है?",
    "ru": "Какой город столица России?",
    "zh": "北京有多大？",
}


class First(random.Random):
    """A writer with the first of all spellings."""

    def choice(self, seq):
        return seq[0]

    def random(self):
        return 0.0


def latin(text, language):
    from distill.vocabulary.typed.latin import ROMANISERS

    return ROMANISERS[language](text, First(0))


@pytest.mark.parametrize(
    ("language", "expected"),
    [
        ("ar", "mata badat al7areb?"),
        ("el", "Poios itan o basilias tis Thessalonikis?"),
        ("hi", "bharat ki rajdhani kya hai?"),
        ("ru", "Kakoj gorod stolica Rossii?"),
        ("zh", "beijing you duoda?"),
    ],
)
def test_a_writers_spelling(language, expected):
    assert latin(TEXTS[language], language) == expected


@pytest.mark.parametrize(
    ("word", "expected"),
    # Unwritten vowels fall silent at the end, but not behind two consonants, and in the middle.
    [("कमल", "kamal"), ("लड़का", "ladka"), ("मित्र", "mitra"), ("विश्लेषण", "vishleshan"), ("संबंध", "sambandh")]
    + [("फ़िल्म", "film"), ("्", "")],
)
def test_hindis_silent_vowels(word, expected):
    assert latin(word, "hi") == expected


@pytest.mark.parametrize("language", TEXTS)
def test_no_letter_of_another_script_is_left(language):
    for seed in range(5):
        letters = [char for char in add_noise(TEXTS[language], language, "latin", seed) if char.isalpha()]
        assert letters and all(unicodedata.name(char).startswith("LATIN") for char in letters)


def test_a_writer_keeps_to_a_spelling():
    texts = {replace_letters("η θεά η θεά", GREEK, random.Random(seed)) for seed in range(30)}
    # η and θ have two spellings each; ά is no key of the table.
    assert texts == {"i theά i theά", "h theά h theά", "i 8eά i 8eά", "h 8eά h 8eά"}


def test_umlauts_of_pinyin_and_words_between():
    assert romanise_chinese("女子NBA联赛，2015年", First(0)) == "nvzi NBA lian sai, 2015 nian"
