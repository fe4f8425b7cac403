"""Words and answers of passages as they are written: no stemming, no segmentation."""

import bm25s
import numpy as np

from .anchors import stopwords_of
from .errors import DataError
from .mining import normalise


class Lexical:
    """`passages` indexed by BM25. Raises `DataError` where they have no words."""

    def __init__(self, passages, language):
        self.stopwords, self.size, self.retriever = stopwords_of(language), len(passages), bm25s.BM25()
        known = self._words(passages)
        if not any(known):
            raise DataError(f"BM25 finds no words in the passages in {language}")
        self.retriever.index(known, show_progress=False)

    def scores(self, queries):
        """Yield float `(passages,)` of each query; zeros for one without words."""
        for words in self._words(queries):
            yield self.retriever.get_scores(words) if words else np.zeros(self.size)

    def _words(self, texts):
        return bm25s.tokenize(list(texts), stopwords=self.stopwords, return_ids=False, show_progress=False)


class AnswerFinder:
    """Which of `passages`, all in one language, hold an answer."""

    def __init__(self, passages, language):
        self.passages = [normalise(passage) for passage in passages]

    def holds(self, answers, rows=None):
        """bool `(passages,)`, or of the passages `rows` alone: is one of `answers` in it, by `mining.normalise`?"""
        wanted = [answer for answer in map(normalise, answers) if answer]
        texts = self.passages if rows is None else [self.passages[row] for row in rows]
        return np.array([any(answer in text for answer in wanted) for text in texts], dtype=bool)
