"""Lengths of texts, by hand and by unicodedata."""

import unicodedata

import pytest

from distill.system.text import normalized_length


@pytest.mark.parametrize(
    ("text", "length"), [("", 0), ("abc", 3), ("\u57ce\u5821", 2), ("\ufdfa" * 3, 54), ("o\ufb01", 3), ("\u00e9", 1)]
)
def test_characters_are_those_of_the_normalised_text(text, length):
    assert normalized_length(text) == length == len(unicodedata.normalize("NFKC", text))


def test_it_is_at_least_their_number():
    for first in range(0, 0x20000, 100):
        text = "".join(map(chr, range(first, first + 100)))
        assert normalized_length(text) >= len(unicodedata.normalize("NFKC", text))
