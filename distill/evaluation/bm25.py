"""BM25 in the place of an encoder: it ranks the texts of a data set as an encoder's vectors do."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from ..data.dataset import Dataset
from ..errors import EncoderError
from ..retrieval.bm25 import build_bm25_index
from ..retrieval.exact import max_passage, ranks
from ..retrieval.units import list_right
from ..settings.choices import BM25, UNITS_BY_NAME, list_text_kinds
from ..system.types import Floats, Integers, Progress, Role


class Bm25:
    """BM25 under the name of a model, which selects its kind of words; it has no vectors."""

    dimension = 0

    def __init__(self, name: str) -> None:
        self.name, self.words = name, BM25[name]

    def encode(self, texts: Sequence[str], role: Role = "question", progress: Progress | None = None) -> Floats:
        """Raise `EncoderError`, as BM25 has no vectors."""
        raise EncoderError(f"{self.name} compares words and has no vectors, which this needs; give an encoder")


class Bm25Scorer:
    """A data set's texts indexed by BM25, one index for each kind of text that the units are scored by.

    Each kind of text has its own word statistics. A text is cut into words by the rules of its language: a document by
    those of its first passage, a sentence by those of its passage.
    """

    def __init__(self, dataset: Dataset, words: str, units: Sequence[str], progress: Progress | None = None) -> None:
        kinds = list_text_kinds(units)
        self.whole_of, self.first_of, self.indices = dataset.whole_of(kinds), dataset.first_of, {}
        for kind in kinds:
            texts = dataset.texts(kind)
            self.indices[kind] = build_bm25_index(texts, _languages(dataset, kind), words)
            if progress:
                progress(len(texts))

    def ranks(
        self, texts: Sequence[str], gold: Integers, units: Sequence[str], progress: Progress | None = None
    ) -> dict[str, Integers]:
        """Return the rank, from 1, of each question's document or passage, by unit; ties count against it."""
        places = {unit: np.empty(len(texts), dtype=np.int64) for unit in units}
        for row, scores in enumerate(self._by_kind(texts)):
            for unit in units:
                scored = score_units(unit, scores, self.whole_of)
                above = None if UNITS_BY_NAME[unit].rank == "passage" else self.whole_of["passage"]
                right = list_right(gold[row : row + 1], self.first_of, above)
                places[unit][row] = ranks(scored[None], right[1][:1], right)[0]
            if progress:
                progress(1)
        return places

    def first_units(self, texts: Sequence[str], unit: str) -> Integers:
        """Return the document or passage that BM25 ranks first for each question; the lowest number of equal ones."""
        rows = [int(score_units(unit, scores, self.whole_of).argmax()) for scores in self._by_kind(texts)]
        return np.array(rows, dtype=np.int64)

    def highest(self, texts: Sequence[str], unit: str, k: int) -> tuple[Integers, Floats]:
        """Return the `k` best documents or passages of each text and their scores, `(q, k)` both, best first."""
        scores = np.stack([score_units(unit, scores, self.whole_of) for scores in self._by_kind(texts)])
        rows = np.argsort(-scores, axis=1, kind="stable")[:, :k]
        return rows, np.take_along_axis(scores, rows, axis=1)

    def _by_kind(self, texts):
        """Yield the scores of each text, by kind of indexed text."""
        for scores in zip(*(index.scores(texts) for index in self.indices.values()), strict=True):
            yield dict(zip(self.indices, scores, strict=True))

    def nearest_passages(self, texts: Sequence[str], deep: int) -> Integers:
        """Return the best passages of each text, `(q, deep)`; equal scores keep the order of the passages."""
        rows = self.indices["passage"].scores(texts)
        return np.stack([np.argsort(-scores, kind="stable")[:deep] for scores in rows])


def _languages(dataset, kind):
    spoken = np.array(dataset.passage_languages)
    if kind == "document":
        return spoken[np.flatnonzero(np.diff(dataset.document_of, prepend=-1))].tolist()
    return (spoken if kind == "passage" else spoken[dataset.sentences.passage_of]).tolist()


def score_units(unit: str, scores: Mapping[str, Floats], whole_of: Mapping[str, Integers]) -> Floats:
    """Return the score `(units,)` of each document or passage from the scores of one kind of text or more.

    The score "sum" adds BM25's score of a passage and that of its best sentence.
    """
    rank, score = UNITS_BY_NAME[unit].rank, UNITS_BY_NAME[unit].score
    if score == "vector":
        return scores[rank]
    of_passages = scores["passage"] if score == "maxp" else _best(scores["sentence"], whole_of["sentence"])
    if score == "sum":
        of_passages = of_passages + scores["passage"]
    return _best(of_passages, whole_of["passage"]) if rank == "document" else of_passages


def _best(scores, whole_of):
    return max_passage(scores[None], whole_of)[0]
