"""Figures by hand, on hand-made SentencePiece models."""

import pytest
from fixtures.pieces import tokenizer_of

from distill.encoders.tokenizer import model_proto
from distill.errors import ConfigError
from distill.students.vocabulary.fertility import (
    choose_unit,
    compare,
    compute_fertility,
    compute_unknown_share,
    find_script_tokens,
    find_scripts,
    parse_scripts,
)
from distill.students.vocabulary.pieces import prune_tokenizer


@pytest.fixture
def letters():
    """a, b, ab, c and the space's mark; everything else is unknown. No mark is put before a text."""
    return tokenizer_of(("a", -2), ("b", -2), ("ab", -1.5), ("c", -9), ("\u2581", -1))


def test_fertility_unknown_share_and_figures_before_and_after_by_hand(letters):
    assert compute_fertility([[1, 5, 5, 4, 2], [1, 5, 2]], ["ab abb", "ab"], "word") == 4 / 3
    assert compute_fertility([[1, 5, 5, 4, 2]], ["ไน  ล์"], "character") == 3 / 4
    assert compute_fertility([[1, 2]], [" "], "word") == 0.0
    assert compute_unknown_share([[1, 5, 0, 4, 2], [1, 0, 2]], letters) == 2 / 4
    after, old_ids = prune_tokenizer(letters, [])
    assert old_ids.tolist() == [0, 1, 2, 3, 4, 6, 7]  # "ab" goes
    figures = compare(letters, after, old_ids, ["ab c", "ab ab", "c!"])
    assert figures == {
        "texts": 3,
        "unit": "word",
        "fertility": [(3 + 3 + 2) / 5, (4 + 5 + 2) / 5],
        "unk": [1 / 8, 1 / 11],
        "changed": 2 / 3,
    }
    figures = compare(letters, *prune_tokenizer(letters, {5}), ["ab c", "ab ab"])
    assert figures["changed"] == 0
    assert figures["fertility"] == [6 / 4, 6 / 4]


@pytest.mark.parametrize(
    "texts, unit",
    [
        (["Where is the Nile?"], "word"),
        (["แม่น้ำไนล์อยู่ที่ไหน"], "character"),
        (["尼罗河在哪里", "Nile"], "character"),
        (["ナイル川はどこ"], "character"),
        (["나일강은 어디에"], "word"),
        (["Где Нил 尼罗"], "word"),
        (["12 + 5"], "word"),
    ],
)
def test_the_unit_is_what_most_letters_are_written_in(texts, unit):
    assert choose_unit(texts) == unit


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
