import pytest

from distill.usage import usage


def test_own_and_most_used_other_language_of_each_row():
    share = {
        "de": {"de": 0.5, "en": 0.2, "th": 0.3},
        "en": {"de": 0.05, "en": 0.9, "th": 0.05},
        "th": {"de": 0.6, "en": 0.3, "th": 0.1},
    }
    assert usage(share) == {
        "own": pytest.approx((0.5 + 0.9 + 0.1) / 3),
        "languages": {
            "de": {"own": 0.5, "other": "th", "other_share": 0.3},
            "en": {"own": 0.9, "other": "de", "other_share": 0.05},
            "th": {"own": 0.1, "other": "de", "other_share": 0.6},
        },
    }


def test_one_language_uses_no_other():
    assert usage({"en": {"en": 1.0}})["languages"] == {"en": {"own": 1.0, "other": None, "other_share": None}}
