"""`log.jsonl`: what happened in a run, one JSON object a line."""

from __future__ import annotations

import json
import time
from typing import Literal

from ..system.files import write_text
from ..system.types import File, Json

# The name of the file in the folder of what was trained.
LOG = "log.jsonl"


class RunLog:
    """Writes `{"event", "seconds" since the start, …}` to `path`; with no path it only remembers.

    In mode "a" what `path` holds stays.
    """

    def __init__(self, path: File | None = None, mode: Literal["w", "a"] = "w"):
        self.start = time.perf_counter()
        self.rows: list[dict[str, Json]] = []
        self._file = open(path, mode, encoding="utf-8") if path else None  # noqa: SIM115  closed by `close`

    def write(self, event: str, **fields: Json) -> None:
        """Add a row; what is written is on disk when it returns."""
        row = {"event": event, "seconds": round(time.perf_counter() - self.start, 2), **fields}
        self.rows.append(row)
        if self._file:
            self._file.write(_line(row) + "\n")
            self._file.flush()

    def of(self, event: str) -> list[dict[str, Json]]:
        """The rows of this event."""
        return [row for row in self.rows if row["event"] == event]

    def save(self, path: File) -> None:
        """Write all rows so far to `path`, the log of a training that ends with an encoder's folder."""
        write_text(path, "".join(f"{_line(row)}\n" for row in self.rows))

    def close(self) -> None:
        """Close the file, where there is one."""
        if self._file:
            self._file.close()


def _line(row):
    return json.dumps(row, ensure_ascii=False)
