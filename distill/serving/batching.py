"""Texts of many requests, encoded together by one thread.

While the encoder works on a batch, what comes meanwhile waits for the next: under load batches grow, and nobody waits
for a batch to fill. A request of many texts is encoded part by part, behind each of which others have their turn.
"""

from __future__ import annotations

import asyncio
from collections import deque
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from typing import TypeAlias

import numpy as np

from ..system.text import normalized_length
from ..system.types import Floats, Integers, Role
from .limits import BATCH_CHARACTERS, BATCH_TEXTS
from .metrics import Metrics
from .refusals import busy


@dataclass(frozen=True)
class Vectors:
    """Vectors of texts, float32 `(n, d)`, and the numbers of pieces that these have, int64 `(n,)`."""

    rows: Floats
    pieces: Integers


# Texts and their role to their vectors, in the thread of the encoder.
Encode: TypeAlias = Callable[[Sequence[str], Role], Vectors]


@dataclass(eq=False)
class _Job:
    """A request's texts, `done` the vectors of those before `at`, and `number`, its place in the line."""

    texts: Sequence[str]
    role: Role
    answer: asyncio.Future[Vectors]
    number: int
    at: int = 0
    done: list[Vectors] = field(default_factory=list)

    def take(self, texts: int, characters: int) -> list[str]:
        """Return the next texts, within what is left of a batch; the first of a batch goes in however long it is."""
        part: list[str] = []
        while self.at < len(self.texts) and len(part) < texts:
            characters -= normalized_length(self.texts[self.at])
            if characters < 0 and (part or texts < BATCH_TEXTS):
                break
            part.append(self.texts[self.at])
            self.at += 1
        return part

    def add(self, vectors: Vectors) -> None:
        """Keep the vectors of a part; the last one's are handed over with all the others."""
        self.done.append(vectors)
        if sum(len(part.rows) for part in self.done) == len(self.texts) and not self.answer.done():
            rows, pieces = ([getattr(part, name) for part in self.done] for name in ("rows", "pieces"))
            self.answer.set_result(Vectors(np.concatenate(rows), np.concatenate(pieces)))

    def fail(self, error: Exception) -> None:
        """Hand over an error in place of the vectors."""
        if not self.answer.done():
            self.answer.set_exception(error)


# Of requests, the texts of each that are in a batch.
_Parts: TypeAlias = list[tuple[_Job, list[str]]]


class Batcher:
    """Encodes by `encode`, in a thread of its own, while `run` runs; at most `most` texts wait."""

    def __init__(self, encode: Encode, most: int, metrics: Metrics) -> None:
        self._encode, self._most, self._metrics = encode, most, metrics
        self._lines: dict[Role, deque[_Job]] = {"question": deque(), "document": deque()}
        self._thread = ThreadPoolExecutor(1, "encoder")
        self._numbers, self.waiting = 0, 0
        self._ready = asyncio.Event()

    async def encode(self, texts: Sequence[str], role: Role) -> Vectors:
        """Return the vectors of texts. Raises `Refusal` where too many wait; who is cancelled leaves the line."""
        if self.waiting and self.waiting + len(texts) > self._most:
            raise busy(f"{self.waiting} texts wait")
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
        """Encode what comes, until it is cancelled."""
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
        """Parts of requests of one role, that of the first in line; a request with more goes to the end of the line."""
        # Who has gone, or has failed with a first part, waits no more.
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
        """One pass of all parts; where it fails, one each, so that a request fails for its own texts alone."""
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
        self._metrics.encoded(texts, role, int(vectors.pieces.sum()))
        return vectors
