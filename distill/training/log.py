"""`log.jsonl`: the events of a run, one JSON object per line, and what they tell of a stage that is over."""

from __future__ import annotations

import json
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Literal, TypeAlias

from ..system.files import write_text
from ..system.reading import read_jsonl
from ..system.types import File, Json

# The name of the file in the folder of what was trained.
LOG = "log.jsonl"
# Scores that a training is judged by, the first before the second.
ScoreName: TypeAlias = Literal["p@1", "mrr@10", "f1", "em"]
JUDGED_BY: tuple[ScoreName, ScoreName] = ("p@1", "mrr@10")
STAGES = ("teacher", "student")
# In a row of a stage that knows by itself whether it returned its start.
START_KEPT = "start_kept"


class RunLog:
    """Writes rows `{"event", "seconds" since the start, …}` to a file, or only keeps them in memory without a path.

    Args:
        path: The file, or None.
        mode: "w" for a new file, "a" to keep what it holds.
    """

    def __init__(self, path: File | None = None, mode: Literal["w", "a"] = "w"):
        self.start = time.perf_counter()
        self.rows: list[dict[str, Json]] = []
        self._file = open(path, mode, encoding="utf-8") if path else None  # noqa: SIM115  closed by `close`

    def write(self, event: str, **fields: Json) -> None:
        """Add a row, which is on disk when the call returns.

        Args:
            event: The name of the event.
            **fields: Plain values.
        """
        row = {"event": event, "seconds": round(time.perf_counter() - self.start, 2), **fields}
        self.rows.append(row)
        if self._file:
            self._file.write(_line(row) + "\n")
            self._file.flush()

    def of(self, event: str) -> list[dict[str, Json]]:
        """Return the rows of an event."""
        return [row for row in self.rows if row["event"] == event]

    def save(self, path: File) -> None:
        """Write all rows to a file: the log of a training that ends with an encoder's folder."""
        write_text(path, "".join(f"{_line(row)}\n" for row in self.rows))

    def close(self) -> None:
        """Close the file, if there is one."""
        if self._file:
            self._file.close()


def read_evaluations(folder: File, stages: Sequence[str] = STAGES) -> list[dict[str, Json]]:
    """Read the evaluations on dev of trainings, the start's first.

    Args:
        folder: The folder of a run, or of an encoder that was trained.
        stages: The stages, whose names are those of their events.

    Returns:
        The rows of the log; none without a log.
    """
    path = Path(folder) / LOG
    rows = (row for _, row in read_jsonl(path)) if path.is_file() else ()
    return [row for row in rows if row["event"] in stages]


def keeps_start(folder: File, stage: str) -> bool | None:
    """Tell whether a stage ended with the weights that it began with, because dev found no better ones.

    Args:
        folder: The folder of a run, or of an encoder that was trained.
        stage: "teacher" or "student".

    Returns:
        True or False, or None if the log has no evaluation of that stage.
    """
    rows = read_evaluations(folder, [stage])
    return is_start_kept(rows) if rows else None


def is_start_kept(rows: Sequence[Mapping[str, Json]]) -> bool:
    """Tell the same from the rows of a stage.

    Of equal evaluations the first is kept. A stage with quantised epochs kept its start if both parts did, and one that
    ends with the mean of its last epochs did not.

    Args:
        rows: The rows of one stage, in order.
    """
    if known := [row[START_KEPT] for row in rows if START_KEPT in row]:
        return bool(known[-1])
    if any(row.get("averaged") for row in rows):
        return False
    parts = ([row for row in rows if bool(row.get("quantised")) == rounded] for rounded in (False, True))
    scores = [[tuple(row.get(name, 0.0) for name in JUDGED_BY) for row in part] for part in parts]
    return all(max(part) == part[0] for part in scores if part)


def _line(row):
    return json.dumps(row, ensure_ascii=False)
