import pytest
from jinja2 import UndefinedError

from distill.report.page import (
    TEMPLATES,
    average_languages,
    flatten,
    format_percent,
    format_setting,
    write_page,
)


def test_shares_and_settings_are_shown_shortly():
    assert [format_percent(share) for share in (0.12345, 0, 1, None)] == ["12.3", "0.0", "100.0", "–"]
    shown = [format_setting(value) for value in (["qq", "dd"], [], True, "", None, 0, 0.5)]
    assert shown == ["qq, dd", "–", "true", "–", "–", "0", "0.5"]
    assert flatten({"seed": 1, "a": {"b": {"c": 2}, "d": []}}) == {"seed": 1, "a.b.c": 2, "a.d": []}
    assert average_languages({"x": {"en": 0.2, "de": None, "ru": 0.4}, "y": {"en": None}}) == {
        "x": pytest.approx(0.3),
        "y": None,
    }


def test_a_value_that_a_template_lacks_is_an_error_and_leaves_no_page(tmp_path):
    with pytest.raises(UndefinedError):
        write_page(tmp_path / "page.html", "comparison.html.j2", runs={})
    assert list(tmp_path.iterdir()) == []


def test_templates_load_nothing_from_a_network():
    texts = [path.read_text(encoding="utf-8") for path in TEMPLATES.iterdir()]
    assert len(texts) > 5 and not any("http:" in text or "https:" in text for text in texts)
