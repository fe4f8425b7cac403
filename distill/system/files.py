"""Write files that are either whole or absent, and lock what one process at a time may write."""

from __future__ import annotations

import errno
import json
import os
import re
import shutil
import uuid
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from ..errors import InputError, first_line

if TYPE_CHECKING:
    from .types import File, Json


# A file or folder that is being written beside its place, `.name.0a1b2c3d.aside`.
ASIDE = re.compile(r"\..+\.[0-9a-f]{8}\.aside", re.DOTALL)
# What a write fails by; an error of NumPy's has no number.
WRITING = (None, errno.ENOSPC, errno.EDQUOT, errno.EFBIG, errno.EIO, errno.EROFS)

# Characters of a name that it keeps meanwhile: a name has 255 bytes at most.
MOST_OF_NAME = 50


def cache_folder() -> Path:
    """Return the folder for what is computed once: `$DISTILL_CACHE`, or `distill` in the user's cache folder."""
    chosen = os.environ.get("DISTILL_CACHE")
    return Path(chosen) if chosen else Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "distill"


@contextmanager
def write_aside(path: File, synced: bool = False) -> Iterator[Path]:
    """Provide a temporary path beside `path`, which is renamed to it on success and removed on any failure.

    This works for a file and for a folder, which the caller makes at the temporary path. An existing file is replaced;
    for a symbolic link, its target is. If `synced`, a file, or the one that it replaces, survives a power cut.

    Raises:
        InputError: If the parent folder cannot be made, or `path` is a folder that is not empty, or no regular file.
        OSError: If writing fails, as on a full disk. The error names `path`.
    """
    require_writable(path)
    path = resolve_target(path)
    path.parent.mkdir(parents=True, exist_ok=True)
    aside = path.parent / f".{path.name[:MOST_OF_NAME]}.{uuid.uuid4().hex[:8]}.aside"
    try:
        yield aside
        if synced:
            sync(aside)
        _move(aside, path)
        if synced:
            sync(path.parent)
    except OSError as error:
        if not _concerns(error, aside):
            raise
        if error.errno is None:
            raise OSError(f"{path}: not written whole: {error}") from error
        raise OSError(error.errno, error.strerror, str(path)) from error
    finally:
        remove(aside)


def _concerns(error, aside):
    """Return True for an error of writing at `aside`: its name is part of it, or it has none, as for a file's write."""
    names = [os.fspath(name) for name in (error.filename, error.filename2) if isinstance(name, str | os.PathLike)]
    return any(name.startswith(str(aside)) for name in names) if names else error.errno in WRITING


def find_leftovers(folder: File) -> list[Path]:
    """Return what `write_aside` left in a folder when its process was killed."""
    return [path for path in Path(folder).rglob(".*.aside") if ASIDE.fullmatch(path.name)]


def resolve_target(path: File) -> Path:
    """Return the path that is written under this name; for a symbolic link its target."""
    return Path(os.path.realpath(path)) if os.path.islink(path) else Path(path)


def usable_path(name: File) -> Path:
    """Return the path that a user names. Raises `InputError` if no file can have that name."""
    try:
        os.stat(name)
    except (FileNotFoundError, NotADirectoryError, PermissionError):
        pass
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or first_line(error)
        raise InputError(f"{name}: no file can be called so: {reason}; give another name") from error
    return Path(name)


def list_visible(folder: File, *patterns: str) -> list[Path]:
    """Return the sorted paths of patterns in a folder, without hidden ones such as `._en.json` of macOS."""
    paths = {path for pattern in patterns for path in Path(folder).glob(pattern)}
    return sorted(path for path in paths if not path.name.startswith("."))


def require_inside(folder: File, *patterns: str) -> None:
    """Raise `InputError` for a symbolic link among a folder's files that leads out of it."""
    root = os.path.realpath(folder)
    for path in list_visible(root, *patterns):
        if path.is_symlink() and not Path(os.path.realpath(path)).is_relative_to(root):
            raise InputError(f"{path}: a symbolic link that leads out of its folder; put the file itself there")


def require_writable(path: File) -> None:
    """Raise `InputError` if `path` cannot be written, before the work and not after it."""
    path = usable_path(path)
    if path.exists() and not (path.is_file() or path.is_dir()):
        raise InputError(f"cannot write {path}: it is a device or a pipe, which would be replaced; name a file")
    _require_empty(path)
    parent = next(folder for folder in resolve_target(path).absolute().parents if folder.exists())
    if not parent.is_dir() or not os.access(parent, os.W_OK):
        reason = "no permission" if parent.is_dir() else f"{parent} is not a folder"
        raise InputError(f"cannot write {path}: {reason}; choose a folder you may write to")


def _require_empty(path):
    if path.is_dir() and any(path.iterdir()):
        raise InputError(f"{path} is a folder that is not empty; choose another name or remove it")


def _move(aside, path):
    if path.is_dir() and not aside.is_dir():
        raise InputError(f"{path} is a folder, a file is to be written; choose another name")
    # Another process may have filled it meanwhile.
    _require_empty(path)
    if path.is_dir():
        path.rmdir()
    os.replace(aside, path)


def remove(path: Path) -> None:
    """Remove a file, a folder with its content, or a link itself, if it exists."""
    if path.is_dir() and not path.is_symlink():
        shutil.rmtree(path, ignore_errors=True)
    else:
        path.unlink(missing_ok=True)


def write_text(path: File, text: str, synced: bool = False) -> None:
    """Write a text as UTF-8, with a question mark for what has none; `synced` as for `write_aside`."""
    with write_aside(path, synced) as aside:
        aside.write_text(text, encoding="utf-8", errors="replace")


def write_json(path: File, value: Json, synced: bool = False) -> None:
    """Write an indented JSON file as `write_text` does."""
    write_text(path, json.dumps(value, ensure_ascii=False, indent=1) + "\n", synced)


def sync(path: File) -> None:
    """Flush a file, or a folder's names, to the disk."""
    if os.path.isdir(path) and os.name == "nt":
        return  # Folders are no files there.
    place = os.open(path, os.O_RDONLY)
    try:
        os.fsync(place)
    finally:
        os.close(place)


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
    """Hold the lock at a path, which the end of the process releases too; only if that is killed the file stays."""
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
