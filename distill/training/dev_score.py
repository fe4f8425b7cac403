"""The dev score that training steers by, computed on the small model."""

import numpy as np

from ..encoders.encoder import encode_ids
from ..encoders.health import KEY, TRY, _finite, collapsed, told
from ..retrieval.exact import unit_ranks
from ..retrieval.metrics import mrr_at, precision_at
from ..system.progress import say


class DevScore:
    """P@1 and MRR@10 on dev for a unit, the mean over `languages`; tokenized once."""

    def __init__(self, tokenizer, dataset, languages, unit):
        self.dataset, self.unit, self.warned = dataset, unit, False
        asked = {language: dataset.select(language, "dev") for language in languages}
        self.documents = tokenizer.encode(dataset.texts(unit))
        self.questions = {language: tokenizer.encode([q.text for q in qs]) for language, qs in asked.items()}
        self.gold = {language: np.array([q.passage for q in qs]) for language, qs in asked.items()}
        self.ids = [q.id for qs in asked.values() for q in qs]

    @property
    def tokens(self):
        return self.documents + [ids for rows in self.questions.values() for ids in rows]

    def score(self, used, of_documents=None):
        """`{"p@1", "mrr@10"}` of `used.small`, with documents by that of `of_documents` where it is given.

        And "collapsed", a `collapse.mean_cosine`, where the questions' vectors are nearly equal, which is said once.
        Raises `TrainingError` for vectors that are not finite numbers.
        """
        other = of_documents or used
        documents = _finite(encode_ids(other.small, other.ids(self.documents)), "documents")
        asked, scores = [], []
        for language, rows in self.questions.items():
            asked.append(_finite(encode_ids(used.small, used.ids(rows)), f"questions in {language}"))
            found = unit_ranks(asked[-1], documents, self.gold[language], self.dataset.document_of, self.unit)
            scores.append((precision_at(found, 1), mrr_at(found, 10)))
        means = dict(zip(("p@1", "mrr@10"), map(float, np.mean(scores, axis=0)), strict=True))
        return means | self._collapse(np.concatenate(asked))

    def _collapse(self, vectors):
        found = collapsed(vectors, self.ids)
        if found is None:
            return {}
        if not self.warned:
            self.warned = True
            say(f"{told('the encoder', found)}; {TRY}")
        return {KEY: found}
