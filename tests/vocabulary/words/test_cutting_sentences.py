"""Sentences of a text: places in it, in twelve languages."""

import pytest

from distill.vocabulary.words.cutting import find_sentences, find_sentences_cached

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
