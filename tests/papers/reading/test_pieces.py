import sys

import numpy as np
import pytest

from distill.papers.reading.examples import Text
from distill.papers.reading.pieces import passage_features, stemmer, tokenise_text

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
