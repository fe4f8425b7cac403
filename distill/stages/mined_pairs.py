"""Pairs out of a retriever's ranking: what holds the answer is a positive, what ranks high without it a negative."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

from ..data.dataset import Dataset
from ..data.pairs import NONE, Pairs
from ..system.files import write_json, write_text
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
