"""`log.jsonl`: the events of a run, one JSON object per line."""

from __future__ import annotations

import json
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

from ..system.files import write_text
from ..system.types import File, Json

# The name of the file in the folder of what was trained.
LOG = "log.jsonl"
# The scores of a training's rows, the first before the second.
SCORES = ("p@1", "mrr@10")
# In the row of a start that a training returned, though other weights had better scores.
START_KEPT = "start_kept"


class RunLog:
    """Writes rows `{"event", "seconds" since the start, …}` to a file, or only keeps them in memory without a path."""

    def __init__(self, path: File | None = None, mode: Literal["w", "a"] = "w"):
        self.start = time.perf_counter()
        self.rows: list[dict[str, Json]] = []
        self._file = open(path, mode, encoding="utf-8") if path else None  # noqa: SIM115  closed by `close`

    def write(self, event: str, **fields: Json) -> None:
        """Add a row, which is on disk when the call returns."""
        row = {"event": event, "seconds": round(time.perf_counter() - self.start, 2), **fields}
        self.rows.append(row)
        if self._file:
            self._file.write(_line(row) + "\n")
            self._file.flush()

    def of(self, event: str) -> list[dict[str, Json]]:
        return [row for row in self.rows if row["event"] == event]

    def save(self, path: File) -> None:
        """Write all rows to a file: the log of a training that ends with an encoder's folder."""
        write_text(path, "".join(f"{_line(row)}\n" for row in self.rows))

    def close(self) -> None:
        """Close the file, if there is one."""
        if self._file:
            self._file.close()


def _line(row):
    return json.dumps(row, ensure_ascii=False)


@dataclass(frozen=True)
class Outcome:
    """The result of a training on dev.

    Attributes:
        start: P@1 and MRR@10 of the weights that it began with.
        trained: The best P@1 and MRR@10 of the weights that it trained, or those of the mean that it left.
        epoch: The epoch of `trained`.
        kept_start: Whether it left the weights that it began with, as no others were better, or not surely.
        averaged: The number of epochs whose mean it left, 0 for one epoch.
    """

    steps: int
    start: tuple[float, float]
    trained: tuple[float, float]
    epoch: int
    kept_start: bool
    averaged: int = 0

    def describe(self, stage: str) -> str:
        """Return a line on the training, such as "stage 1: 96 steps, dev P@1 0.893 to 0.911; epoch 2 was kept"."""
        change = f"dev P@1 {self.start[0]:.3f} to {self.trained[0]:.3f}"
        if f"{self.start[0]:.3f}" == f"{self.trained[0]:.3f}":
            change += f", MRR@10 {self.start[1]:.3f} to {self.trained[1]:.3f}"
        one = f"the mean of {self.averaged} epochs" if self.averaged > 1 else f"epoch {self.epoch}"
        return f"{stage}: {self.steps} steps, {change}; {'the start' if self.kept_start else one} was kept"


def read_outcome(rows: Sequence[Mapping[str, Json]]) -> Outcome | None:
    """Read the outcome of a training from its rows in the log, the start's first; None if no step was taken.

    Quantised epochs begin with the best of the others, which has a row of its own as it is scored when it is rounded.
    """
    scored = [row for row in rows if all(name in row for name in SCORES) and START_KEPT not in row]
    phases = [[row for row in scored if row.get("quantised", False) is rounded] for rounded in (False, True)]
    # Of each phase the first row is of weights that it did not train.
    moved = [row for rows in phases for row in rows[1:]]
    if not moved:
        return None
    # `max` takes the first of equal rows, as the training does.
    best = [rows[-1] if "averaged" in rows[-1] else max(rows, key=_scores_of) for rows in phases if rows]
    unmoved = all(row is rows[0] for row, rows in zip(best, filter(None, phases), strict=True))
    trained, returned = max(moved, key=_scores_of) if unmoved else best[-1], any(START_KEPT in row for row in rows)
    return Outcome(
        int(scored[-1]["step"]),
        _scores_of(scored[0]),
        _scores_of(trained),
        int(trained["epoch"]),
        kept_start=unmoved or returned,
        averaged=int(trained.get("averaged", 0)),
    )


def _scores_of(row):
    return tuple(float(row[name]) for name in SCORES)
