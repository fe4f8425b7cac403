"""Long work in small lots, so that others come between, and so that it ends where nobody waits for it."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import TypeVar

from .limits import LOT_SECONDS

Part = TypeVar("Part")


class Turns:
    """Threads that take the parts of some work in lots of `LOT_SECONDS`, or of one part that takes longer.

    Lots stand in line, one of each work at a time. First lots have threads of their own: what is short enough to be
    done in one waits for no further lot of anything longer.
    """

    def __init__(self, threads: int) -> None:
        self._first, self._further = ThreadPoolExecutor(threads, "search"), ThreadPoolExecutor(threads, "search-on")

    async def parts(self, work: Iterator[Part]) -> list[Part]:
        """Return all parts of some work; where it is cancelled, no lot begins any more."""
        loop = asyncio.get_running_loop()
        parts, ended = await loop.run_in_executor(self._first, _lot, work)
        while not ended:
            more, ended = await loop.run_in_executor(self._further, _lot, work)
            parts += more
        return parts

    def close(self) -> None:
        """Let go of the threads, each once its lot is done."""
        for pool in (self._first, self._further):
            pool.shutdown(wait=False, cancel_futures=True)


def _lot(work):
    """The next parts, and whether they were the last."""
    parts, end = [], time.monotonic() + LOT_SECONDS
    for part in work:
        parts.append(part)
        if time.monotonic() >= end:
            return parts, False
    return parts, True
