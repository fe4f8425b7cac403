"""Do long work in short slices, so that other work comes in between and abandoned work ends early."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import TypeVar

from .limits import LOT_SECONDS

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
