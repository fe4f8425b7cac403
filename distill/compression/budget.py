"""What a compressed encoder may cost, and which of several is the one to ship."""

import re
from dataclasses import dataclass

from ..errors import ConfigError

UNITS = {"": 1, "B": 1, "KB": 1e3, "MB": 1e6, "GB": 1e9}
SIZE = re.compile(r"(\d+(?:\.\d+)?)\s*([KMG]?B?)", re.IGNORECASE)


def bytes_of(text):
    """`10MB` -> 10,000,000; a number alone counts bytes. Raises `ConfigError`."""
    match = SIZE.fullmatch(text.strip())
    unit = match[2].upper() if match else ""
    size = float(match[1]) * UNITS[unit if unit in UNITS else f"{unit}B"] if match else 0.0
    if not 0 < size < float("inf"):
        raise ConfigError(f"--max-size: expected a size such as 10MB or 500KB, got {text!r}")
    return int(size)


@dataclass(frozen=True)
class Budget:
    """The most bytes on disk, milliseconds a query (median, tokenize + encode) and points of mean P@1 lost.

    None where there is no limit. A drop below `drop` is always asked for.
    """

    bytes: int | None = None
    ms: float | None = None
    drop: float = 1.0

    def excess(self, row):
        """`{name: (value, limit)}` of the limits that a row, `{"bytes", "ms", "drop"}`, does not keep."""
        limits = {"bytes": self.bytes, "ms": self.ms, "drop": self.drop}
        return {name: (row[name], limit) for name, limit in limits.items() if limit is not None and row[name] > limit}

    def met(self, row):
        return not self.excess(row)


def front(rows, costs=("bytes", "ms")):
    """The rows that no other beats, in their order: as good in P@1 and in every cost, and better in one."""
    return [row for row in rows if not any(_beats(other, row, costs) for other in rows)]


def _beats(one, other, costs):
    better = [one["p@1"] - other["p@1"], *(other[cost] - one[cost] for cost in costs)]
    return min(better) >= 0 and max(better) > 0


def choose(rows, budget):
    """The row to ship: of those within the budget the best P@1 where size or time is limited, else the smallest.

    Where none is within it the one that is nearest: its worst excess, relative to the limit, is the least.
    """
    within = [row for row in rows if budget.met(row)]
    if within and budget.bytes is None and budget.ms is None:
        return min(within, key=lambda row: row["bytes"])
    if within:
        return max(within, key=lambda row: (row["p@1"], -row["bytes"]))
    return min(rows, key=lambda row: max(value / (limit or 0.1) for value, limit in budget.excess(row).values()))
