"""Readers of what a row's command wrote: figures by column, in per cent."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import TypeAlias

from ..system.types import Json

# From a row's JSON to figures by column, those that a paper has too and others.
Read: TypeAlias = Callable[[Json], Mapping[str, float]]
# From a row's JSON to the questions that it alone, and that the base alone, answers, by column.
Against: TypeAlias = Callable[[Json], Mapping[str, tuple[int, int]]]
# The score of each question, by column and by its id and language: what two lines are tested by.
Outcomes: TypeAlias = Mapping[str, Mapping[tuple[str, str], float]]
Scored: TypeAlias = Callable[[Json], Outcomes]


def read_outcomes(task: str, metric: str, part: str, pooled: str = "", language: str = "") -> Scored:
    """Return the reader of the scores that `distill evaluate --outcomes --json` wrote of its one encoder.

    Args:
        task: The task, such as "retrieval".
        metric: The metric, such as "p@1".
        part: The part of the task, such as "document"; a part that is not there has no scores.
        pooled: The column of the questions of all languages together; empty for a column per language.
        language: The only language of the questions; empty for all.
    """

    def read(written):
        [of] = written[task]["outcomes"].values()
        columns: dict[str, dict[tuple[str, str], float]] = {}
        for name, scores in of[metric].get(part, {}).items():
            if language in ("", name):
                columns.setdefault(pooled or name, {}).update({(id, name): one for id, one in scores.items()})
        return columns

    return read


def combine_outcomes(readers: Iterable[Scored]) -> Scored:
    """Return the reader of the columns of several."""
    every = tuple(readers)
    return lambda written: {name: of for read in every for name, of in read(written).items()}


def to_means(read: Scored) -> Read:
    """Return the reader of the means of scores, in per cent."""
    return lambda written: {
        column: 100 * sum(scores.values()) / len(scores) for column, scores in read(written).items() if scores
    }


def read_lareqa(written: Json) -> Json:
    """Return the figures that `distill evaluate --task lareqa --json` wrote of its one encoder."""
    [figures] = written["lareqa"]["encoders"].values()
    return figures
