import re
from importlib.util import find_spec

import pytest
import snowballstemmer

from distill.errors import DataError
from distill.vocabulary.words import morphology
from distill.vocabulary.words.morphology import (
    BENGALI,
    CLUSTER,
    STEMMERS,
    character_ngrams,
    get_analyser,
    pair_clusters,
    split_words,
    warn_unstemmed,
)


@pytest.mark.parametrize(
    "language, forms",
    [
        ("ru", ["книга", "книги", "КНИГАМИ"]),
        ("ru", ["Россия", "Росси\u0301ю", "России"]),
        ("ar", ["المدرسة", "مدرسة", "المَدْرَسَة"]),
        ("ar", ["كتاب", "الكتابُ"]),
        ("de", ["Haus", "Häuser", "Hauses"]),
        ("fi", ["talo", "taloissa", "talot"]),
        ("tr", ["kitap", "kitaplar"]),
        ("el", ["Αθήνα", "ΑΘΗΝΑ"]),
        ("hi", ["किताब", "किताबें"]),
        ("ko", ["서울", "서울에서", "서울은"]),
        ("ja", ["行く", "行った", "行きます"]),
    ],
)
def test_forms_of_a_word_are_one_word(language, forms):
    assert len({tuple(split_words(form, language)) for form in forms}) == 1
    assert len(split_words(forms[0], language)) == 1


@pytest.mark.parametrize(
    "language, text, expected",
    [
        ("de", "Die Häuser, die Straßen!", ["die", "haus", "die", "strass"]),
        ("ru", "Столица России?", ["столиц", "росс"]),
        ("zh", "他是北京大学的学生。", ["他", "是", "北京大学", "的", "学生"]),
        ("th", "ประเทศไทย, ๒๐๑๔", ["ประเทศ", "ไทย", "2014"]),
        ("ja", "東京へ。", ["東京"]),
        ("vi", "Hà Nội (1010)", ["hà", "nội", "1010"]),
        ("tr", "İstanbul'un", ["istanbul", "un"]),
        ("te", "హైదరాబాదులో రాజధాని", ["హైదరాబాదులో", "రాజధాని"]),
        ("hi", "हिन्दी", ["हिन्द"]),
        # A region is not read.
        *((code, "Häuser", ["haus"]) for code in ("de-AT", "DE", "de_CH")),
    ],
)
def test_words(language, text, expected):
    assert split_words(text, language) == expected


def test_every_stemmer_is_one_of_snowballs_and_the_docstring_names_every_language():
    assert set(STEMMERS.values()) <= set(snowballstemmer.algorithms())
    named = set(re.findall(r"\b[a-z]{2}\b", morphology.__doc__))
    assert {*STEMMERS, *morphology.SEGMENTERS, *morphology.UNINFLECTED, *morphology.UNSPACED, BENGALI} <= named


def test_without_a_stemmer_bm25_takes_parts_of_words_too_clusters_where_there_are_no_blanks():
    assert get_analyser("te").terms("abcd ab") == ["abcd", "ab", "_ab", "abc", "bcd", "cd_"]
    assert get_analyser("de").terms("Häuser") == ["haus"]
    assert character_ngrams(["ab", "abc"]) == []
    # "Khmer", with a consonant below another, then a digit and a Latin word.
    assert CLUSTER.findall("ខ្មែរ 12 km") == ["ខ្មែ", "រ", "12", "km"]
    assert pair_clusters(["a", "b", "c"]) == ["ab", "bc"]
    assert get_analyser("km").terms("ខ្មែរ") == ["ខ្មែ", "រ", "ខ្មែរ"]


