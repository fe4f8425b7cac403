import sys

import pytest

from distill.errors import InputError
from distill.vocabulary.words.segmenters import (
    SEGMENTERS,
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
