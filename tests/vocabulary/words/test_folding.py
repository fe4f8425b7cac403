import subprocess
import sys

import pytest

from distill.vocabulary.words.folding import fold, split_plain_words


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


@pytest.mark.parametrize(
    "text, expected",
    [
        ("Newton's U-2, №5", ["newton", "s", "u", "2", "no5"]),
        ("the The THE", ["the", "the", "the"]),
        ("नमस्ते दुनिया २०१४", ["नमस्ते", "दुनिया", "2014"]),
        ("東京都はA1", ["東京", "京都", "都は", "a1"]),
        ("山", ["山"]),
        ("– …!", []),
        ("a_b@c.de", ["a", "b", "c", "de"]),
        ("İstanbul ISTANBUL istanbul I\u0307stanbul", ["istanbul"] * 4),
        ("Diyarbakır DİYARBAKIR diyarbakir", ["diyarbakir"] * 3),
        ("i̇̀ ì į̇̃ į̃ J̇", ["ì", "ì", "į̃", "į̃", "j"]),
        ("ż Ė ė", ["ż", "ė", "ė"]),
        ("مُحَمَّد مـحـمـد محمد", ["محمد"] * 3),
        ("שָׁלוֹם שלום", ["שלום"] * 2),
        ("Ёлка ЕЛКА", ["елка"] * 2),
        ("ΟΔΟΣ οδος οδοσ", ["οδοσ"] * 3),
        ("Straße STRASSE ſtraße", ["strasse"] * 3),
        ("ＡＢＣ１ ﬁn ǅ", ["abc1", "fin", "dž"]),
        ("ﾄｳｷｮｳ トウキョウ", ["トウ", "ウキ", "キョ", "ョウ"] * 2),
        ("辻\U000e0100 辻 ❤\ufe0f a\ufe0fb", ["辻", "辻", "ab"]),
    ],
)
def test_words_are_runs_of_letters_and_digits_or_pairs_of_characters(text, expected):
    assert split_plain_words(text) == expected


def test_words_need_numpy_at_most():
    code = (
        "import sys, distill.vocabulary.words.folding; print({'regex', 'snowballstemmer', 'bm25s'} & set(sys.modules))"
    )
    assert subprocess.check_output([sys.executable, "-c", code], text=True) == "set()\n"
