"""BM25: the words of texts that it compares, and the rank that it gives the right passage."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

import numpy as np

from ..errors import DataError
from ..system.types import Floats, Integers
from .exact import ranks


def plain_terms(texts: Iterable[str], language: str) -> list[list[str]]:
    """Return each text's runs of two or more letters or digits in lower case, of English without common words."""
    import bm25s

    return bm25s.tokenize(list(texts), stopwords=stopwords_of(language), return_ids=False, show_progress=False)


def morphology_terms(texts: Iterable[str], language: str) -> list[list[str]]:
    """Return each text's terms as `morphology.analyser` gives them; of English without its commonest words."""
    import bm25s

    from ..words.morphology import analyser, words

    terms_of = [analyser(language).terms(text) for text in texts]
    if stopwords_of(language) is None:
        return terms_of
    common = {stem for word in bm25s.stopwords.STOPWORDS_EN for stem in words(word, language)}
    return [[term for term in terms if term not in common] for terms in terms_of]


TERMS = {"plain": plain_terms, "morphology": morphology_terms}


def stopwords_of(language: str) -> str | None:
    """The name of the list of words that do not count; there is one of English."""
    return "en" if language == "en" else None


class Lexical:
    """`passages` indexed by BM25 with the terms that `words` names, a key of `TERMS`. Raises `DataError` without any.

    Robertson's BM25 with Lucene's idf as `bm25s` has it, k1 1.5, b 0.75. Warns of "morphology" without a stemmer.
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
        """Yield the scores of each query, float `(passages,)`; zeros for one without words."""
        for terms in self.terms(queries):
            yield self.retriever.get_scores(terms) if terms else np.zeros(self.size, dtype=np.float32)


class LexicalByLanguage:
    """`passages` `(p,)` in `languages` `(p,)`: a `Lexical` of each language's, whose words a query is cut into."""

    def __init__(self, passages: Sequence[str], languages: Sequence[str], words: str = "plain") -> None:
        spoken, self.size = np.array(languages), len(passages)
        rows = [(str(language), np.flatnonzero(spoken == language)) for language in dict.fromkeys(languages)]
        self.parts = [(of, Lexical([passages[int(row)] for row in of], language, words)) for language, of in rows]

    def scores(self, queries: Sequence[str]) -> Iterator[Floats]:
        """Yield the scores of each query, float `(passages,)`, a passage's among those of its language."""
        for parts in zip(*(index.scores(queries) for _, index in self.parts), strict=True):
            scores = np.zeros(self.size, dtype=np.float32)
            for (rows, _), of_language in zip(self.parts, parts, strict=True):
                scores[rows] = of_language
            yield scores


def lexical(passages: Sequence[str], languages: Sequence[str], words: str = "plain") -> Lexical | LexicalByLanguage:
    """The index of passages `(p,)` in `languages` `(p,)`."""
    if len(set(languages)) > 1:
        return LexicalByLanguage(passages, languages, words)
    return Lexical(passages, next(iter(languages), "en"), words)


def _warn_unstemmed(passages, language):
    from ..words.morphology import say_unstemmed

    say_unstemmed(language, f"{len(passages)} passages", bm25=True)


def bm25_ranks(
    queries: Sequence[str], passages: Sequence[str], gold: Integers, language: str | Sequence[str], words: str = "plain"
) -> Integers:
    """Return the rank, from 1, of each query's passage `gold`, int `(q,)` both; ties count against it.

    `language` is that of all passages, or of each.
    """
    languages = [language] * len(passages) if isinstance(language, str) else language
    scores, places = lexical(passages, languages, words).scores(queries), np.empty(len(queries), dtype=np.int64)
    for row, scored in enumerate(scores):
        places[row] = ranks(scored[None], gold[row : row + 1])[0]
    return places
