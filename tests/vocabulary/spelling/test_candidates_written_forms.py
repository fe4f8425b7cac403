"""What is written, of a tokenizer's pieces, words and phrases, with shares counted by hand."""

import numpy as np
import pytest

from distill.encoders.tokenizer import SPACE
from distill.vocabulary.languages.spelling_candidates import (
    TokenTable,
    collect_joined_words,
    collect_phrases,
    collect_tokens,
    collect_words,
)


@pytest.fixture(scope="module")
def pieces(tokenizer):
    return TokenTable(tokenizer)


def test_a_piece_has_its_share_of_text_and_its_score(pieces, tokenizer):
    counts = pieces.counts(["the river and the sea"] * 2)
    rows = {row.text: row for row in collect_tokens(pieces, np.arange(len(tokenizer)), counts)}
    the = tokenizer.encode(["the"])[0][1]
    assert rows["the"].ids == (the,) and rows["the"].begins and counts[the] == 4
    assert rows["the"].share == pytest.approx((4 + 0.05) / counts.sum())
    assert rows["the"].score == pytest.approx(pieces.scores[the])
    assert not any(row.text in ("<unk>", "", ".") for row in rows.values())


def test_a_word_of_several_pieces_has_these(pieces, tokenizer):
    words = {"the": 0.1, "riverseahills": 0.2, "ᚠᚠ": 0.3}
    (row,) = [row for row in collect_words(pieces, words, False) if row.text != "the"] or [None]
    ids = tuple(tokenizer.encode(["riverseahills"])[0][1:-1])
    if len(ids) > 4:
        assert row is None
    else:
        assert (row.ids, row.share) == (ids, 0.2) and row.score == pytest.approx(pieces.scores[list(ids)].sum())


def test_phrases_that_are_often_said_are_counted(pieces):
    lines = [["北京", "有", "多", "大"], ["北京", "有"], ["北京", "有", "abc"], ["大"]]
    rows = {row.text: row for row in collect_phrases(pieces, lines, 10)}
    # Of nine words, three times "北京有"; single characters are pieces anyway.
    assert set(rows) <= {"北京", "北京有"}
    assert all(row.share == pytest.approx(3 / 9) and row.score == pytest.approx(np.log(3 / 9)) for row in rows.values())


def test_words_without_the_blank_before_them(pieces):
    counts = pieces.counts(["where does the river begin"] * 3)
    rows = list(collect_joined_words(pieces, counts, 500))
    assert rows and all(row.ids[0] == pieces.names.index(SPACE + row.text) and not row.begins for row in rows)
