"""Spellings of what is written, and those that written text has."""

import numpy as np
import pytest

from distill.encoders.tokenizer import SPACE, list_spellings
from distill.vocabulary.languages.spelling_candidates import (
    DRAWS,
    MISSING_BLANK,
    Candidate,
    Candidates,
    TokenTable,
    WrittenText,
    add_unused_aliases,
    collect_joined_words,
    collect_phrases,
    collect_tokens,
    collect_words,
)


# What is written, of a tokenizer's pieces, words and phrases, with shares counted by hand.
@pytest.fixture(scope="module")
def pieces(tokenizer):
    return TokenTable(tokenizer)


def test_accents_and_capitals_are_left_out_and_what_is_likelier_is_meant(pieces):
    candidates = Candidates(pieces)
    candidates.add_typed(
        [WrittenText("Zuñiqa", (5,), 0.2, -7.0), WrittenText("Zúniqa", (6,), 0.3, -8.0)], "es", "no-accents"
    )
    candidates.add_typed([WrittenText("zUNIqq", (7,), 0.1, -6.0, begins=False)], "es", "lower-case")
    assert set(candidates) == {f"{SPACE}Zuniqa", "zuniqq"}
    one = candidates[f"{SPACE}Zuniqa"]
    assert (one.score, one.cell, one.share) == (-7.0, ("no-accents", "es"), pytest.approx(0.5))
    assert one.spelling("x").ids == (6,) and candidates["zuniqq"].spelling("x").ids == (7,)


def test_each_writer_counts_and_a_language_without_blanks_has_two_forms(pieces):
    candidates = Candidates(pieces)
    candidates.add_typed([WrittenText("ήθη", (5,), 0.6, -7.0)], "el", "latin")
    # ή is i or h, θ th or 8.
    assert all(piece.startswith(SPACE) for piece in candidates) and 1 < len(candidates) <= 8
    assert sum(candidate.share for candidate in candidates.values()) == pytest.approx(0.6)
    assert all((candidate.share / 0.6 * DRAWS) % 1 == pytest.approx(0, abs=1e-6) for candidate in candidates.values())
    chinese = Candidates(pieces)
    chinese.add_typed([WrittenText("北京", (5,), 0.5, -7.0, begins=False)], "zh", "latin")
    assert {f"{SPACE}beijing", "beijing", f"{SPACE}bei{SPACE}jing"} == set(chinese)


def test_a_word_without_its_blank_costs_more_and_no_spelling_has_more_ids_than_bytes(pieces):
    candidates = Candidates(pieces)
    candidates.add_joined([WrittenText("zuniqa", (5,), 0.2, -7.0), WrittenText("zz", (5, 6, 7), 0.2, -7.0)], "es")
    assert list(candidates) == ["zuniqa"] and candidates["zuniqa"].score == -7.0 - MISSING_BLANK


def test_what_written_text_has_too_often_is_left_out(tokenizer):
    rare, often = Candidate(), Candidate()
    for candidate, share in ((rare, 1e-6), (often, 0.9)):
        candidate.add(WrittenText("x", (5,), share, -1.0), share, ("lower-case", "en"))
    names = {f"{SPACE}zuniqa": rare, f"{SPACE}quaqua": often, f"{SPACE}unseen": rare}
    texts = {"en": ["the zuniqa quaqua of the river"] * 3, "de": ["nichts davon"]}
    kept = list_spellings(add_unused_aliases(tokenizer, names, texts, lambda steps=1, note="": None))
    assert [one.piece for one in kept] == [f"{SPACE}quaqua", f"{SPACE}unseen"]


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
