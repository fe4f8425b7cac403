"""BM25: which words of texts it compares, and how high it ranks the right passage."""

import bm25s
import numpy as np

from ..errors import DataError
from .exact import ranks
from .metrics import SUMMARY, summary


def plain_terms(texts, language):
    """`[[str]]`: runs of two or more letters or digits, in lower case; of English without its commonest words."""
    return bm25s.tokenize(list(texts), stopwords=stopwords_of(language), return_ids=False, show_progress=False)


def morphology_terms(texts, language):
    """`[[str]]`: as `morphology.analyser` gives them; of English without its commonest words."""
    from ..words.morphology import analyser, words

    found = [analyser(language).terms(text) for text in texts]
    if stopwords_of(language) is None:
        return found
    common = {stem for word in bm25s.stopwords.STOPWORDS_EN for stem in words(word, language)}
    return [[term for term in terms if term not in common] for terms in found]


def whitespace_terms(texts, language):
    """`[[str]]`: what stands between blanks."""
    return [text.split() for text in texts]


TERMS = {"plain": plain_terms, "morphology": morphology_terms, "whitespace": whitespace_terms}


def stopwords_of(language):
    """BM25's list of words that do not count; there is one of English."""
    return "en" if language == "en" else None


class Lexical:
    """`passages` indexed by BM25 with the terms that `words` names, a key of `TERMS`. Raises `DataError` without any.

    Robertson's BM25 with Lucene's idf as `bm25s` has it, k1 1.5, b 0.75. Warns of "morphology" without a stemmer.
    """

    def __init__(self, passages, language, words="plain"):
        self.terms = lambda texts: TERMS[words](texts, language)
        if words == "morphology":
            _warn_unstemmed(passages, language)
        known = self.terms(passages)
        if not any(known):
            raise DataError("BM25 finds no words in the passages; check their texts and the documents' language")
        self.size, self.retriever = len(passages), bm25s.BM25()
        self.retriever.index(known, show_progress=False)

    def scores(self, queries):
        """Yield float `(passages,)` of each query; zeros for one without words."""
        for terms in self.terms(queries):
            yield self.retriever.get_scores(terms) if terms else np.zeros(self.size)


def _warn_unstemmed(passages, language):
    from ..words.morphology import say_unstemmed

    say_unstemmed(language, f"{len(passages)} passages", bm25=True)


def bm25_ranks(queries, passages, gold, language, words="plain"):
    """int `(q,)`: the rank, from 1, of each query's passage `gold`, int `(q,)`; ties count against it."""
    scores, found = Lexical(passages, language, words).scores(queries), np.empty(len(queries), dtype=np.int64)
    for row, scored in enumerate(scores):
        found[row] = ranks(scored[None], gold[row : row + 1])[0]
    return found


def evaluate_bm25(dataset, split, language, words="plain", metrics=SUMMARY):
    """`metrics.summary` of BM25's passages for a split's questions in `language`, words of the documents' language."""
    asked = dataset.select(language, split)
    gold = np.array([question.passage for question in asked])
    queries = [question.text for question in asked]
    return summary(bm25_ranks(queries, dataset.passage_texts, gold, dataset.document_language, words), metrics)
