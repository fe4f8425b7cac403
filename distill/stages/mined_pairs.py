"""Pairs out of a retriever's ranking: what holds the answer is a positive, what ranks high without it a negative."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

from ..data.dataset import Dataset
from ..data.pairs import NONE, Pairs
from ..encoders.encoder import Encoder
from ..retrieval.bm25 import Lexical
from ..retrieval.exact import top_k
from ..system.files import write_json, write_text
from ..system.progress import task
from ..system.types import Integers
from .answering_passages import HELD, NOT, Answered

MINED, STATISTICS = "mined.jsonl", "statistics.json"


@dataclass(frozen=True)
class Mined:
    """`pairs` to learn from, by language `statistics` of how they came about, and each question's `gold` positives."""

    pairs: Pairs
    statistics: Mapping[str, Mapping[str, float]]
    gold: tuple[Integers, ...]


def mine_pairs(gold: Pairs, ranking: Integers, answered: Answered, negatives: int) -> Mined:
    """`Mined` from `ranking`, int `(n, k)`, rows of passages for each question of `gold`, best first, -1 for none.

    A question's positives are its own, those of `gold`, and what holds its answer; at most `negatives` of the others
    are its negatives, the highest: those of which no translation is a positive or holds the answer, each content once.
    Nothing is mined for a question whose answer no passage holds; where it has no own positive either it is left out.
    Sentri, section 3.3.
    """
    chosen = [_chosen(gold, row, order[order != NONE], answered, negatives) for row, order in enumerate(ranking)]
    kept = [row for row, (positives, _) in enumerate(chosen) if len(positives)]
    pairs = replace(
        gold,
        questions=tuple(gold.questions[row] for row in kept),
        positives=tuple(chosen[row][0] for row in kept),
        negatives=tuple(chosen[row][1] for row in kept),
    )
    return Mined(pairs, _statistics(gold, ranking, chosen, answered), tuple(gold.positives[row] for row in kept))


def _chosen(gold, row, order, answered, many):
    """Rows of the positives and of the negatives of question `row`, whose ranked passages are `order`."""
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
    """By language as docs/self-training.md has them; Sentri, Table 8."""
    without, statistics = answered.without(), {}
    for language in dict.fromkeys(gold.asked_in.tolist()):
        rows = np.flatnonzero(gold.asked_in == language)
        more = [len(chosen[row][0]) - len(gold.positives[row]) for row in rows]
        statistics[language] = {
            "questions": len(rows),
            "retrieved": sum(_retrieved(gold, row, ranking[row], answered) for row in rows),
            "mined": int(np.count_nonzero(more)),
            "positives": round(float(np.mean([len(chosen[row][0]) for row in rows])), 4),
            "negatives": round(float(np.mean([len(chosen[row][1]) for row in rows])), 4),
            "without": without.get(language, (0, 0))[0],
        }
    return statistics


def _retrieved(gold, row, order, answered):
    return bool((answered.of(gold.questions[row].id, order[order != NONE]) == HELD).any())


def write_mined(folder: Path, mined: Mined, dataset: Dataset) -> None:
    """Write `mined.jsonl`, a question a line, and `statistics.json`."""
    write_text(folder / MINED, "".join(f"{json.dumps(line, ensure_ascii=False)}\n" for line in _lines(mined, dataset)))
    write_json(folder / STATISTICS, mined.statistics)


def _lines(mined, dataset):
    pairs = mined.pairs

    def named(passage):
        id = dataset.passages[int(pairs.content[passage])].id
        return {"passage": id, "language": str(pairs.languages[passage])}

    parts = (pairs.questions, pairs.positives, pairs.negatives, mined.gold)
    for question, positives, negatives, gold in zip(*parts, strict=True):
        yield {
            "id": question.id,
            "language": question.language,
            "positives": [{**named(row), "gold": bool(row in gold)} for row in positives],
            "negatives": [named(row) for row in negatives],
        }


def bm25_ranking(pairs: Pairs, dataset: Dataset, k: int, words: str = "plain") -> Integers:
    """int `(n, k)`: rows of passages that share most words with each question of `pairs`, best first; -1 for none.

    BM25 compares words. So a question searches the passages in its own language; where the pool has none, its parallel
    question searches those in the documents' language. `words` says what is compared, a key of `bm25.TERMS`.
    """
    spoken, ranking = set(pairs.languages.tolist()), np.full((len(pairs.questions), k), NONE, dtype=np.int64)
    searched = np.array([one if one in spoken else dataset.document_language for one in pairs.asked_in])
    with task("passages by BM25", len(pairs.questions)) as advance:
        for language in np.unique(searched):
            asking, rows = np.flatnonzero(searched == language), np.flatnonzero(pairs.languages == language)
            queries = [_asked_in(language, pairs.questions[row], dataset) for row in asking]
            index = Lexical([pairs.passages[row] for row in rows], str(language), words)
            for row, scores in zip(asking, index.scores(queries), strict=True):
                best = np.argsort(-scores, kind="stable")[:k]
                best = best[scores[best] > 0]
                ranking[row, : len(best)] = rows[best]
                advance()
    return ranking


def _asked_in(language, question, dataset):
    """The text of a question in a language, or its own where it was not asked in that."""
    return dataset.questions.get(str(language), {}).get(question.id, question).text


def encoder_ranking(encoder: Encoder, pairs: Pairs, k: int) -> Integers:
    """int `(n, k)`: rows of the passages nearest to each question, of whatever languages, best first; -1 for none."""
    questions = [question.text for question in pairs.questions]
    with task(f"passages by {encoder.name}", len(questions) + len(pairs.passages)) as advance:
        vectors = encoder.encode(questions, "question", advance)
        return top_k(vectors, encoder.encode(list(pairs.passages), "document", advance), k)[0]
