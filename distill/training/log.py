"""`log.jsonl`: what happened in a run, one JSON object a line."""

import json
import time


class RunLog:
    """Writes `{"event", "seconds" since the start, …}` to `path`; with no path it only remembers.

    In mode "a" what `path` holds stays.
    """

    def __init__(self, path=None, mode="w"):
        self.start, self.rows = time.perf_counter(), []
        self._file = open(path, mode, encoding="utf-8") if path else None  # noqa: SIM115  closed by `close`

    def write(self, event, **fields):
        row = {"event": event, "seconds": round(time.perf_counter() - self.start, 2), **fields}
        self.rows.append(row)
        if self._file:
            self._file.write(json.dumps(row, ensure_ascii=False) + "\n")
            self._file.flush()

    def of(self, event):
        return [row for row in self.rows if row["event"] == event]

    def close(self):
        if self._file:
            self._file.close()
