"""Locks on what only one process at a time may write: a run's folder, a file of vectors."""

from __future__ import annotations

import errno
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from ..errors import InputError
from .types import File

LOCK = ".lock"


@contextmanager
def lock_folder(folder: File) -> Iterator[None]:
    """Hold the folder of a run or a search. Raises `InputError` if another process holds it."""
    with hold_lock(Path(folder) / LOCK, _in_use(folder)):
        yield


def require_free(folder: File) -> None:
    """Raise `InputError` if another process holds the folder."""
    with lock_folder(folder):
        pass


def _in_use(folder):
    return f"{folder}: another process is at work on this run; wait for its end or stop it, or take another --name"


@contextmanager
def hold_lock(path: File, in_use: str) -> Iterator[None]:
    """Hold the lock at a path, which is released as soon as the process ends, however it ends.

    The file is removed then, except if the process is killed.

    Raises:
        InputError: If another process holds it, or no file may be made there.
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
