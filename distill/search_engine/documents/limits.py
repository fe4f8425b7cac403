"""The limits of a document: what is read is counted as it comes, and what takes too long is stopped."""

from __future__ import annotations

import ctypes
import sys
import threading
import time
from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import TypeVar

from ...errors import DataError, DistillError, InputError, one_line
from ...system.progress import say

Result = TypeVar("Result")

MEGABYTE = 1_000_000
# Characters from which on the preparation of a text is watched: below, it takes less than a second.
LONG = 20_000
# Seconds until a parser is stopped once more, which may have been where Python passes over every error.
AGAIN = 0.5


@dataclass(frozen=True)
class ReadingLimits:
    """The limits of a document, which is a file, or a record of a file of several.

    Args:
        megabytes: The most megabytes (10^6 bytes) of a document, unpacked. A letter of a table counts as 4 bytes, and
            an element of a DOCX as 600 more.
        seconds: The most seconds of computing until it is read and cut into passages and sentences.

    Example:
        >>> import distill
        >>> distill.ReadingLimits(seconds=5.0).megabytes
        200
    """

    megabytes: float = 200
    seconds: float = 30.0


class _OutOfTime(BaseException):
    """Raised within a parser, and no `Exception`, as parsers catch those."""


class Meter:
    """Counts what is read of a document, and for how long. It begins with the first document of a file."""

    def __init__(self, name: str, limits: ReadingLimits) -> None:
        self._name, self._limits = name, limits
        self.begin()

    def begin(self) -> None:
        """Begin the next document of the file."""
        self._bytes, self._begun = 0, (time.monotonic(), time.process_time())

    def count(self, size: int) -> None:
        """Count bytes, or characters, that were read. Raises `DataError` if the document is beyond a limit."""
        self._bytes += size
        if self._bytes > self._limits.megabytes * MEGABYTE:
            raise self._error(f"larger than {self._limits.megabytes:g} MB once it is read", "megabytes")
        if self._left() < 0:
            raise self._late()

    def count_file(self, path: Path) -> None:
        """Count the bytes of a file that a library reads by itself. Raises `DataError` as `count` does."""
        self.count(path.stat().st_size)

    def watch(self, work: Callable[[], Result], place: str = "") -> Result:
        """Return what a function returns; raise `DataError` for the document at `place` once its time is over."""
        working, thrown, before = threading.Lock(), threading.Event(), sys.unraisablehook
        working.acquire()
        stopper = threading.Thread(target=self._stop, args=(threading.get_ident(), working, thrown), daemon=True)
        # What comes within a `__del__` is passed over, and Python would tell it.
        sys.unraisablehook = lambda raised: None if raised.exc_type is _OutOfTime else before(raised)
        try:
            try:
                stopper.start()
                return work()
            finally:
                _end(stopper, working, thrown)
        except _OutOfTime:
            raise self._late(place) from None
        finally:
            sys.unraisablehook = before

    def _stop(self, thread, working, thrown):
        wait = self._left()
        while not working.acquire(timeout=min(max(wait, 0), threading.TIMEOUT_MAX)):
            wait = self._left()
            if wait <= 0:
                thrown.set()
                _throw(thread)
                wait = AGAIN

    def _left(self):
        """Return the seconds that are left. Those in which other programs have the processor do not count."""
        return self._limits.seconds - min(time.monotonic() - self._begun[0], time.process_time() - self._begun[1])

    def _late(self, place=""):
        return self._error(f"not read within {self._limits.seconds:g} s", "seconds", place)

    def _error(self, problem, limit, place=""):
        return DataError(
            f"{place or self._name}: {problem}, the limit of a document (--most-{limit}); split it, or raise the limit"
        )


def _end(stopper, working, thrown):
    """End the thread that stops this one, after which nothing comes. Until then it may stop this function, too."""
    ended = False
    while True:
        try:
            if not ended:
                if working.locked():
                    working.release()
                if stopper.ident:
                    stopper.join()
                ended = True
                if not thrown.is_set():
                    return
                # What was thrown and has not come yet would come later, anywhere. Another takes its place and comes
                # now: CPython 3.11 would look for one that was taken back, for ever where something traces.
                _throw(threading.get_ident())
            time.sleep(0)
        except _OutOfTime:
            if ended:
                return


def _throw(thread):
    """Raise `_OutOfTime` in a thread, at the next step of its Python code."""
    ctypes.pythonapi.PyThreadState_SetAsyncExc(ctypes.c_ulong(thread), ctypes.py_object(_OutOfTime))


# Of more the number is said.
MOST = 20


class SkippedFiles:
    """Collects malformed files and records, with their places, and files of other formats.

    If `strict` is true, the first malformed one raises an error instead. `unread` are the places, as `locate_file` has
    them, of files and folders that are there but were not read in whole.
    """

    def __init__(self, strict: bool = False) -> None:
        self.strict = strict
        self.count = 0
        self.notes = 0
        self.unread: set[str] = set()
        self._first: DistillError | None = None
        self._lines: list[str] = []
        self._note_lines: list[str] = []
        self._others: list[str] = []

    def leave_out(self, error: InputError) -> None:
        """Count a file or a record as malformed. Raises the error if strict, or if it is one of wrong usage."""
        if self.strict:
            raise error
        self.count += 1
        self._first = self._first or error
        if len(self._lines) < MOST:
            self._lines.append(one_line(error))

    def note(self, problem: str) -> None:
        """Count a problem with a document that is kept. Raises `DataError` if strict."""
        if self.strict:
            raise DataError(problem)
        self.notes += 1
        if len(self._note_lines) < MOST:
            self._note_lines.append(one_line(problem))

    def other_files(self, folder: Path, endings: Counter[str], unread: Counter[str], extra: str) -> None:
        """Count the files of a folder that have another format, and the folders that are not searched."""
        parts = [f"{_list_endings(endings)}{f'; {extra}' if extra else ''}"] if endings else []
        parts += [f"{count} {what}" for what, count in sorted(unread.items())]
        if parts:
            self._others.append(one_line(f"{folder}: left out {', and '.join(parts)}"))

    def say(self) -> None:
        """Print in a few lines what was left out, on standard error."""
        for line in self._others:
            say(line)
        for what, count, lines in (
            ("left out, as no document can be read of it", self.count, self._lines),
            ("kept, with something wrong", self.notes, self._note_lines),
        ):
            if count:
                more = [f"  and {count - len(lines)} more"] if count > len(lines) else []
                for line in [f"{count} {what}:", *(f"  {line}" for line in lines), *more]:
                    say(line)

    def make_error(self, paths: str) -> DistillError:
        """Return the error for documents of which none could be read: the only error, or the first of several."""
        if self._first is None:
            return DataError(f"{paths}: no documents in it; name files that have some, or a folder")
        if self.count == 1:
            return self._first
        return DataError(f"{self._first}; {self.count - 1} others were left out too, and no document is left")


def _list_endings(endings):
    total = sum(endings.values())
    named = ", ".join(f"{count} {ending or 'without an ending'}" for ending, count in endings.most_common(8))
    more = ", …" if len(endings) > 8 else ""
    return f"{total} file{'s' * (total != 1)} of other formats ({named}{more})"
