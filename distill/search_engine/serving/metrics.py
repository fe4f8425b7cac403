"""The figures of a server in Prometheus' text format: counters, histograms and gauges."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence

from prometheus_client import (
    CollectorRegistry,
    Counter,
    Gauge,
    Histogram,
    ProcessCollector,
    disable_created_metrics,
    generate_latest,
)

from ...system.types import Role

TEXT = "text/plain; version=0.0.4; charset=utf-8"
SECONDS = (0.001, 0.0025, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0)
TEXTS = (1, 2, 4, 8, 16, 32, 64)
# A time of creation for each counter would double the lines.
disable_created_metrics()


class Metrics:
    """The figures of a server since it started. `begun` is that time in seconds since 1970."""

    def __init__(self) -> None:
        self.begun = time.time()
        # Each server has its own, as tests start several in a process.
        self._registry = CollectorRegistry()
        ProcessCollector(registry=self._registry)
        self._requests = self._counter("distill_requests", "Requests, by path and status", ("path", "status"))
        self._texts = self._counter("distill_texts", "Texts that were encoded", ("role",))
        self._pieces = self._counter("distill_pieces", "Pieces of these texts", ("role",))
        self._seconds = self._histogram("distill_request_seconds", "Seconds of a request, its reading within", SECONDS)
        self._batches = self._histogram("distill_batch_texts", "Texts that were encoded at once", TEXTS)

    def gauge(self, name: str, meaning: str, value: Callable[[], float]) -> None:
        """Add a figure that is computed when the metrics are read."""
        Gauge(name, meaning, registry=self._registry).set_function(value)

    def count_encoded(self, texts: Sequence[str], role: Role, pieces: int) -> None:
        self._batches.observe(len(texts))
        self._texts.labels(role).inc(len(texts))
        self._pieces.labels(role).inc(pieces)

    def count_answer(self, path: str, status: int, seconds: float) -> None:
        self._requests.labels(path, str(status)).inc()
        self._seconds.observe(seconds)

    def text(self) -> str:
        """Return all figures in Prometheus' text format."""
        return generate_latest(self._registry).decode()

    def _counter(self, name, meaning, labels):
        return Counter(name, meaning, labels, registry=self._registry)

    def _histogram(self, name, meaning, bounds):
        return Histogram(name, meaning, buckets=bounds, registry=self._registry)
