"""BM25: the words of texts that it compares, and the rank that it gives the right passage."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

import numpy as np

from ..errors import DataError
from ..system.text import number_copies
from ..system.types import Floats, Integers
from .exact import ranks
from .units import list_right


def plain_terms(texts: Iterable[str], language: str) -> list[list[str]]:
    """Return the runs of two or more letters or digits of each text, in lower case and without English stop words."""
    import bm25s

    return bm25s.tokenize(list(texts), stopwords=stopwords_of(language), return_ids=False, show_progress=False)


def morphology_terms(texts: Iterable[str], language: str) -> list[list[str]]:
    """Return the terms of each text as `morphology.get_analyser` gives them, without English stop words."""
    import bm25s

    from ..vocabulary.words.morphology import get_analyser, split_words

    terms_of = [get_analyser(language).terms(text) for text in texts]
    if stopwords_of(language) is None:
        return terms_of
    common = {stem for word in bm25s.stopwords.STOPWORDS_EN for stem in split_words(word, language)}
    return [[term for term in terms if term not in common] for terms in terms_of]


TERMS = {"plain": plain_terms, "morphology": morphology_terms}


def stopwords_of(language: str) -> str | None:
    """Return the name of the stop words of a language; None for all languages but English."""
    return "en" if language == "en" else None


class Bm25Index:
    """Passages of one language indexed by BM25.

    This is Robertson's BM25 with Lucene's idf, as `bm25s` implements it, with k1 1.5 and b 0.75. A warning is printed
    if "morphology" is asked for in a language without a stemmer. `words` is the kind of words, a key of `TERMS`. Raises
    `DataError` if the passages have no words.
    """

    def __init__(self, passages: Sequence[str], language: str, words: str = "plain") -> None:
        import bm25s

        self.terms = lambda texts: TERMS[words](texts, language)
        if words == "morphology":
            _warn_unstemmed(passages, language)
        known = self.terms(passages)
        if not any(known):
            raise DataError("BM25 finds no words in the passages; check their texts and the documents' language")
        self.size, self.retriever = len(passages), bm25s.BM25()
        self.retriever.index(known, show_progress=False)

    def scores(self, queries: Iterable[str]) -> Iterator[Floats]:
        """Yield the scores of each query, a float array `(passages,)`; zeros for a query without words."""
        for terms in self.terms(queries):
            yield self.retriever.get_scores(terms) if terms else np.zeros(self.size, dtype=np.float32)


class Bm25IndexByLanguage:
    """Passages of several languages, each language in a BM25 index of its own, which cuts a query by its rules.

    Passages of a language without words score 0. Raises `DataError` if no language has words.
    """

    def __init__(self, passages: Sequence[str], languages: Sequence[str], words: str = "plain") -> None:
        spoken, self.size = np.array(languages), len(passages)
        rows = [(str(language), np.flatnonzero(spoken == language)) for language in dict.fromkeys(languages)]
        self.parts, wordless = [], None
        for language, of in rows:
            try:
                self.parts.append((of, Bm25Index([passages[int(row)] for row in of], language, words)))
            except DataError as error:
                wordless = error
        if wordless and not self.parts:
            raise wordless

    def scores(self, queries: Sequence[str]) -> Iterator[Floats]:
        """Yield the scores of each query, a float array `(passages,)`; a passage is scored within its language."""
        for parts in zip(*(index.scores(queries) for _, index in self.parts), strict=True):
            scores = np.zeros(self.size, dtype=np.float32)
            for (rows, _), of_language in zip(self.parts, parts, strict=True):
                scores[rows] = of_language
            yield scores


def build_bm25_index(
    passages: Sequence[str], languages: Sequence[str], words: str = "plain"
) -> Bm25Index | Bm25IndexByLanguage:
    """Index passages by BM25. Raises `DataError` if the passages have no words."""
    if len(set(languages)) > 1:
        return Bm25IndexByLanguage(passages, languages, words)
    return Bm25Index(passages, next(iter(languages), "en"), words)


def _warn_unstemmed(passages, language):
    from ..vocabulary.words.morphology import warn_unstemmed

    warn_unstemmed(language, f"{len(passages)} passages", bm25=True)


def bm25_ranks(
    queries: Sequence[str], passages: Sequence[str], gold: Integers, language: str | Sequence[str], words: str = "plain"
) -> Integers:
    """Return the rank, from 1, of each query's passage; ties count against it."""
    languages = [language] * len(passages) if isinstance(language, str) else language
    scores, places = (
        build_bm25_index(passages, languages, words).scores(queries),
        np.empty(len(queries), dtype=np.int64),
    )
    first_of = number_copies(passages)
    for row, scored in enumerate(scores):
        one = gold[row : row + 1]
        places[row] = ranks(scored[None], one, list_right(one, first_of))[0]
    return places
