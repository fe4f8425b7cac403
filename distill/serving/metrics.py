"""The figures of a server in Prometheus' text format: counters, histograms and gauges."""

from __future__ import annotations

import os
import time
from bisect import bisect_left
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

from ..system.types import Role

TEXT = "text/plain; version=0.0.4; charset=utf-8"
SECONDS = (0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0)
TEXTS = (1, 2, 4, 8, 16, 32, 64)
STATISTICS = Path("/proc/self/statm")


class LabelledCounter:
    """A counter: numbers that only grow, one for each combination of values of its `labels`."""

    def __init__(self, name: str, meaning: str, labels: Sequence[str]) -> None:
        self.name, self.meaning, self.labels = name, meaning, labels
        self.values: Counter[tuple[str, ...]] = Counter()

    def lines(self) -> Iterator[str]:
        """Yield the lines of Prometheus' text format."""
        yield from _header_lines(self.name, self.meaning, "counter")
        for values, number in sorted(self.values.items()):
            yield f"{self.name}{_format_labels(self.labels, values)} {number}"


class Histogram:
    """A histogram: how many observations are at most each of its `bounds`, their number and their sum."""

    def __init__(self, name: str, meaning: str, bounds: Sequence[float]) -> None:
        self.name, self.meaning, self.bounds = name, meaning, bounds
        self._counts, self._sum = [0] * (len(bounds) + 1), 0.0

    def observe(self, value: float) -> None:
        """Count an observation."""
        self._counts[bisect_left(self.bounds, value)] += 1
        self._sum += value

    def lines(self) -> Iterator[str]:
        """Yield the lines of Prometheus' text format."""
        yield from _header_lines(self.name, self.meaning, "histogram")
        below = 0
        for bound, number in zip((*self.bounds, "+Inf"), self._counts, strict=True):
            below += number
            yield f'{self.name}_bucket{{le="{bound}"}} {below}'
        yield f"{self.name}_sum {self._sum:.6f}"
        yield f"{self.name}_count {below}"


class Metrics:
    """The figures of a server since it started. `begun` is that time in seconds since 1970."""

    def __init__(self) -> None:
        self.begun = time.time()
        self.requests = LabelledCounter("distill_requests_total", "Requests, by path and status", ("path", "status"))
        self.texts = LabelledCounter("distill_texts_total", "Texts that were encoded", ("role",))
        self.pieces = LabelledCounter("distill_pieces_total", "Pieces of these texts", ("role",))
        self.seconds = Histogram("distill_request_seconds", "Seconds of a request, its reading within", SECONDS)
        self.batches = Histogram("distill_batch_texts", "Texts that were encoded at once", TEXTS)
        self._gauges: dict[str, tuple[str, Callable[[], float]]] = {
            "process_start_time_seconds": ("Start of the process, seconds since 1970", lambda: round(self.begun, 3)),
            "process_resident_memory_bytes": ("Memory of the process", resident_bytes),
        }

    def gauge(self, name: str, meaning: str, value: Callable[[], float]) -> None:
        """Add a figure that is computed when the metrics are read.

        Args:
            name: The name of the figure.
            meaning: The text that explains it.
            value: A function that returns its present value.
        """
        self._gauges[name] = (meaning, value)

    def count_encoded(self, texts: Sequence[str], role: Role, pieces: int) -> None:
        """Count a batch.

        Args:
            texts: The texts of the batch.
            role: The role of the texts.
            pieces: The number of tokens of all texts.
        """
        self.batches.observe(len(texts))
        self.texts.values[role,] += len(texts)
        self.pieces.values[role,] += pieces

    def count_answer(self, path: str, status: int, seconds: float) -> None:
        """Count a request.

        Args:
            path: The path of the request.
            status: The status of the response.
            seconds: The time that it took.
        """
        self.requests.values[path, str(status)] += 1
        self.seconds.observe(seconds)

    def text(self) -> str:
        """Return all figures in Prometheus' text format."""
        lines = [
            line for one in (self.requests, self.texts, self.pieces, self.seconds, self.batches) for line in one.lines()
        ]
        for name, (meaning, value) in self._gauges.items():
            lines += [*_header_lines(name, meaning, "gauge"), f"{name} {value()}"]
        return "\n".join([*lines, ""])


def resident_bytes() -> int:
    """Return the memory of this process in bytes, or 0 on systems that do not report it as Linux does."""
    if not STATISTICS.exists():
        return 0
    return int(STATISTICS.read_text(encoding="ascii").split()[1]) * os.sysconf("SC_PAGE_SIZE")


def _header_lines(name, meaning, kind):
    return [f"# HELP {name} {meaning}", f"# TYPE {name} {kind}"]


def _format_labels(names, values):
    return "{" + ",".join(f'{name}="{value}"' for name, value in zip(names, values, strict=True)) + "}"
