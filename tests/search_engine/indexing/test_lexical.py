from math import log1p

import numpy as np
import pytest

from distill.search_engine.indexing.lexical import LONGEST, Lexical, invert_texts

PASSAGES = ["Ada wrote a note", "a a a note", "東京 is a city", ""]


@pytest.fixture
def sections():
    return invert_texts(PASSAGES)


def weight(times, length):
    """255 f / (f + k1 (1 - b + b l / mean l)), where the passages have 12 words together."""
    return round(255 * times / (times + 0.6 * (0.25 + 0.75 * length / 3)))


def idf(having):
    return log1p((4 - having + 0.5) / (having + 0.5))


def test_sections_are_the_words_by_their_bytes_and_their_passages(sections):
    ends = sections["bm25.term_starts"]
    content = sections["bm25.terms"].tobytes().decode()
    assert content == "aadacityisnotewrote東京"
    assert ends.tolist() == [0, 1, 4, 8, 10, 14, 19, 25]
    assert sections["bm25.starts"].tolist() == [0, 3, 4, 5, 6, 8, 9, 10]
    assert sections["bm25.rows"].tolist() == [0, 1, 2, 0, 2, 2, 0, 1, 0, 2]
    weights = [weight(1, 4), weight(3, 4), *[weight(1, 4)] * 8]
    assert sections["bm25.weights"].tolist() == weights
    kinds = {name: array.dtype for name, array in sections.items()}
    assert {name for name, kind in kinds.items() if kind == np.uint8} == {"bm25.terms", "bm25.weights"}
    assert {kind for kind in kinds.values() if kind != np.uint8} == {np.dtype(np.uint32)}


def test_a_share_is_bm25_by_the_most_that_it_can_be(sections):
    shares = Lexical(sections, 4).shares("A note, a NOTE by Bob")
    whole = idf(3) + idf(2) + 2 * idf(0)
    one = weight(1, 4) / 255
    expected = [one * (idf(3) + idf(2)), weight(3, 4) / 255 * idf(3) + one * idf(2), one * idf(3), 0]
    np.testing.assert_allclose(shares, np.array(expected) / whole, rtol=1e-6)
    assert shares.dtype == np.float32


@pytest.mark.parametrize("question", ["", "…", "zzz", "aa", "京"])
def test_without_a_known_word_all_shares_are_0(sections, question):
    assert Lexical(sections, 4).shares(question).tolist() == [0] * 4


def test_long_words_count_by_their_begin():
    sections = invert_texts(["x" * LONGEST + "y", "z"])
    assert Lexical(sections, 2).shares("x" * (LONGEST + 9)).nonzero()[0].tolist() == [0]


def test_no_passages_have_no_shares():
    assert Lexical(invert_texts([]), 0).shares("a").shape == (0,)


def test_rows_are_those_of_bm25s():
    bm25s = pytest.importorskip("bm25s")
    words, generator = np.array([f"w{number}" for number in range(60)]), np.random.default_rng(0)
    texts = [" ".join(generator.choice(words, size)) for size in generator.integers(3, 40, 50)]
    peer = bm25s.BM25(method="lucene", k1=0.6, b=0.75)
    peer.index([text.split() for text in texts], show_progress=False)
    lexical = Lexical(invert_texts(texts), len(texts))
    for question in ("w1 w2 w3", "w10 w20", "w59"):
        theirs = peer.get_scores(question.split())
        idfs = sum(
            log1p((50 - n + 0.5) / (n + 0.5)) for n in (sum(w in t.split() for t in texts) for w in question.split())
        )
        np.testing.assert_allclose(lexical.shares(question), theirs / idfs, atol=1 / 255)
