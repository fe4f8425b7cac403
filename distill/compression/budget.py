"""The limits of a compressed encoder, and the one of several to ship."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Protocol, TypeVar

from ..errors import ConfigError

BYTES = {"": 1, "B": 1, "KB": 1e3, "MB": 1e6, "GB": 1e9}
SIZE = re.compile(r"(\d+(?:\.\d+)?)\s*([KMG]?B?)", re.IGNORECASE)


def bytes_of(text: str) -> int:
    """`10MB` -> 10,000,000; a number alone counts bytes. Raises `ConfigError`."""
    match = SIZE.fullmatch(text.strip())
    unit = match[2].upper() if match else ""
    size = float(match[1]) * BYTES[unit if unit in BYTES else f"{unit}B"] if match else 0.0
    if not 0 < size < float("inf"):
        raise ConfigError(f"--max-size: expected a size such as 10MB or 500KB, got {text!r}")
    return int(size)


class Scored(Protocol):
    """Figures with a mean P@1."""

    @property
    def p1(self) -> float: ...


class Measured(Scored, Protocol):
    """The figures of a bundle: bytes on disk, ms a query and the points of mean P@1 that it lost."""

    @property
    def bytes(self) -> int: ...
    @property
    def ms(self) -> float: ...
    @property
    def drop(self) -> float: ...


Beaten = TypeVar("Beaten", bound=Scored)
Choice = TypeVar("Choice", bound=Measured)


@dataclass(frozen=True)
class Budget:
    """The most bytes on disk, milliseconds a query (median, tokenize + encode) and points of mean P@1 lost.

    None where there is no limit. A drop below `drop` is always asked for.
    """

    bytes: int | None = None
    ms: float | None = None
    drop: float = 1.0

    def excess(self, row: Measured) -> dict[str, tuple[float, float]]:
        """`{name: (value, limit)}` of the limits that a row does not keep."""
        values = {"bytes": (row.bytes, self.bytes), "ms": (row.ms, self.ms), "drop": (row.drop, self.drop)}
        return {name: (value, limit) for name, (value, limit) in values.items() if limit is not None and value > limit}

    def met(self, row: Measured) -> bool:
        """Return whether a row keeps all limits."""
        return not self.excess(row)


def front(rows: Sequence[Beaten], costs: Callable[[Beaten], tuple[float, ...]]) -> list[Beaten]:
    """The rows that no other beats, in their order: as good in P@1 and in every one of its `costs`, better in one."""
    return [row for row in rows if not any(_beats(other, row, costs) for other in rows)]


def _beats(one, other, costs):
    better = [one.p1 - other.p1, *(theirs - ours for ours, theirs in zip(costs(one), costs(other), strict=True))]
    return min(better) >= 0 and max(better) > 0


def choose(rows: Sequence[Choice], budget: Budget) -> Choice:
    """The row to ship: of those within the budget the best P@1 where size or time is limited, else the smallest.

    Where none is within it the one that is nearest: its worst excess, relative to the limit, is the least.
    """
    within = [row for row in rows if budget.met(row)]
    if within and budget.bytes is None and budget.ms is None:
        return min(within, key=lambda row: row.bytes)
    if within:
        return max(within, key=lambda row: (row.p1, -row.bytes))
    return min(rows, key=lambda row: max(value / (limit or 0.1) for value, limit in budget.excess(row).values()))
