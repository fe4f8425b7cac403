"""The language of a text, where it is sure."""

import pytest

from distill.vocabulary.words import segmenters as detection
from distill.vocabulary.words.segmenters import detect_language, is_language


@pytest.mark.parametrize(
    ("text", "language"),
    [
        ("Nächster Termin am 14. Mai beim Zahnarzt.", "de"),
        ("Το πλοίο φεύγει στις εννέα το πρωί.", "el"),
        ("Le bateau part à neuf heures du matin.", "fr"),
        ("The ferry leaves at nine in the morning.", "en"),
        ("12 34 56", "en"),
        ("", "en"),
        ("xq", "en"),
    ],
)
def test_a_language_is_told_by_its_text_and_english_where_it_is_not_sure(text, language):
    assert detect_language(text) == language


def test_thai_counts_where_its_sentences_can_be_cut(monkeypatch):
    for installed in (True, False):
        monkeypatch.setattr(detection, "_cuts_thai", lambda installed=installed: installed)
        assert detect_language("เรือออกเวลาเก้าโมงเช้าทุกวัน") == ("th" if installed else "en")


def test_a_code_of_a_language_is_told_from_what_is_none():
    codes = ["de", "EN", "pt-BR", "zh_Hant", "fil", "xx", "german", "d", ""]
    assert list(filter(is_language, codes)) == ["de", "EN", "pt-BR", "zh_Hant", "fil"]
