"""Passages begin and end with whole letters, also where a text has no blank."""

import random
import unicodedata

import pytest

from distill.vocabulary.words.cutting import (
    STRETCH,
    Cut,
    cut_text,
    find_cluster_start,
    find_sentences,
    find_sentences_cached,
    is_within_cluster,
)

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


# Sentences of a text: places in it, in twelve languages.
TEXTS = {
    "ar": ["هذا هو النهر.", "أين ينتهي؟", "لا أعرف."],
    "de": ["Dr. Meier kam am 3. Mai an.", "Wo endet sie?", "Im Meer!"],
    "el": ["Αυτό είναι το ποτάμι.", "Πού τελειώνει;", "Δεν ξέρω."],
    "en": ["Mr. Smith paid 3.5 million to Acme Inc. in 2001.", "Why?", "Nobody knows."],
    "es": ["El Sr. García llegó.", "¿Dónde termina?", "¡En el mar!"],
    "hi": ["यह नदी है।", "यह कहाँ समाप्त होती है?", "मुझे नहीं पता।"],
    "ro": ["Acesta este râul.", "Unde se termină?", "Nu știu."],
    "ru": ["Это река.", "Где она кончается?", "Не знаю."],
    "th": ["แม่น้ำสายนี้ยาวมาก", "แต่ไม่มีใครรู้ว่ามันสิ้นสุดที่ไหน"],
    "tr": ["Bu bir nehir.", "Nerede biter?", "Bilmiyorum."],
    "vi": ["Đây là con sông.", "Nó kết thúc ở đâu?", "Tôi không biết."],
    "zh": ["这是一条河。", "它在哪里结束？", "我不知道！"],
}


@pytest.mark.parametrize("language", TEXTS)
def test_sentences_are_places_of_the_text_with_nothing_but_blanks_between(language):
    for blank in ("  ", "\n\n") if language != "zh" else ("", "\n"):
        text = f"\t{blank.join(TEXTS[language])} "
        places = find_sentences_cached(text, language)
        assert [text[start:end] for start, end in places] == TEXTS[language]


@pytest.mark.parametrize("blank", ["\n\n", "\n \n", "\r\n\xa0\t\r\n"])
def test_a_blank_line_ends_a_sentence(blank):
    text = f"Opening hours{blank}Museum: closed\non Mondays"
    places = find_sentences(text, "en")
    assert [text[start:end] for start, end in places] == ["Opening hours", "Museum: closed\non Mondays"]


@pytest.mark.parametrize("text", ["one", "no end here, none at all", "เธอ", "\ud800 x", " "])
@pytest.mark.parametrize("language", ["en", "th", "zh-Hant", "xx", ""])
def test_a_text_without_a_boundary_is_one_sentence(text, language):
    [(start, end)] = find_sentences_cached(text, language)
    assert text[start:end] == (text.strip() or text)


CLUSTERS = [
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


@pytest.mark.parametrize("letter", CLUSTERS)
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
        text = "".join(draws.choices([*CLUSTERS, " "], k=12))
        cuts = {one.start() for one in regex.finditer(r"\X", text)}
        assert {at for at in range(len(text)) if not is_within_cluster(text, at)} <= cuts


def test_the_last_place_that_is_not_within_a_letter_is_found_or_the_text_is_cut_anyway():
    assert find_cluster_start("ab" + "u\u0308\u0304" * 2, 7, 0) == 5
    assert find_cluster_start("ab" + "u\u0308\u0304" * 2, 5, 0) == 5
    assert find_cluster_start("u" + "\u0308" * 9, 7, 3) == 7
