"""Passages begin and end with whole letters, also where a text has no blank."""

import unicodedata

import pytest

from distill.vocabulary.words.cutting import STRETCH, Cut, cut_text

LETTERS = ["นี่", "👨‍👩‍👧‍👦", unicodedata.normalize("NFD", "ǖ"), "🇩🇪", "한", "कि"]


def places(text, length=100, language="en"):
    return [(part.start, part.end) for part in cut_text(text, language, Cut(length, 0, language))]


@pytest.mark.parametrize(("letter", "before"), [*((letter, "") for letter in LETTERS), ("한", "a")])
def test_text_without_blanks_is_cut_between_letters(letter, before):
    text = before + letter * (3 * STRETCH // len(letter))
    cut = places(text)
    assert all((start - len(before)) % len(letter) == 0 for start, _ in cut[1:])
    assert "".join(text[start:end] for start, end in cut) == text and max(b - a for a, b in cut) <= 100


def test_marks_without_end_are_cut_too():
    text = "u" + "\u0308" * 499
    assert [end - start for start, end in places(text)] == [100] * 5


def test_a_blank_that_has_a_mark_is_no_place_for_a_cut():
    text = "a" * 60 + " " + "b" * 30 + " \u0301" + "c" * 60
    assert places(text) == [(0, 60), (61, len(text))]


def test_a_sentence_has_the_marks_of_its_last_letter():
    text = "Stop!\ufe0f Go on. He said.\u0301 Next."
    [piece] = cut_text(text, "en", Cut())
    assert [text[start:end] for start, end in piece.sentences] == [
        "Stop!\ufe0f",
        "Go on.",
        "He said.\u0301",
        "Next.",
    ]