@pytest.mark.parametrize(
    "language, bm25, expected",
    [
        ("te", False, "te: no stemmer; the words of 9 passages are compared whole"),
        ("he-IL", True, "he: no stemmer; the words of 9 passages are compared whole, for BM25 with their 3-grams"),
        ("km", False, "km: no library cuts its words here; character clusters of 9 passages are compared"),
        ("lo", True, "lo: no library cuts its words here; character clusters of 9 passages are compared, for BM25"),
    ],
)
def test_texts_in_a_language_without_a_stemmer_are_said_once(capsys, language, bm25, expected):
    morphology._warn.cache_clear()
    for _ in range(2):
        warn_unstemmed(language, "9 passages", bm25)
    said = capsys.readouterr().err
    assert said.startswith(f"warning: {expected}") and said.count("\n") == 1 and ("BM25" in said) == bm25


@pytest.mark.parametrize("language", ["de", "de-AT", "nb", "ja", "th", "vi"])
def test_a_language_with_an_entry_of_its_own_says_nothing(capsys, language):
    morphology._warn.cache_clear()
    warn_unstemmed(language, "9 passages", bm25=True)
    assert capsys.readouterr().err == ""


ODD = ["", " \n", "?!…", "😀👍🏽", "\ud800 a", "\x00", "\u200b\u200d", "\u0301", "ー", "ᄀ", "์", "a" * 5000]


with_stemmer = pytest.mark.skipif(find_spec("bangla_stemmer") is None, reason="bangla-stemmer is not installed")


@with_stemmer
def test_bengali_is_stemmed_without_a_word_on_standard_output_and_bm25_takes_parts_of_the_stems_too(capsys):
    # Dhaka's, the people and to the people, the river and in the river.
    assert split_words("ঢাকার মানুষ মানুষকে, নদী নদীতে!", "bn") == ["ঢাকা", "মানুষ", "মানুষ", "নদী", "নদী"]
    assert get_analyser("bn").terms("মানুষকে") == ["মানুষ", *character_ngrams(["মানুষ"])]
    morphology._warn.cache_clear()
    morphology.warn_unstemmed("bn", "2 passages")
    assert "".join(capsys.readouterr()) == ""


@pytest.mark.parametrize(
    "language",
    [
        "ru",
        "ar",
        "th",
        "zh",
        "ja",
        "ko",
        "km",
        "te",
        "vi",
        "xx",
        "fa",
        "tr",
        "en",
        pytest.param("bn", marks=with_stemmer),
    ],
)
def test_any_text_has_words(language):
    every = "".join(map(chr, range(1, 0x3000, 7)))
    for text in [*ODD, every, every[::-1]]:
        result = split_words(text, language)
        assert all(isinstance(word, str) and word and not re.search(r"\s", word) for word in result)
    assert split_words("?! …", language) == []


@pytest.mark.parametrize(
    "language, text", [("ja", "東京。"), ("ko", "서울 "), ("zh", "学生。"), ("th", "ไทย "), ("ru", "книги ")]
)
def test_ten_thousand_words(language, text):
    """Sudachi alone refuses texts of more than 49,149 bytes."""
    assert len(split_words(text * 10_000, language)) == 10_000


def test_a_table_of_normal_forms_takes_the_place_of_what_a_language_has(tmp_path, monkeypatch, capsys):
    monkeypatch.setenv("DISTILL_LEMMAS", str(tmp_path))
    (tmp_path / "te.tsv").write_text("హైదరాబాదులో\tహైదరాబాదు\nCITIES\tCity\n", encoding="utf-8")
    warn_unstemmed("te", "a passage", bm25=True)
    assert split_words("Cities: హైదరాబాదులో రాజధాని", "te") == ["city", "హైదరాబాదు", "రాజధాని"]
    assert get_analyser("te-IN").terms("హైదరాబాదులో") == ["హైదరాబాదు"]
    # Languages without a table keep theirs.
    assert split_words("Häuser", "de") == ["haus"] and "te: no stemmer" not in capsys.readouterr().err
    (tmp_path / "he.tsv").write_text("one\n", encoding="utf-8")
    with pytest.raises(DataError):
        split_words("one", "he")
