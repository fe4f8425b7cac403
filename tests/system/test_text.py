import json
import math

import pytest

from distill.system.text import json_text


def no_constant(name):
    raise AssertionError(f"{name} is not JSON")


@pytest.mark.parametrize("ascii", [False, True])
def test_json_has_no_number_that_json_has_not_and_keeps_all_else(ascii):
    value = {"a": [math.nan, {"b": -math.inf}], "c": 1e999, "d": 2**80, "e": "Fähre 渡 \u2028", "f": "\udce4", "g": 0.1}
    text = json_text(value, ascii)
    assert json.loads(text, parse_constant=no_constant) == {
        **{"a": [None, {"b": None}], "c": None, "d": 2**80, "e": "Fähre 渡 \u2028", "f": "\ufffd", "g": 0.1}
    }
    assert text.isascii() == ascii and "\n" not in text
