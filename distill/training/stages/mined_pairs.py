"""Make pairs of a retriever's ranking: a passage with the answer is a positive, a high one without it a negative."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

from ...data.dataset import Dataset
from ...data.pairs import NONE, Pairs
from ...encoders.encoder import Encoder
from ...retrieval.bm25 import Bm25Index
from ...retrieval.exact import top_k
from ...system.files import write_json, write_text
from ...system.progress import task
from ...system.types import Integers
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
    answer is in no passage; without a gold positive it is left out.

    Args:
        ranking: The rows of passages for each question, int `(n, k)`, best first, -1 for none.
        negatives: The number of negatives per question, at most.
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


def _choose_passages(gold, row, order, answered, many):
    """Return the rows of the positives and of the negatives of question `row`, whose ranked passages are `order`."""
    id, known = gold.questions[row].id, gold.positives[row]
    if id in answered.nowhere:
        return known, order[:0]
    held = answered.of(id, order)
    positives = np.array(list(dict.fromkeys([*known.tolist(), *order[held == HELD].tolist()])), dtype=np.int64)
    seen, negatives = set(gold.content[positives].tolist()), []
    for passage in order[held == NOT].tolist():
        content = int(gold.content[passage])
        if len(negatives) == many:
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
    question searches those in the documents' language.

    Args:
        k: The number of passages per question.
        words: The words that are compared, a key of `bm25.TERMS`.

    Returns:
        The rows of the passages, int `(n, k)`, best first, -1 for none.
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

    Args:
        k: The number of passages per question.

    Returns:
        The rows of the passages, int `(n, k)`, best first, -1 for none.
    """
    questions = [question.text for question in pairs.questions]
    with task(f"passages by {encoder.name}", len(questions) + len(pairs.passages)) as advance:
        vectors = encoder.encode(questions, "question", advance)
        return top_k(vectors, encoder.encode(list(pairs.passages), "document", advance), k)[0]
