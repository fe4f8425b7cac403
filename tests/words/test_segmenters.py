import sys

import pytest

from distill.errors import InputError
from distill.words.segmenters import SEGMENTERS, bengali_stem, chinese, japanese, korean, thai


def test_words_are_in_dictionary_form_or_stems_without_particles():
    assert thai("น้ำตกอยู่ที่ประเทศไทย") == ["น้ำตก", "อยู่", "ที่", "ประเทศ", "ไทย"]
    assert chinese("他是北京大学的学生") == ["他", "是", "北京大学", "的", "学生"]
    assert japanese("昨日東京へ行った") == ["昨日", "東京", "行く"]
    assert japanese("附属") == japanese("付属") == ["付属"]
    assert korean("서울에서 도왔다") == ["서울", "돕"]
    assert korean("한글은") == korean("한글을") == ["한글"]
    # A text of particles alone keeps them.
    assert korean("에서") and japanese("から")


@pytest.mark.parametrize("language", SEGMENTERS)
def test_a_missing_library_says_how_to_install_it(language, monkeypatch):
    for name in ("pythainlp", "pythainlp.tokenize", "rjieba", "sudachipy", "sudachidict_small", "mecab"):
        monkeypatch.setitem(sys.modules, name, None)
    from distill.words import segmenters as segmentation

    segmentation._sudachi.cache_clear(), segmentation._mecab.cache_clear()
    with pytest.raises(InputError, match=r"distill\[morphology\]"):
        SEGMENTERS[language]("北京")
    segmentation._sudachi.cache_clear(), segmentation._mecab.cache_clear()


def test_a_missing_stemmer_says_how_to_install_it(monkeypatch):
    monkeypatch.setitem(sys.modules, "bangla_stemmer.stemmer.stemmer", None)
    with pytest.raises(InputError, match=r"distill\[morphology\]"):
        bengali_stem()
