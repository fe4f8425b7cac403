"""Encode the texts of many requests together, in one thread, and count them: the figures of a server for Prometheus."""

from __future__ import annotations

import asyncio
import time
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from typing import TypeAlias, TypeVar

import numpy as np
from prometheus_client import (
    CollectorRegistry,
    Counter,
    Gauge,
    Histogram,
    ProcessCollector,
    disable_created_metrics,
    generate_latest,
)

from ...system.text import normalized_length
from ...system.types import Floats, Integers, Role
from .limits import BATCH_CHARACTERS, BATCH_TEXTS, LOT_SECONDS, busy_refusal

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


@dataclass(frozen=True)
class Vectors:
    """Embeddings of texts, float32 `(n, d)`, and the number of tokens of each text, int64 `(n,)`."""

    rows: Floats
    pieces: Integers


# A function from texts and their role to their vectors, which runs in the thread of the encoder.
Encode: TypeAlias = Callable[[Sequence[str], Role], Vectors]


@dataclass(eq=False)
class _Job:
    """The texts of a request, with `done` the vectors of those before `at`, and `number` its place in the queue."""

    texts: Sequence[str]
    role: Role
    answer: asyncio.Future[Vectors]
    number: int
    at: int = 0
    done: list[Vectors] = field(default_factory=list)

    def take(self, texts: int, characters: int) -> list[str]:
        """Take the next texts that fit into the rest of a batch. The first text of a batch fits however long it is."""
        part: list[str] = []
        while self.at < len(self.texts) and len(part) < texts:
            characters -= normalized_length(self.texts[self.at])
            if characters < 0 and (part or texts < BATCH_TEXTS):
                break
            part.append(self.texts[self.at])
            self.at += 1
        return part

    def add(self, vectors: Vectors) -> None:
        """Keep the vectors of a part. With the last part, all vectors are handed over."""
        self.done.append(vectors)
        if sum(len(part.rows) for part in self.done) == len(self.texts) and not self.answer.done():
            rows, pieces = ([getattr(part, name) for part in self.done] for name in ("rows", "pieces"))
            self.answer.set_result(Vectors(np.concatenate(rows), np.concatenate(pieces)))

    def fail(self, error: Exception) -> None:
        """Hand over an error in place of the vectors."""
        if not self.answer.done():
            self.answer.set_exception(error)


# The requests of a batch, each with the texts that it contributes.
_Parts: TypeAlias = list[tuple[_Job, list[str]]]


class Batcher:
    """A queue of texts that one thread encodes in batches, by a function of texts and their role."""

    def __init__(self, encode: Encode, most: int, metrics: Metrics) -> None:
        self._encode, self._most, self._metrics = encode, most, metrics
        self._lines: dict[Role, deque[_Job]] = {"question": deque(), "document": deque()}
        self._thread = ThreadPoolExecutor(1, "encoder")
        self._numbers, self.waiting = 0, 0
        self._ready = asyncio.Event()

    async def encode(self, texts: Sequence[str], role: Role) -> Vectors:
        """Encode texts. A request that is cancelled leaves the queue.

        Raises:
            Refusal: If too many texts wait already.
        """
        if self.waiting and self.waiting + len(texts) > self._most:
            raise busy_refusal(f"{self.waiting} texts wait")
        job = _Job(texts, role, asyncio.get_running_loop().create_future(), 0)
        self.waiting += len(texts)
        self._line_up(job)
        self._ready.set()
        try:
            return await job.answer
        finally:
            self.waiting -= len(texts) - job.at
            job.at = len(texts)

    def _line_up(self, job):
        self._numbers += 1
        job.number = self._numbers
        self._lines[job.role].append(job)

    async def run(self) -> None:
        """Encode the waiting texts until the coroutine is cancelled."""
        try:
            while True:
                self._ready.clear()
                if parts := self._next_batch():
                    await self._encode_parts(parts)
                else:
                    await self._ready.wait()
        finally:
            self._thread.shutdown(wait=False, cancel_futures=True)

    def _next_batch(self) -> _Parts:
        """Collect parts of requests that share the first one's role; one with more texts goes to the queue's end."""
        # Requests whose client has gone, or whose first part failed, leave the queue.
        self._lines = {role: deque(job for job in line if not job.answer.done()) for role, line in self._lines.items()}
        line = min(self._lines.values(), key=lambda line: line[0].number if line else float("inf"))
        parts: _Parts = []
        texts, characters = BATCH_TEXTS, BATCH_CHARACTERS
        while line and texts > 0 and (part := line[0].take(texts, characters)):
            job = line.popleft()
            parts.append((job, part))
            self.waiting -= len(part)
            texts, characters = texts - len(part), characters - sum(map(normalized_length, part))
            if job.at < len(job.texts):
                self._line_up(job)
        return parts

    async def _encode_parts(self, parts: _Parts) -> None:
        """Encode all parts in one pass.

        If that fails, encode each apart, so that a request fails for its own texts only.
        """
        texts = [text for _, part in parts for text in part]
        try:
            vectors = await self._in_thread(texts, parts[0][0].role)
        except Exception as error:
            if len(parts) == 1:
                parts[0][0].fail(error)
                return
            for one in parts:
                await self._encode_parts([one])
            return
        start = 0
        for job, part in parts:
            rows = slice(start, start + len(part))
            job.add(Vectors(vectors.rows[rows], vectors.pieces[rows]))
            start = rows.stop

    async def _in_thread(self, texts: Sequence[str], role: Role) -> Vectors:
        loop = asyncio.get_running_loop()
        vectors = await loop.run_in_executor(self._thread, self._encode, texts, role)
        self._metrics.count_encoded(texts, role, int(vectors.pieces.sum()))
        return vectors


Part = TypeVar("Part")


class WorkSlices:
    """Threads that do work in slices of `LOT_SECONDS`, or of a single part that takes longer.

    Slices wait in a queue, one of each work at a time. First slices have threads of their own: work that is done within
    one slice never waits for longer work.
    """

    def __init__(self, threads: int) -> None:
        self._first, self._further = ThreadPoolExecutor(threads, "search"), ThreadPoolExecutor(threads, "search-on")

    async def parts(self, work: Iterator[Part]) -> list[Part]:
        """Return all parts of some work. If the call is cancelled, no further slice begins."""
        loop = asyncio.get_running_loop()
        parts, ended = await loop.run_in_executor(self._first, _run_slice, work)
        while not ended:
            more, ended = await loop.run_in_executor(self._further, _run_slice, work)
            parts += more
        return parts

    def close(self) -> None:
        """Release the threads, each once its slice is done."""
        for pool in (self._first, self._further):
            pool.shutdown(wait=False, cancel_futures=True)


def _run_slice(work):
    """Return the next parts, and True beside them if they were the last."""
    parts, end = [], time.monotonic() + LOT_SECONDS
    for part in work:
        parts.append(part)
        if time.monotonic() >= end:
            return parts, False
    return parts, True
