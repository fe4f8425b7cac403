"""The dev score that steers a training, computed on the model of the used tokens."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from ..data.dataset import Dataset
from ..encoders.encoder import KerasEncoder, encode_ids
from ..encoders.health import KEY, TRY, _finite, collapse_warning, find_collapse
from ..encoders.tokenizer import Tokenizer
from ..retrieval.metrics import mrr_at, precision_at, reciprocal_ranks
from ..retrieval.units import ranks_of
from ..settings.choices import list_text_kinds
from ..students.embeddings import UsedRows
from ..system.progress import say
from ..system.types import Doubles
from .session import Scores

# How far down a ranking MRR looks.
DEPTH = 10


class DevScore:
    """P@1 and MRR@10 on dev, as means over languages; the texts are tokenized once.

    A sentence is read with its passage beside it by an `encoder` that takes a context.
    """

    def __init__(
        self,
        tokenizer: Tokenizer,
        dataset: Dataset,
        languages: Sequence[str],
        unit: str,
        encoder: KerasEncoder | None = None,
    ):
        self.dataset, self.unit, self.warned = dataset, unit, False
        dev = {language: dataset.select(language, "dev") for language in languages}
        searched = {kind: dataset.texts(kind) for kind in list_text_kinds([unit])}
        self.sizes = {kind: len(texts) for kind, texts in searched.items()}
        texts = [text for texts in searched.values() for text in texts]
        if encoder and encoder.takes_context:
            beside = (
                [dataset.passage_texts[row] for row in dataset.sentences.passage_of] if "sentence" in searched else []
            )
            self.documents = encoder.tokenize(texts, "document", [*[""] * (len(texts) - len(beside)), *beside])
        else:
            self.documents = tokenizer.encode(texts, "document")
        self.questions = {name: tokenizer.encode([q.text for q in qs], "question") for name, qs in dev.items()}
        self.gold = {language: np.array([q.passage for q in qs]) for language, qs in dev.items()}
        self.ids = [q.id for qs in dev.values() for q in qs]
        self.texts = [q.text for qs in dev.values() for q in qs]

    @property
    def tokens(self) -> list[list[int]]:
        """The token ids of all texts, documents first."""
        return self.documents + [ids for rows in self.questions.values() for ids in rows]

    def score(self, used: UsedRows, of_documents: UsedRows | None = None) -> Scores:
        """Score an encoder.

        Returns "p@1" and "mrr@10"; "languages", P@1 by language; and "collapsed", a `health.mean_cosine`, if the
        questions' vectors are nearly equal, which is printed once. Raises `TrainingError` if vectors are not finite
        numbers.
        """
        ranks, questions = self._rank(used, of_documents or used)
        figures = [(precision_at(of_language, 1), mrr_at(of_language, DEPTH)) for of_language in ranks]
        precision, reciprocal = map(float, np.mean(figures, axis=0))
        languages = {name: float(first) for name, (first, _) in zip(self.questions, figures, strict=True)}
        collapse = self._collapse(np.concatenate(questions))
        return {"p@1": precision, "mrr@10": reciprocal, "languages": languages, **collapse}

    def reciprocal_ranks(self, used: UsedRows) -> Doubles:
        """Return 1 / rank of each question's document, float64 `(n,)`, 0 beyond the first ten."""
        return reciprocal_ranks(np.concatenate(self._rank(used, used)[0]), DEPTH)

    def _rank(self, used, of_documents):
        """Return by language the ranks of the questions' passages, and the questions' vectors."""
        documents = _finite(encode_ids(of_documents.small, of_documents.ids(self.documents)), "documents")
        ends = np.cumsum(list(self.sizes.values()))
        vectors = dict(zip(self.sizes, np.split(documents, ends[:-1]), strict=True))
        whole_of = self.dataset.whole_of(tuple(vectors))
        ranks, questions = [], []
        for language, rows in self.questions.items():
            questions.append(_finite(encode_ids(used.small, used.ids(rows)), f"questions in {language}"))
            gold, first_of = self.gold[language], self.dataset.first_of
            ranks.append(ranks_of(self.unit, questions[-1], vectors, gold, whole_of, first_of))
        return ranks, questions

    def _collapse(self, vectors):
        cosine = find_collapse(vectors, self.ids, self.texts)
        if cosine is None:
            return {}
        if not self.warned:
            self.warned = True
            say(f"{collapse_warning('the encoder', cosine)}; {TRY}")
        return {KEY: cosine}
