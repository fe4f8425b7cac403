"""`log.jsonl`: the events of a run, one JSON object per line."""

from __future__ import annotations

import json
import time
from typing import Literal

from ..system.files import write_text
from ..system.types import File, Json

# The name of the file in the folder of what was trained.
LOG = "log.jsonl"


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


def _line(row):
    return json.dumps(row, ensure_ascii=False)
