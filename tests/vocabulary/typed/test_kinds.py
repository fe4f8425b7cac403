import random
import unicodedata

import pytest

from distill.errors import InputError
from distill.settings.choices import TYPED
from distill.vocabulary.typed.kinds import GREEK, add_noise, has_kind, replace_letters, require_kinds, romanise_chinese


@pytest.mark.parametrize(
    ("language", "expected"),
    [
        ("en", ["lower-case", "typos", "no-blanks", "speech"]),
        ("el", ["no-accents", "lower-case", "typos", "no-blanks", "speech", "latin"]),
        ("th", ["typos", "speech"]),
        ("zh", ["speech", "latin"]),
        # One that no table knows.
        ("fi", ["lower-case", "no-blanks", "speech"]),
    ],
)
def test_kinds_that_a_language_has(language, expected):
    assert [kind for kind in TYPED if has_kind(language, kind)] == expected


def test_a_text_is_the_same_for_a_seed_and_another_for_another():
    text = "When was the partnership between Tesla and Lane formed?"
    texts = [add_noise(text, "en", "typos", seed) for seed in (0, 0, 1, 2)]
    assert texts[0] == texts[1] and len(set(texts)) == 3


@pytest.mark.parametrize("kind", TYPED)
def test_each_kind_takes_an_empty_text(kind):
    languages = [language for language in ("de", "el", "zh") if has_kind(language, kind)]
    assert languages and [add_noise("", language, kind) for language in languages] == [""] * len(languages)


def test_a_missing_package_is_named_before_anything_is_done(monkeypatch):
    monkeypatch.setitem(__import__("sys").modules, "pypinyin", None)
    require_kinds(["el", "zh"], ["typos"])
    with pytest.raises(InputError, match="pypinyin"):
        require_kinds(["zh"], ["latin"])


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
    from distill.vocabulary.typed.kinds import ROMANISERS

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
