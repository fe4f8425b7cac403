import pytest

from distill.errors import InputError
from distill.settings.choices import TYPED
from distill.vocabulary.typed.kinds import add_noise, has_kind, require_kinds


@pytest.mark.parametrize(
    ("language", "expected"),
    [
        ("en", ["lower-case", "typos", "no-blanks", "speech"]),
        ("el", ["no-accents", "lower-case", "typos", "no-blanks", "speech", "latin"]),
        ("th", ["typos", "speech"]),
        ("zh", ["speech", "latin"]),
        # One that no table knows.
        ("fi", ["lower-case", "no-blanks", "speech"]),
    ],
)
def test_kinds_that_a_language_has(language, expected):
    assert [kind for kind in TYPED if has_kind(language, kind)] == expected


def test_a_text_is_the_same_for_a_seed_and_another_for_another():
    text = "When was the partnership between Tesla and Lane formed?"
    texts = [add_noise(text, "en", "typos", seed) for seed in (0, 0, 1, 2)]
    assert texts[0] == texts[1] and len(set(texts)) == 3


@pytest.mark.parametrize("kind", TYPED)
def test_each_kind_takes_an_empty_text(kind):
    languages = [language for language in ("de", "el", "zh") if has_kind(language, kind)]
    assert languages and [add_noise("", language, kind) for language in languages] == [""] * len(languages)


def test_a_missing_package_is_named_before_anything_is_done(monkeypatch):
    monkeypatch.setitem(__import__("sys").modules, "pypinyin", None)
    require_kinds(["el", "zh"], ["typos"])
    with pytest.raises(InputError, match="pypinyin"):
        require_kinds(["zh"], ["latin"])
