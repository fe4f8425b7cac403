"""Ranks of units and the nearest of them, computed from the vectors of the kinds of text that they are scored by."""

from __future__ import annotations

from collections.abc import Mapping
from functools import partial

import numpy as np

from ..settings.units import BY_NAME
from ..system.types import Floats, Integers
from .blocks import COLUMNS, ROWS, Product, TopScores, spans
from .exact import BlockScorer, Candidates, candidate_ranks


def candidates_of(unit: str, vectors: Mapping[str, Floats], whole_of: Mapping[str, Integers]) -> Candidates:
    """Return the candidates of a unit.

    Args:
        unit: Name of the unit.
        vectors: `{kind of text: vectors}`, float arrays `(n, d)`, with all kinds that the unit needs.
        whole_of: `{"passage": document of each passage, "sentence": passage of each sentence}`, ascending integer
            arrays.

    Returns:
        The candidates.
    """
    rank, score = BY_NAME[unit].rank, BY_NAME[unit].score
    if score == "vector":
        return Candidates(vectors[rank])
    document_of = whole_of["passage"]
    if score == "maxp":
        return Candidates(vectors["passage"], document_of)
    passage_of = whole_of["sentence"]
    if score == "sentence":
        return Candidates(vectors["sentence"], document_of[passage_of] if rank == "document" else passage_of)
    above = document_of if rank == "document" else None
    return Candidates(vectors["sentence"], passage_of, vectors["passage"], above)


def ranks_of(
    unit: str,
    questions: Floats,
    vectors: Mapping[str, Floats],
    gold: Integers,
    whole_of: Mapping[str, Integers],
) -> Integers:
    """Return the rank, from 1, of each question's document or passage.

    Args:
        unit: Name of the unit.
        questions: Float array `(q, d)`.
        vectors: `{kind of text: vectors}`, float arrays `(n, d)`.
        gold: Integer array `(q,)`, the passage that answers each question.
        whole_of: `{"passage": document of each passage, "sentence": passage of each sentence}`, ascending integer
            arrays.

    Returns:
        Integer array `(q,)`.
    """
    target = gold if BY_NAME[unit].rank == "passage" else whole_of["passage"][gold]
    return candidate_ranks(questions, candidates_of(unit, vectors, whole_of), target)


def first_units(
    unit: str, questions: Floats, vectors: Mapping[str, Floats], whole_of: Mapping[str, Integers], block: int = ROWS
) -> Integers:
    """Return the document or passage that is ranked first for each question; the first of equal ones.

    Args:
        unit: Name of the unit.
        questions: Float array `(q, d)`.
        vectors: `{kind of text: vectors}`, float arrays `(n, d)`.
        whole_of: `{"passage": document of each passage, "sentence": passage of each sentence}`, ascending integer
            arrays.
        block: Number of questions that are scored at once.

    Returns:
        Integer array `(q,)`.
    """
    scored = BlockScorer(candidates_of(unit, vectors, whole_of), COLUMNS)
    firsts = np.zeros(len(questions), dtype=np.int64)
    for rows in spans(len(questions), block):
        best = np.full(rows.stop - rows.start, -np.inf)
        for number, start in enumerate(scored.starts):
            scores = scored(questions[rows], number)
            highest = scores.max(axis=1)
            firsts[rows] = np.where(highest > best, start + scores.argmax(axis=1), firsts[rows])
            best = np.maximum(highest, best)
    return firsts


def nearest_of(
    unit: str,
    questions: Floats,
    vectors: Mapping[str, Floats],
    whole_of: Mapping[str, Integers],
    k: int,
    block: int = ROWS,
) -> tuple[Integers, Floats]:
    """Return the `k` best documents or passages of each question, and their scores.

    Args:
        unit: what is ranked and how, a name of `settings.units.BY_NAME`.
        questions: `(q, d)`.
        vectors: by kind of text, as `candidates_of` takes them.
        whole_of: by kind, as `candidates_of` takes it.
        k: how many; at most as many as there are.
        block: how many questions are scored at once.

    Returns:
        Rows and scores, `(q, k)` both, best first; of equal scores the first row comes first.
    """
    scored = BlockScorer(candidates_of(unit, vectors, whole_of), COLUMNS)
    indices, values = np.empty((len(questions), k), dtype=np.int64), np.empty((len(questions), k), dtype=np.float32)
    for rows in spans(len(questions), block):
        best = TopScores(rows.stop - rows.start, k)
        for number, start in enumerate(scored.starts):
            best.add(scored(questions[rows], number), partial(_row_from, start))
        indices[rows], values[rows] = best.indices, best.values
    return indices, values


def _row_from(start, _, column):
    return start + column


def nearest_units(
    unit: str, questions: Floats, vectors: Mapping[str, Floats], whole_of: Mapping[str, Integers]
) -> Integers:
    """Return the document or passage that is nearest to each question; the first of equal ones.

    Args:
        unit: Name of the unit.
        questions: Float array `(q, d)`.
        vectors: `{kind of text: vectors}`, float arrays `(n, d)`.
        whole_of: `{"passage": document of each passage, "sentence": passage of each sentence}`.

    Returns:
        Integer array `(q,)`.
    """
    candidates, every = candidates_of(unit, vectors, whole_of), slice(0, None)
    return candidates.scores(questions, every, Product()).argmax(axis=1).astype(np.int64)
