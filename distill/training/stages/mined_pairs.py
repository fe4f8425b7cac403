"""Make pairs of a retriever's ranking: a passage with the answer is a positive, a high one without it a negative."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

from ...data.dataset import Dataset, normalise
from ...data.pairs import NONE, Pairs
from ...encoders.encoder import Encoder
from ...retrieval.bm25 import Bm25Index
from ...retrieval.exact import top_k
from ...system.files import write_json, write_text
from ...system.progress import task
from ...system.types import Booleans, Floats, Integers
from .answering_passages import HELD, NOT, AnsweringPassages

MINED, STATISTICS = "mined.jsonl", "statistics.json"


@dataclass(frozen=True)
class MinedPairs:
    """The `pairs` that were mined, their `statistics` by language, and the `gold` positives of each question."""

    pairs: Pairs
    statistics: Mapping[str, Mapping[str, float]]
    gold: tuple[Integers, ...]


def mine_pairs(gold: Pairs, ranking: Integers, answered: AnsweringPassages, negatives: int) -> MinedPairs:
    """Mine pairs from a ranking. Sentri, section 3.3.

    A question's positives are its gold ones and the passages that hold its answer. Its negatives are the highest others
    of which no translation is a positive or holds the answer, each content once. Nothing is mined for a question whose
    answer is in no passage; without a gold positive it is left out. `ranking` are the rows of passages for each
    question, int `(n, k)`, best first, -1 for none.
    """
    chosen = [
        _choose_passages(gold, row, order[order != NONE], answered, negatives) for row, order in enumerate(ranking)
    ]
    kept = [row for row, (positives, _) in enumerate(chosen) if len(positives)]
    pairs = replace(
        gold,
        questions=tuple(gold.questions[row] for row in kept),
        positives=tuple(chosen[row][0] for row in kept),
        negatives=tuple(chosen[row][1] for row in kept),
    )
    return MinedPairs(pairs, _statistics(gold, ranking, chosen, answered), tuple(gold.positives[row] for row in kept))


def _choose_passages(gold, row, order, answered, count):
    """Return the rows of the positives and of the negatives of question `row`, whose ranked passages are `order`."""
    id, known = gold.questions[row].id, gold.positives[row]
    if id in answered.nowhere:
        return known, order[:0]
    held = answered.of(id, order)
    positives = np.array(list(dict.fromkeys([*known.tolist(), *order[held == HELD].tolist()])), dtype=np.int64)
    seen, negatives = set(gold.content[positives].tolist()), []
    for passage in order[held == NOT].tolist():
        content = int(gold.content[passage])
        if len(negatives) == count:
            break
        if content not in seen and not answered.anywhere(id, content):
            negatives.append(passage)
        seen.add(content)
    return positives, np.array(negatives, dtype=np.int64)


def _statistics(gold, ranking, chosen, answered):
    """Compute the statistics by language that docs/self-training.md explains. Sentri, Table 8."""
    without, statistics = answered.without(), {}
    for language in dict.fromkeys(gold.asked_in.tolist()):
        rows = np.flatnonzero(gold.asked_in == language)
        more = [len(chosen[row][0]) - len(gold.positives[row]) for row in rows]
        statistics[language] = {
            "questions": len(rows),
            "retrieved": sum(_select_retrieved(gold, row, ranking[row], answered) for row in rows),
            "mined": int(np.count_nonzero(more)),
            "positives": round(float(np.mean([len(chosen[row][0]) for row in rows])), 4),
            "negatives": round(float(np.mean([len(chosen[row][1]) for row in rows])), 4),
            "without": without.get(language, (0, 0))[0],
        }
    return statistics


def _select_retrieved(gold, row, order, answered):
    return bool((answered.of(gold.questions[row].id, order[order != NONE]) == HELD).any())


def write_mined(folder: Path, mined: MinedPairs, dataset: Dataset) -> None:
    """Write `mined.jsonl`, one question per line, and `statistics.json`."""
    write_text(folder / MINED, "".join(f"{json.dumps(line, ensure_ascii=False)}\n" for line in _lines(mined, dataset)))
    write_json(folder / STATISTICS, mined.statistics)


def _lines(mined, dataset):
    pairs = mined.pairs

    def name_passage(passage):
        id = dataset.passages[int(pairs.content[passage])].id
        return {"passage": id, "language": str(pairs.languages[passage])}

    parts = (pairs.questions, pairs.positives, pairs.negatives, mined.gold)
    for question, positives, negatives, gold in zip(*parts, strict=True):
        yield {
            "id": question.id,
            "language": question.language,
            "positives": [{**name_passage(row), "gold": bool(row in gold)} for row in positives],
            "negatives": [name_passage(row) for row in negatives],
        }


def rank_by_bm25(pairs: Pairs, dataset: Dataset, k: int, words: str = "plain") -> Integers:
    """Rank passages by BM25.

    BM25 compares words, so a question searches the passages in its own language. If the pool has none, its parallel
    question searches those in the documents' language. `words` are the words that are compared, a key of `bm25.TERMS`.
    Returns the rows of the passages, int `(n, k)`, best first, -1 for none.
    """
    spoken, ranking = set(pairs.languages.tolist()), np.full((len(pairs.questions), k), NONE, dtype=np.int64)
    searched = np.array([one if one in spoken else dataset.document_language for one in pairs.asked_in])
    with task("passages by BM25", len(pairs.questions)) as advance:
        for language in np.unique(searched):
            asking, rows = np.flatnonzero(searched == language), np.flatnonzero(pairs.languages == language)
            queries = [_question_in(language, pairs.questions[row], dataset) for row in asking]
            index = Bm25Index([pairs.passages[row] for row in rows], str(language), words)
            for row, scores in zip(asking, index.scores(queries), strict=True):
                best = np.argsort(-scores, kind="stable")[:k]
                best = best[scores[best] > 0]
                ranking[row, : len(best)] = rows[best]
                advance()
    return ranking


def _question_in(language, question, dataset):
    """Return the text of a question in a language, or its own if it was not asked in that."""
    return dataset.questions.get(str(language), {}).get(question.id, question).text


def rank_by_encoder(encoder: Encoder, pairs: Pairs, k: int) -> Integers:
    """Rank the passages of all languages by an encoder.

    Returns the rows of the passages, int `(n, k)`, best first, -1 for none.
    """
    questions = [question.text for question in pairs.questions]
    with task(f"passages by {encoder.name}", len(questions) + len(pairs.passages)) as advance:
        vectors = encoder.encode(questions, "question", advance)
        return top_k(vectors, encoder.encode(list(pairs.passages), "document", advance), k)[0]


class FalseNegatives:
    """Filters passages of a batch that are no negatives of its questions. Sentri, section 3.2.

    Args:
        kinds: The kinds to filter. "passage" is another positive of the question, in any language, or a sentence of
            one;
        "answer" is the positive of a question with the same answer string, by `dataset.normalise`; "parallel" is the
            positive of the same question in another language.
        margin: If above 0, a passage whose score exceeds the positive's by more than this is filtered too.
    """

    def __init__(self, pairs: Pairs, kinds: Sequence[str], margin: float = 0.0, by_scorer: float = 0.0):
        self.pairs, self.kinds, self.margin, self.by_scorer = pairs, kinds, margin, by_scorer
        self.counts: dict[str, Counter[str]] = {}
        ids = {question.id for question in pairs.questions}
        self.number = {id: number for number, id in enumerate(sorted(ids))}
        self.answers = [frozenset(map(normalise, question.answers)) for question in pairs.questions]
        self.positives = [frozenset(pairs.wholes[rows].tolist()) for rows in pairs.positives]

    def mask(
        self,
        questions: Integers,
        passages: Integers,
        negatives: Integers,
        scores: Floats | None = None,
        scorer: Floats | None = None,
    ) -> Booleans:
        """Find the columns that are no negatives of a row, and add them to `counts`.

        Returns bool `(b, b + m)`, true for a column that is no negative of the row. A row's own column is not counted.

        Args:
            questions: The rows of the pairs' questions, int `(b,)`.
            passages: The rows of their passages, int `(b,)`.
            negatives: The rows of mined passages, int `(m,)`; -1 is filling, which is never a negative.
            scores: The cosines `(b, b + m)` for the margin.
            scorer: The scores of the other encoder `(b, b + m)` for its margin.
        """
        columns = np.concatenate([passages, negatives])
        filling, diagonal = columns < 0, np.eye(len(questions), len(columns), dtype=bool)
        closed = np.broadcast_to(filling, diagonal.shape) | diagonal
        for kind in self.kinds:
            closed = self._add(kind, closed, getattr(self, f"_{kind}")(questions, columns), questions)
        for kind, margin, of in (("margin", self.margin, scores), ("scorer", self.by_scorer, scorer)):
            if margin and of is not None:
                closed = self._add(kind, closed, of > np.diagonal(of)[:, None] + margin, questions)
        return closed & ~diagonal

    def take_counts(self) -> dict[str, dict[str, int]]:
        """Return how many were filtered since the last call, by kind and language."""
        counts, self.counts = {kind: dict(sorted(count.items())) for kind, count in self.counts.items()}, {}
        return counts

    def _add(self, kind, closed, more, questions):
        new = more & ~closed
        count = self.counts.setdefault(kind, Counter())
        for language, number in zip(self.pairs.asked_in[questions], new.sum(axis=1), strict=True):
            count[str(language)] += int(number)
        return closed | more

    def _passage(self, questions, columns):
        content = self.pairs.wholes[columns]
        return np.array([[of in self.positives[row] for of in content] for row in questions])

    def _answer(self, questions, columns):
        same = [[bool(self.answers[row] & self.answers[other]) for other in questions] for row in questions]
        return _wide(same, len(columns))

    def _parallel(self, questions, columns):
        ids = np.array([self.number[self.pairs.questions[row].id] for row in questions])
        return _wide(ids[:, None] == ids[None], len(columns))


def _wide(square, columns):
    """Widen a bool array `(b, b)` to `(b, columns)` with false."""
    square = np.asarray(square, dtype=bool)
    return np.pad(square, ((0, 0), (0, columns - len(square))))
