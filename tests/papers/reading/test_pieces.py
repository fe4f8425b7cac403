import itertools
import sys

import numpy as np
import pytest

from distill.papers.reading.examples import Text
from distill.papers.reading.pieces import (
    LONGEST,
    SHARED,
    WINDOW,
    TokenSpan,
    best_over_windows,
    best_span,
    passage_features,
    split_windows,
    stemmer,
    tokenise_text,
)

TEXT = "The rivers, 100 km long, run to Rome."
SENTENCES = "It is old. Rome lies there."


@pytest.fixture(scope="module")
def cut(tokenizer):
    return lambda text, language="en": tokenise_text(Text(text, language), tokenizer)


def test_pieces_cover_the_text_and_know_their_words(cut, tokenizer):
    pieces = cut(TEXT)
    assert pieces.ids.tolist() == tokenizer.encode([TEXT])[0][1:-1]
    assert "".join(TEXT[start:end] for start, end in pieces.places.tolist()) == TEXT
    first, last = pieces.token_span((4, 10))
    assert set(pieces.words[first : last + 1]) == {"rivers"} and set(pieces.stems[first : last + 1]) == {"river"}
    assert pieces.character_span(first, last) == (4, 10)


def test_letters_beyond_ascii_are_counted_as_characters(cut):
    text = "Größe der Flüsse: Ωμέγα ไทย"
    pieces = cut(text, "de")
    first, last = pieces.token_span((10, 16))
    assert text[slice(*pieces.character_span(first, last))] == "Flüsse"
    assert pieces.places[-1, 1] == len(text)


def test_shapes_are_blank_capital_digit_and_sign(cut):
    pieces = cut("the 100 , Rome")
    texts = [pieces.text[start:end].strip() for start, end in pieces.places.tolist()]
    by_text = dict(zip(texts, pieces.shapes, strict=True))
    assert by_text[","].tolist()[1:] == [0, 0, 1]
    assert all(row[2] == (any(char.isdigit() for char in text)) for text, row in by_text.items())


def test_words_in_common_and_the_nearest_sentence_are_told(cut):
    passage, question = cut(SENTENCES), cut("Where lies Rome?")
    rows = passage_features(passage, question, np.array([0.1, 0.5], dtype=np.float32), Text(SENTENCES, "en"))
    first, last = passage.token_span((11, 15))
    assert rows.shape == (len(passage), 10)
    assert rows[first : last + 1, 1].all() and not rows[0, 1]
    np.testing.assert_allclose(rows[0, 3:6], [0.3, -2.0, 0], rtol=1e-5)
    np.testing.assert_allclose(rows[first, 3:6], [1.5, 0, 1], rtol=1e-5)


def test_without_the_libraries_of_stems_words_are_compared_as_they_are(cut, monkeypatch, capsys):
    monkeypatch.setitem(sys.modules, "distill.vocabulary.words.morphology", None)
    stemmer.cache_clear()
    pieces = cut("riveroj, 中国 e\u0301l_2.", "eo")
    assert pieces.stems == pieces.words and {"riveroj", "中国", "él", "2"} == {*pieces.words} - {""}
    assert "snowballstemmer" in capsys.readouterr().err
    monkeypatch.undo()
    stemmer.cache_clear()
    assert "river" in cut("riveroj", "eo").stems


def test_the_best_span_is_that_of_all_pairs():
    logits = np.random.default_rng(0).normal(size=(60, 2)).astype(np.float32)
    length = 50
    pairs = [(a, b) for a, b in itertools.product(range(length), repeat=2) if 0 <= b - a < LONGEST]
    first, last = max(pairs, key=lambda pair: logits[pair[0] + 1, 0] + logits[pair[1] + 1, 1])
    best = best_span(logits, length)
    assert (best.first, best.last) == (first, last)
    np.testing.assert_allclose(best.score, logits[first + 1, 0] + logits[last + 1, 1] - logits[0].sum(), rtol=1e-5)


def test_windows_cover_a_long_text_and_overlap():
    assert split_windows(WINDOW) == [(0, WINDOW)]
    for length in (WINDOW + 1, 1000, 1001):
        windows = split_windows(length)
        assert windows[0][0] == 0 and windows[-1][1] == length
        assert all(end - start == WINDOW for start, end in windows)
        assert all(one[1] - other[0] >= SHARED for one, other in itertools.pairwise(windows))


def test_the_best_of_windows_is_in_pieces_of_the_text():
    assert best_over_windows([(0, TokenSpan(3, 4, 1.0)), (224, TokenSpan(1, 2, 2.0))]) == TokenSpan(225, 226, 2.0)


def test_a_text_without_pieces_has_no_window_and_no_answer():
    assert split_windows(0) == []
    nothing = best_over_windows([])
    assert nothing.last < nothing.first and nothing.score == 0
