"""The dev score that training steers by, computed on the small model."""

import numpy as np

from .encoder import encode_ids
from .metrics import mrr_at, precision_at
from .retrieval import unit_ranks


class DevScore:
    """P@1 and MRR@10 on dev for a unit, the mean over `languages`; tokenized once."""

    def __init__(self, tokenizer, dataset, languages, unit):
        self.dataset, self.unit = dataset, unit
        asked = {language: dataset.select(language, "dev") for language in languages}
        self.documents = tokenizer.encode(dataset.texts(unit))
        self.questions = {language: tokenizer.encode([q.text for q in qs]) for language, qs in asked.items()}
        self.gold = {language: np.array([q.passage for q in qs]) for language, qs in asked.items()}

    @property
    def tokens(self):
        return self.documents + [ids for rows in self.questions.values() for ids in rows]

    def score(self, used, of_documents=None):
        """`{"p@1", "mrr@10"}` of `used.small`, with documents by that of `of_documents` where it is given."""
        other = of_documents or used
        documents = encode_ids(other.small, other.ids(self.documents))
        scores = []
        for language, rows in self.questions.items():
            vectors = encode_ids(used.small, used.ids(rows))
            found = unit_ranks(vectors, documents, self.gold[language], self.dataset.document_of, self.unit)
            scores.append((precision_at(found, 1), mrr_at(found, 10)))
        return dict(zip(("p@1", "mrr@10"), map(float, np.mean(scores, axis=0)), strict=True))
