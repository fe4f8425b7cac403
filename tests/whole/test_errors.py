"""An error is one line."""

import pytest

from distill.errors import BEGIN, END, DistillError, InputError, one_line


@pytest.mark.parametrize(
    ("text", "line"),
    [
        ("a\n b\t\tc\r\n", "a b c"),
        ("a\x00b\x1b[31m", "a\\u0000b\\u001b[31m"),
        ("\u202eabc", "\\u202eabc"),
        ("a\u200fb\u2028c\x9b", "a\u200fb c\\u009b"),
        ("\ud800", "?"),
        ("👩\u200d🚀 שלום", "👩\u200d🚀 שלום"),
    ],
)
def test_a_message_is_one_line_without_what_a_terminal_obeys(text, line):
    assert str(InputError(text)) == one_line(text) == line


def test_a_long_message_keeps_its_begin_and_its_end():
    message = str(DistillError("place: " + "x" * 10**6 + "; mend it"))
    assert message.startswith("place: xxx") and message.endswith("xxx; mend it") and " … " in message
    assert len(message) == BEGIN + END + 3
