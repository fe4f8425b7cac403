import pytest

from distill.vocabulary.typed.typing_errors import remove_accents, to_lower_case, to_speech


@pytest.mark.parametrize(
    ("text", "language", "expected"),
    [
        ("Größer als Ärzte über 3 µm?", "de", "Groesser als Aerzte ueber 3 µm?"),
        ("¿Qué año, señor?", "es", "¿Que ano, senor?"),
        ("Ποιος είναι ο Αϊνστάιν;", "el", "Ποιος ειναι ο Αινσταιν;"),
        ("Cine a înființat țările?", "ro", "Cine a infiintat tarile?"),
        ("Işık İzmir'de nasıl söğüş?", "tr", "Isik Izmir'de nasil sogus?"),
        ("Đường phố nào đã được đặt?", "vi", "Duong pho nao da duoc dat?"),
        # Letters and their marks apart give the same.
        ("Que\u0301 an\u0303o", "es", "Que ano"),
    ],
)
def test_plain_letters(text, language, expected):
    assert remove_accents(text, language) == expected


@pytest.mark.parametrize(
    ("text", "language", "expected"),
    [("ILIK İzmir", "tr", "ılık izmir"), ("ILIK", "en", "ilik"), ("ΤΙ ΕΚΑΝΕ Ο ΤΕΣΛΑΣ", "el", "τι εκανε ο τεσλας")],
)
def test_no_capitals(text, language, expected):
    assert to_lower_case(text, language) == expected


@pytest.mark.parametrize(
    ("text", "language", "expected"),
    [
        ("What's the U.S. budget – 3.5 or 1,000?", "en", "what's the u s budget 3.5 or 1,000"),
        ("¿Quién, en Coche-Cama?", "es", "quién en coche cama"),
        ("特斯拉，何时？", "zh", "特斯拉 何时"),
        ("क्या हुआ। किसने?", "hi", "क्या हुआ किसने"),
        ("من كُتب له؟", "ar", "من كتب له"),
        ("", "en", ""),
    ],
)
def test_speech_has_no_signs(text, language, expected):
    assert to_speech(text, language) == expected
