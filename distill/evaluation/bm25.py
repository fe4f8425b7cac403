"""BM25 in an encoder's place: a data set's texts ranked by it, as an encoder's vectors rank them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from ..data.dataset import Dataset
from ..errors import EncoderError
from ..retrieval.bm25 import lexical
from ..retrieval.exact import max_passage, ranks
from ..settings.choices import BM25
from ..settings.units import BY_NAME, kinds_of
from ..system.types import Floats, Integers, Progress, Role


class Bm25:
    """BM25 by its `name`, a key of `choices.BM25`, which says the kind of `words`; it has no vectors."""

    dimension = 0

    def __init__(self, name: str) -> None:
        self.name, self.words = name, BM25[name]

    def encode(self, texts: Sequence[str], role: Role = "question", progress: Progress | None = None) -> Floats:
        """Raise `EncoderError`."""
        raise EncoderError(f"{self.name} compares words and has no vectors, which this needs; give an encoder")


class WordScores:
    """A data set's texts indexed by BM25, as the `units` are scored by them: texts of a kind have statistics of theirs.

    A text is cut into words by the rules of its language; a document by those of its first passage's, a sentence by
    those of its passage's.
    """

    def __init__(self, dataset: Dataset, words: str, units: Sequence[str], progress: Progress | None = None) -> None:
        kinds = kinds_of(units)
        self.whole_of, self.indices = dataset.whole_of(kinds), {}
        for kind in kinds:
            texts = dataset.texts(kind)
            self.indices[kind] = lexical(texts, _languages(dataset, kind), words)
            if progress:
                progress(len(texts))

    def ranks(
        self, texts: Sequence[str], gold: Integers, units: Sequence[str], progress: Progress | None = None
    ) -> dict[str, Integers]:
        """Return by unit the rank, from 1, of each question's document or passage, int `(q,)`; ties count against it.

        `gold`, int `(q,)`, is the passage that answers.
        """
        targets = {unit: gold if BY_NAME[unit].rank == "passage" else self.whole_of["passage"][gold] for unit in units}
        places = {unit: np.empty(len(texts), dtype=np.int64) for unit in units}
        for row, scores in enumerate(self._by_kind(texts)):
            for unit in units:
                scored = unit_scores(unit, scores, self.whole_of)
                places[unit][row] = ranks(scored[None], targets[unit][row : row + 1])[0]
            if progress:
                progress(1)
        return places

    def firsts(self, texts: Sequence[str], unit: str) -> Integers:
        """Return the document or passage that is first, int `(q,)`; of equal scores the first one."""
        rows = [int(unit_scores(unit, scores, self.whole_of).argmax()) for scores in self._by_kind(texts)]
        return np.array(rows, dtype=np.int64)

    def highest(self, texts: Sequence[str], unit: str, k: int) -> tuple[Integers, Floats]:
        """Return the `k` best documents or passages of each text and their scores, `(q, k)` both, best first."""
        scores = np.stack([unit_scores(unit, scores, self.whole_of) for scores in self._by_kind(texts)])
        rows = np.argsort(-scores, axis=1, kind="stable")[:, :k]
        return rows, np.take_along_axis(scores, rows, axis=1)

    def _by_kind(self, texts):
        """Yield each text's scores by kind of what is scored."""
        for scores in zip(*(index.scores(texts) for index in self.indices.values()), strict=True):
            yield dict(zip(self.indices, scores, strict=True))

    def nearest(self, texts: Sequence[str], deep: int) -> Integers:
        """Return the `deep` best passages of each text, int `(q, deep)`, equal scores in the passages' order."""
        rows = self.indices["passage"].scores(texts)
        return np.stack([np.argsort(-scores, kind="stable")[:deep] for scores in rows])


def _languages(dataset, kind):
    """The language of each text of a kind."""
    spoken = np.array(dataset.passage_languages)
    if kind == "document":
        return spoken[np.flatnonzero(np.diff(dataset.document_of, prepend=-1))].tolist()
    return (spoken if kind == "passage" else spoken[dataset.sentences.passage_of]).tolist()


def unit_scores(unit: str, scores: Mapping[str, Floats], whole_of: Mapping[str, Integers]) -> Floats:
    """Return the score of each document or passage, `(n,)`, of `scores` by kind of text, as `settings.units` has them.

    With "sum" BM25's score of a passage and that of its best sentence are added. `whole_of` as in `retrieval.units`.
    """
    rank, score = BY_NAME[unit].rank, BY_NAME[unit].score
    if score == "vector":
        return scores[rank]
    of_passages = scores["passage"] if score == "maxp" else _best(scores["sentence"], whole_of["sentence"])
    if score == "sum":
        of_passages = of_passages + scores["passage"]
    return _best(of_passages, whole_of["passage"]) if rank == "document" else of_passages


def _best(scores, whole_of):
    return max_passage(scores[None], whole_of)[0]
