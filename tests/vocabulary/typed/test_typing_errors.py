import random

import pytest

from distill.vocabulary.typed.typing_errors import (
    LAYOUTS,
    add_slips,
    join_words,
    list_neighbours,
    remove_accents,
    to_lower_case,
    to_speech,
)

TEXT = "When was the partnership between Tesla and Lane formed?"


class FirstDrawn(random.Random):
    """The first of what may be drawn, and slips of one kind."""

    def __init__(self, slip):
        super().__init__(0)
        self.slip = slip

    def sample(self, population, k):
        return list(population)[:k]

    def choices(self, population, weights):
        return [self.slip]

    def choice(self, seq):
        return seq[0]


@pytest.mark.parametrize(
    ("slip", "expected"),
    # The second letter is the first that may slip; y is the first of the keys that touch h.
    [("neighbour", "Tye king"), ("dropped", "Te king"), ("swapped", "Teh king"), ("doubled", "Thhe king")],
)
def test_a_slip_of_each_kind(slip, expected):
    assert add_slips("The king", "en", FirstDrawn(slip)) == expected


@pytest.mark.parametrize(
    ("letter", "language", "expected"),
    [
        ("s", "en", "weadzx"),
        ("S", "en", "WEADZX"),
        ("q", "en", "wa"),
        ("z", "de", "tuhgh"[:2] + "gh"),
        ("é", "es", "wrsd"),
        ("ф", "ru", "йцыя"),
        ("7", "en", ""),
    ],
)
def test_keys_that_touch(letter, language, expected):
    assert sorted(list_neighbours(letter, language)) == sorted(expected)


def test_a_slip_in_25_letters_and_one_at_least():
    count = [add_slips(TEXT, "en", random.Random(seed)) for seed in range(50)]
    assert add_slips("Who won?", "en", random.Random(0)) != "Who won?"
    assert all(text != TEXT and abs(len(text) - len(TEXT)) <= 2 for text in count)
    # First letters of words stay where they are.
    assert all([word[0] for word in text.split()] == [word[0] for word in TEXT.split()] or "swap" for text in count)
    assert add_slips("7 + 5 = ?", "en", random.Random(0)) == "7 + 5 = ?"


@pytest.mark.parametrize("language", LAYOUTS)
def test_a_layouts_rows_hold_each_letter_once(language):
    keys = "".join(LAYOUTS[language])
    assert len(set(keys)) == len(keys) > 20


def test_blanks_are_left_out():
    joined = join_words("one two three", random.Random(0))
    assert joined.replace(" ", "") == "onetwothree" and joined.count(" ") < 2
    assert join_words("one", random.Random(0)) == "one"


@pytest.mark.parametrize(
    ("text", "language", "expected"),
    [
        ("Größer als Ärzte über 3 µm?", "de", "Groesser als Aerzte ueber 3 µm?"),
        ("¿Qué año, señor?", "es", "¿Que ano, senor?"),
        ("Ποιος είναι ο Αϊνστάιν;", "el", "Ποιος ειναι ο Αινσταιν;"),
        ("Cine a înființat țările?", "ro", "Cine a infiintat tarile?"),
        ("Işık İzmir'de nasıl söğüş?", "tr", "Isik Izmir'de nasil sogus?"),
        ("Đường phố nào đã được đặt?", "vi", "Duong pho nao da duoc dat?"),
        # Letters and their marks apart give the same.
        ("Que\u0301 an\u0303o", "es", "Que ano"),
    ],
)
def test_plain_letters(text, language, expected):
    assert remove_accents(text, language) == expected


@pytest.mark.parametrize(
    ("text", "language", "expected"),
    [("ILIK İzmir", "tr", "ılık izmir"), ("ILIK", "en", "ilik"), ("ΤΙ ΕΚΑΝΕ Ο ΤΕΣΛΑΣ", "el", "τι εκανε ο τεσλας")],
)
def test_no_capitals(text, language, expected):
    assert to_lower_case(text, language) == expected


@pytest.mark.parametrize(
    ("text", "language", "expected"),
    [
        ("What's the U.S. budget – 3.5 or 1,000?", "en", "what's the u s budget 3.5 or 1,000"),
        ("¿Quién, en Coche-Cama?", "es", "quién en coche cama"),
        ("特斯拉，何时？", "zh", "特斯拉 何时"),
        ("क्या हुआ। किसने?", "hi", "क्या हुआ किसने"),
        ("من كُتب له؟", "ar", "من كتب له"),
        ("", "en", ""),
    ],
)
def test_speech_has_no_signs(text, language, expected):
    assert to_speech(text, language) == expected
