"""The limits of a compressed encoder, and the choice of the candidate to ship."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Protocol, TypeVar

from ...errors import ConfigError

BYTES = {"": 1, "B": 1, "KB": 1e3, "MB": 1e6, "GB": 1e9}
SIZE = re.compile(r"(\d+(?:\.\d+)?)\s*([KMG]?B?)", re.IGNORECASE)


def parse_bytes(text: str) -> int:
    """Return the number of bytes of a size such as `10MB`; a number alone counts bytes. Raises `ConfigError`."""
    match = SIZE.fullmatch(text.strip())
    unit = match[2].upper() if match else ""
    size = float(match[1]) * BYTES[unit if unit in BYTES else f"{unit}B"] if match else 0.0
    if not 0 < size < float("inf"):
        raise ConfigError(f"--max-size: expected a size such as 10MB or 500KB, got {text!r}")
    return int(size)


class HasPrecision(Protocol):
    """Figures with a mean P@1."""

    @property
    def p1(self) -> float:
        """Return mean P@1, in [0, 1]."""
        ...


class BundleFigures(HasPrecision, Protocol):
    """The figures of a bundle."""

    @property
    def bytes(self) -> int:
        """Return the bytes on disk."""
        ...

    @property
    def ms(self) -> float:
        """Return the milliseconds per query."""
        ...

    @property
    def drop(self) -> float:
        """Return the percentage points of mean P@1 that were lost."""
        ...


Ranked = TypeVar("Ranked", bound=HasPrecision)
Choice = TypeVar("Choice", bound=BundleFigures)


@dataclass(frozen=True)
class Budget:
    """The limits of a bundle in bytes, milliseconds per query and points of mean P@1; None stands for no limit."""

    bytes: int | None = None
    ms: float | None = None
    drop: float = 1.0

    def excess(self, row: BundleFigures) -> dict[str, tuple[float, float]]:
        """Return `{name: (value, limit)}` of the limits that a row exceeds."""
        values = {"bytes": (row.bytes, self.bytes), "ms": (row.ms, self.ms), "drop": (row.drop, self.drop)}
        return {name: (value, limit) for name, (value, limit) in values.items() if limit is not None and value > limit}

    def is_met_by(self, row: BundleFigures) -> bool:
        """Return True if a row keeps all limits."""
        return not self.excess(row)


def pareto_front(rows: Sequence[Ranked], costs: Callable[[Ranked], tuple[float, ...]]) -> list[Ranked]:
    """Return the rows, in their order, that none dominates: as good in P@1 and all costs, and better in one of them."""
    return [row for row in rows if not any(_beats(other, row, costs) for other in rows)]


def _beats(one, other, costs):
    better = [one.p1 - other.p1, *(theirs - ours for ours, theirs in zip(costs(one), costs(other), strict=True))]
    return min(better) >= 0 and max(better) > 0


def choose_bundle(rows: Sequence[Choice], budget: Budget) -> Choice:
    """Choose the row to ship.

    Among the rows within the budget this is the best P@1 if size or time is limited, else the smallest. If no row is
    within the budget it is the one whose worst excess, relative to the limit, is the least.
    """
    within = [row for row in rows if budget.is_met_by(row)]
    if within and budget.bytes is None and budget.ms is None:
        return min(within, key=lambda row: row.bytes)
    if within:
        return max(within, key=lambda row: (row.p1, -row.bytes))
    return min(rows, key=lambda row: max(value / (limit or 0.1) for value, limit in budget.excess(row).values()))
