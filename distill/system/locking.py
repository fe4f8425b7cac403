"""Locks on what one process at a time may write: a run's folder, a file of vectors."""

from __future__ import annotations

import errno
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from ..errors import InputError
from .types import File

LOCK = ".lock"


@contextmanager
def locked(folder: File) -> Iterator[None]:
    """Hold a run's folder, or that of a search. Raises `InputError`."""
    with held(Path(folder) / LOCK, _in_use(folder)):
        yield


def require_free(folder: File) -> None:
    """Raise `InputError` where another process holds the folder."""
    with locked(folder):
        pass


def _in_use(folder):
    return f"{folder}: another process is at work on this run; wait for its end or stop it, or take another --name"


@contextmanager
def held(path: File, in_use: str) -> Iterator[None]:
    """Hold the lock at `path`, which is free as soon as the process ends, however it ends; the file goes with it.

    Only a process that is killed leaves the file. Raises `InputError`, with the text `in_use`, where another process
    holds it, and where no file may be made there.
    """
    from filelock import FileLock, Timeout

    lock = FileLock(path, timeout=0)
    try:
        lock.acquire()
    except Timeout as error:
        raise InputError(in_use) from error
    except OSError as error:
        if error.errno not in (errno.EROFS, errno.EACCES, errno.EPERM):
            raise
        place = Path(path).parent
        raise InputError(f"cannot write to {place}: {error.strerror}; choose a folder you may write to") from error
    try:
        yield
    finally:
        Path(path).unlink(missing_ok=True)
        lock.release()
