import numpy as np
import pytest

from distill.errors import DataError
from distill.retrieval.bm25 import Bm25Index, bm25_ranks, build_bm25_index, morphology_terms, plain_terms
from distill.vocabulary.words import morphology

PASSAGES = ["Die alten Häuser am Fluss", "Der Baum im Garten", "Ein Fluss ohne Namen", "Garten und Bäume"]


def test_kinds_of_words():
    texts = ["The Houses, a B 12!"]
    assert plain_terms(texts, "en") == [["houses", "12"]]
    assert plain_terms(texts, "de") == [["the", "houses", "12"]]
    assert morphology_terms(texts, "en") == [["hous", "b", "12"]]


def test_another_form_of_a_word_is_found_by_morphology_alone():
    gold = np.array([0])
    assert bm25_ranks(["Haus"], PASSAGES, gold, "de", "morphology").tolist() == [1]
    # All four passages have the score 0, and ties count against.
    assert bm25_ranks(["Haus"], PASSAGES, gold, "de", "plain").tolist() == [4]


def test_a_shorter_passage_with_the_same_word_ranks_first():
    ranks = bm25_ranks(["Fluss", "Fluss", "..."], PASSAGES, np.array([2, 0, 1]), "de")
    assert ranks.tolist() == [1, 2, 4]


def test_scores_are_robertsons():
    """idf = ln(1 + (4 - 2 + .5) / (2 + .5)) = ln 2; tf = 1 / (1 + 1.5 (.25 + .75 length / mean length)), no saturation
    factor above it; lengths 5, 4, 4, 3, mean 4."""
    scores = next(Bm25Index(PASSAGES, "de").scores(["Fluss"]))
    expected = [np.log(2) / (1 + 1.5 * (0.25 + 0.75 * length / 4)) for length in (5, 4)]
    np.testing.assert_allclose(scores, [expected[0], 0, expected[1], 0], rtol=1e-6)


def test_passages_without_words_are_refused():
    with pytest.raises(DataError, match="BM25"):
        Bm25Index(["…", "?"], "en", "morphology")
    with pytest.raises(DataError, match="BM25"):
        build_bm25_index(["…", "?"], ["en", "ja"])


def test_a_language_without_words_leaves_the_others_as_they_are():
    [scores] = build_bm25_index([*PASSAGES, "…"], ["de"] * 4 + ["ja"]).scores(["Fluss"])
    np.testing.assert_array_equal(scores, [*next(Bm25Index(PASSAGES, "de").scores(["Fluss"])), 0])


def test_passages_without_a_stemmer_are_counted_once(capsys):
    morphology._warn.cache_clear()
    for words in ("plain", "morphology", "morphology"):
        Bm25Index(PASSAGES, "te", words)
    said = "warning: te: no stemmer; the words of 4 passages are compared whole, for BM25 with their 3-grams\n"
    assert capsys.readouterr().err == said


def test_passages_in_several_languages_are_each_compared_in_their_own():
    passages = [*PASSAGES[:2], "The old houses by the river", *PASSAGES[2:], "A garden of trees"]
    languages, queries = ("de", "de", "en", "de", "de", "en"), ["Häuser am Garten", "house of the tree", "?"]
    rows = {language: [row for row, one in enumerate(languages) if one == language] for language in ("de", "en")}
    for words in ("plain", "morphology"):
        scores = np.stack(list(build_bm25_index(passages, languages, words).scores(queries)))
        for language, of in rows.items():
            expected = np.stack(list(Bm25Index([passages[row] for row in of], language, words).scores(queries)))
            np.testing.assert_array_equal(scores[:, of], expected)
        assert scores[:2].max() > 0 == scores[2].max()
    # "house" is "houses" in English alone.
    assert bm25_ranks(["house"], passages, np.array([2]), languages, "morphology").tolist() == [1]
