import pytest

from distill.vocabulary.words.folding import fold


@pytest.mark.parametrize(
    "language, text, expected",
    [
        ("en", "Ｃａｆé\u00adBar\n\t №٢٠", "cafébar no20"),
        ("de", "STRASSE Straße", "strasse strasse"),
        ("ru", "Росси\u0301я Ёлка йод", "россия елка йод"),
        ("uk", "Украї\u0301на", "україна"),
        ("ar", "الْكِتَابُ المـــدرسة أحمد إلى آية", "الكتاب المدرسة احمد الي ايه"[:-1] + "ة"),
        ("fa", "كتاب‌ها ۱۴۰۰", "کتاب ها 1400"),
        ("he", "שָׁלוֹם", "שלום"),
        ("tr", "ISPARTA İzmir", "ısparta izmir"),
        ("en", "ISPARTA", "isparta"),
        ("th", "น้ำ ๒๐๑๔", "น้ำ 2014"),
        ("ja", "ﾄｳｷｮｳ", "トウキョウ"),
        ("ro", "oraşe", "orașe"),
        ("hi", "२०१४", "2014"),
        # An acute accent over a Cyrillic letter is stress; in Latin letters it is spelling.
        ("es", "canción", "canción"),
        ("en", "a\ud800b", "a?b"),
    ],
)
def test_what_writing_varies_is_one(language, text, expected):
    assert fold(text, language) == expected
