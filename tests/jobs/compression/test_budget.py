from typing import NamedTuple

import pytest

from distill.errors import ConfigError
from distill.jobs.compression.budget import Budget, choose_bundle, pareto_front, parse_bytes


class Row(NamedTuple):
    name: str
    p1: float
    bytes: int
    ms: float = 1.0
    drop: float = 0.0


def costs(row):
    return row.bytes, row.ms


@pytest.mark.parametrize(
    "text, count",
    [("10MB", 10_000_000), ("1.5 mb", 1_500_000), ("500KB", 500_000), ("2G", 2_000_000_000), ("700", 700), ("5B", 5)],
)
def test_sizes(text, count):
    assert parse_bytes(text) == count


@pytest.mark.parametrize("text", ["", "MB", "ten", "-3MB", "0MB", "3 TB", "1,5MB", "nan", "9" * 303 + "MB", "9" * 400])
def test_what_is_no_size_is_refused(text):
    with pytest.raises(ConfigError, match="^--max-size: "):
        parse_bytes(text)


def test_excess_names_each_limit_that_is_not_kept():
    excess = Budget(100, 2.0, 1.0).excess(Row("a", 0.5, 101, 1.9, 1.5))
    assert excess == {"bytes": (101, 100), "drop": (1.5, 1.0)}


def test_the_front_by_hand():
    rows = [
        Row("best", 0.9, 100, 3.0),
        Row("beaten in all", 0.7, 100, 3.0),
        Row("small", 0.8, 50, 3.0),
        Row("beaten in size by small", 0.8, 60, 3.0),
        Row("fast", 0.6, 100, 1.0),
    ]
    assert [one.name for one in pareto_front(rows, costs)] == ["best", "small", "fast"]
    # Of equals both stay, and over size alone no time is asked for.
    assert len(pareto_front([Row("a", 0.5, 10), Row("b", 0.5, 10)], costs)) == 2
    rows = [Row("a", 0.5, 10, 3.0), Row("b", 0.5, 20, 1.0)]
    assert [one.name for one in pareto_front(rows, lambda row: (row.bytes,))] == ["a"]


@pytest.mark.parametrize(
    ("rows", "budget"),
    [
        # The best within a size, and of equals the smaller.
        ([Row("d", 0.9, 200), Row("a", 0.8, 90), Row("chosen", 0.8, 80), Row("c", 0.7, 10)], Budget(100, None, 5.0)),
        # The smallest within a loss.
        ([Row("a", 0.9, 90), Row("chosen", 0.88, 50, drop=1), Row("c", 0.7, 10, drop=9)], Budget(None, None, 1.0)),
        # The nearest where none keeps the budget: 1.5 times the size against 1.2 times the loss.
        ([Row("a", 0.9, 150), Row("chosen", 0.8, 100, drop=1.2), Row("c", 0.8, 110, drop=3)], Budget(100, None, 1.0)),
        ([Row("a", 0.9, 100, drop=0.5), Row("chosen", 0.9, 100, drop=0.2)], Budget(None, None, 0.0)),
    ],
    ids=["size", "loss", "neither", "no loss"],
)
def test_the_choice(rows, budget):
    assert choose_bundle(rows, budget).name == "chosen"
