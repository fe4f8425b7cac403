"""A question's word that no passage has finds the words that are like it."""

from itertools import islice, product

import numpy as np
import pytest

from distill.errors import EncoderError
from distill.search_engine.indexing.lexical import LOOKED_FOR, Lexical, invert_texts
from distill.search_engine.indexing.related import LEAST, MOST, RelatedWords, WordSpace, encode_words, list_words

PASSAGES = ["the dog sleeps", "a cat sleeps", "the hound barks", "bread and salt"]
# By the angle of a word: what is near on the circle means the same.
ANGLES = {"dog": 0.0, "hound": 0.2, "cat": 1.2, "bread": 3.0, "salt": 3.4, "hund": 0.1, "kater": 1.3, "the": 4.5}


class Circle:
    """An encoder of words on a circle, in 3 dimensions of which the last is the same for all."""

    name, dimension = "circle", 3

    def __init__(self):
        self.texts = []

    def encode(self, texts, role="question", progress=None):
        self.texts += texts
        angles = np.array([ANGLES.get(text, 5.0 + 0.05 * len(text)) for text in texts])
        rows = np.stack([np.cos(angles), np.sin(angles), np.ones(len(texts))], axis=1)
        return (rows / np.sqrt(2)).astype(np.float32)


@pytest.fixture
def sections():
    words = invert_texts(PASSAGES)
    return words | encode_words(list_words(words), Circle())


def test_a_space_is_the_principal_components_of_words():
    vectors = np.random.default_rng(0).normal(size=(50, 4)).astype(np.float32) * [5, 1, 3, 0.1] + 2
    space = WordSpace.fit(vectors)
    centred = vectors - vectors.mean(axis=0)
    _, _, axes = np.linalg.svd(centred.astype(np.float64))
    expected = centred @ axes.T
    expected /= np.linalg.norm(expected, axis=1, keepdims=True)
    np.testing.assert_allclose(np.abs(space.project(vectors)), np.abs(expected), atol=1e-4)


def test_words_like_another_are_found_nearest_first(sections):
    words, related = list_words(sections), RelatedWords(sections, Circle)
    nearest = related.find("hund")
    assert {words[number] for number, _ in nearest[:2]} == {"dog", "hound"}
    cosines = [cosine for _, cosine in nearest]
    assert len(nearest) <= MOST and cosines == sorted(cosines, reverse=True)
    assert cosines[1] > 0.9 and min(cosines) >= LEAST


def test_a_word_with_a_digit_is_like_no_other(sections):
    assert RelatedWords(sections, Circle).find("x42") == []


def test_a_word_is_encoded_once(sections):
    encoder = Circle()
    related = RelatedWords(sections, lambda: encoder)
    assert related.find("kater") == related.find("kater")
    assert encoder.texts.count("kater") == 1


def test_the_nearest_of_many_are_those_of_all_products():
    random = np.random.default_rng(1)
    names = ["".join(letters) for letters in islice(product("abcdefghij", repeat=3), 800)]
    known = {name: random.normal(size=80).astype(np.float32) for name in names}
    other = random.normal(size=80)
    wanted = known["bcd"] + 0.05 * random.normal(size=80).astype(np.float32)

    class Table:
        name, dimension = "table", 80

        def encode(self, texts, role="question", progress=None):
            rows = np.stack([known.get(text, wanted if text == "wanted" else other) for text in texts])
            return rows / np.linalg.norm(rows, axis=1, keepdims=True)

    words = invert_texts(known)
    words |= encode_words(list_words(words), Table())
    [first, *_] = RelatedWords(words, Table).find("wanted")
    assert list_words(words)[first[0]] == "bcd"


def test_only_so_many_words_of_a_question_are_looked_for(sections):
    class Counting(RelatedWords):
        words = []

        def find(self, word):
            self.words.append(word)
            return []

    Lexical(sections, 4, Counting(sections, Circle)).shares(" ".join(map("".join, product("xyzuvwqrst", repeat=2))))
    assert len(Counting.words) == LOOKED_FOR


def test_shares_take_words_like_those_that_no_passage_has(sections):
    plain, related = Lexical(sections, 4), Lexical(sections, 4, RelatedWords(sections, Circle))
    assert plain.shares("hund").tolist() == [0] * 4
    shares = related.shares("hund")
    assert min(shares[0], shares[2]) > 0.3 > max(shares[1], shares[3])
    np.testing.assert_array_equal(related.shares("dog"), plain.shares("dog"))


def test_a_weight_is_the_greatest_of_the_related_words(sections):
    class Two:
        def find(self, word):
            words = list_words(sections)
            return [(words.index("dog"), 0.9), (words.index("sleeps"), 0.6)]

    idf = float(np.log1p((4 - 2 + 0.5) / (2 + 0.5)))
    weights = {word: Lexical(sections, 4).shares(word) for word in ("dog", "sleeps")}
    whole = np.maximum(weights["dog"] * 0.9**2, weights["sleeps"] * 0.6**2)
    # One word alone: its idf, of the two passages that have either, is all that there is.
    assert idf > 0
    np.testing.assert_allclose(Lexical(sections, 4, Two()).shares("hund"), whole, atol=1e-6)


def test_a_word_that_the_encoder_does_not_know_is_like_no_other(sections):
    class Blind(Circle):
        def encode(self, texts, role="question", progress=None):
            known = super().encode(texts, role, progress)
            blind = [text not in ANGLES and len(text) < 3 for text in texts]
            known[blind] = [0, 0.8, 0.6]
            return known

    words = invert_texts(["\u0ca6 dog", "\u0d06 bread"])
    words |= encode_words(list_words(words), Blind())
    assert words["words.scales"].tolist().count(0) == 2
    assert RelatedWords(words, Blind).find("\u1202") == []
    names = list_words(words)
    assert {names[number] for number, _ in RelatedWords(words, Blind).find("hund")} <= {"dog", "bread"}


def test_an_encoder_that_is_not_to_be_had_is_asked_for_once(sections):
    calls = []
    related = RelatedWords(sections, lambda: calls.append("load"))
    assert not calls
    assert related.find("hund") == related.find("kater") == [] and calls == ["load"]


def test_an_encoder_of_another_dimension_is_refused(sections):
    sections["words.mean"] = np.zeros(7, np.float32)
    with pytest.raises(EncoderError):
        RelatedWords(sections, Circle).find("hund")


def test_vectors_that_are_no_numbers_are_refused():
    class Broken(Circle):
        def encode(self, texts, role="question", progress=None):
            return np.full((len(texts), 3), np.nan, np.float32)

    with pytest.raises(EncoderError):
        encode_words(["a"], Broken())


def test_an_index_without_words_has_none():
    sections = invert_texts([])
    sections |= encode_words(list_words(sections), Circle())
    assert RelatedWords(sections, Circle).find("hund") == []
