import pytest
from fixtures.pieces import tokenizer_of

from distill.encoders.tokenizer import model_proto
from distill.errors import ConfigError
from distill.students.vocabulary.fertility import find_script_tokens, find_scripts, parse_scripts


@pytest.mark.parametrize("name", ["Latin", "latin", "Latn", " LATN "])
def test_names_and_codes_in_any_case(name):
    assert parse_scripts([name, "Thai"]) == {"Latn", "Thai"}
    assert parse_scripts(["Old Italic", "old_persian"]) == {"Ital", "Xpeo"}


@pytest.mark.parametrize("name, near", [("Cyrilic", "Cyrillic"), ("qqqqq", "Latin")])
def test_an_unknown_script_is_named_with_others(name, near):
    with pytest.raises(ConfigError, match=f" {name}; .* {near}"):
        parse_scripts(["Thai", name])


@pytest.mark.parametrize(
    "text, codes",
    [
        ("▁Nil", {"Zyyy", "Latn"}),
        ("น้ำ", {"Thai"}),
        ("e\u0301", {"Latn", "Zinh"}),
        ("Нил1", {"Cyrl", "Zyyy"}),
        ("ナイル河", {"Kana", "Hani"}),
        ("12,5", {"Zyyy"}),
    ],
)
def test_scripts_of_a_text(text, codes):
    assert find_scripts(text) == codes


def chosen(tokenizer, *scripts):
    proto = model_proto(tokenizer)
    return {proto.pieces[id].piece for id in find_script_tokens(tokenizer, scripts)}


def test_pieces_are_of_the_scripts_or_without_letters_and_one_that_mixes_scripts_needs_both(tokenizer):
    pieces = chosen(tokenizer, "Thai")
    assert {"า", "1", "?", "▁"} <= pieces
    assert not {"a", "и", "的"} & pieces
    assert chosen(tokenizer, "Latin", "Cyrl") == chosen(tokenizer, "Latin") | chosen(tokenizer, "Cyrillic")
    tokenizer = tokenizer_of(*((text, -1) for text in ("aи", "a", "и", "7")))
    assert chosen(tokenizer, "Latin") & {"aи", "a", "и", "7"} == {"a", "7"}
    assert chosen(tokenizer, "Latin", "Cyrillic") >= {"aи", "a", "и", "7"}
