import sys

import pytest

from distill.errors import InputError
from distill.vocabulary.words import segmenters as detection
from distill.vocabulary.words.segmenters import (
    SEGMENTERS,
    detect_language,
    is_language,
    load_bengali_stemmer,
    split_chinese,
    split_japanese,
    split_korean,
    split_thai,
)


def test_words_are_in_dictionary_form_or_stems_without_particles():
    assert split_thai("น้ำตกอยู่ที่ประเทศไทย") == ["น้ำตก", "อยู่", "ที่", "ประเทศ", "ไทย"]
    assert split_chinese("他是北京大学的学生") == ["他", "是", "北京大学", "的", "学生"]
    assert split_japanese("昨日東京へ行った") == ["昨日", "東京", "行く"]
    assert split_japanese("附属") == split_japanese("付属") == ["付属"]
    assert split_korean("서울에서 도왔다") == ["서울", "돕"]
    assert split_korean("한글은") == split_korean("한글을") == ["한글"]
    # A text of particles alone keeps them.
    assert split_korean("에서") and split_japanese("から")


@pytest.mark.parametrize("language", SEGMENTERS)
def test_a_missing_library_says_how_to_install_it(language, monkeypatch):
    for name in ("pythainlp", "pythainlp.tokenize", "rjieba", "sudachipy", "sudachidict_small", "mecab"):
        monkeypatch.setitem(sys.modules, name, None)
    from distill.vocabulary.words import segmenters as segmentation

    segmentation._load_sudachi.cache_clear(), segmentation._load_mecab.cache_clear()
    with pytest.raises(InputError, match=r"\[morphology\]"):
        SEGMENTERS[language]("北京")
    segmentation._load_sudachi.cache_clear(), segmentation._load_mecab.cache_clear()


def test_a_missing_stemmer_says_how_to_install_it(monkeypatch):
    monkeypatch.setitem(sys.modules, "bangla_stemmer.stemmer.stemmer", None)
    with pytest.raises(InputError, match=r"\[morphology\]"):
        load_bengali_stemmer()


# The language of a text, where it is sure.
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
