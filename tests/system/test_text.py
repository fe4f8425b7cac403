"""Lengths of texts, by hand and by unicodedata; JSON that is JSON."""

import json
import math
import unicodedata

import pytest

from distill.system.text import dump_json, normalized_length


@pytest.mark.parametrize(
    ("text", "length"), [("", 0), ("abc", 3), ("\u57ce\u5821", 2), ("\ufdfa" * 3, 54), ("o\ufb01", 3), ("\u00e9", 1)]
)
def test_characters_are_those_of_the_normalised_text(text, length):
    assert normalized_length(text) == length == len(unicodedata.normalize("NFKC", text))


def test_it_is_at_least_their_number():
    for first in range(0, 0x20000, 100):
        text = "".join(map(chr, range(first, first + 100)))
        assert normalized_length(text) >= len(unicodedata.normalize("NFKC", text))


def no_constant(name):
    raise AssertionError(f"{name} is not JSON")


@pytest.mark.parametrize("ascii", [False, True])
def test_json_has_no_number_that_json_has_not_and_keeps_all_else(ascii):
    value = {"a": [math.nan, {"b": -math.inf}], "c": 1e999, "d": 2**80, "e": "Fähre 渡 \u2028", "f": "\udce4", "g": 0.1}
    text = dump_json(value, ascii)
    assert json.loads(text, parse_constant=no_constant) == {
        **{"a": [None, {"b": None}], "c": None, "d": 2**80, "e": "Fähre 渡 \u2028", "f": "\ufffd", "g": 0.1}
    }
    assert text.isascii() == ascii and "\n" not in text
