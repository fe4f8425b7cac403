"""Files that are either whole or absent, and JSON that says where it is wrong."""

import json
import os
import re
import shutil
import uuid
from contextlib import contextmanager
from pathlib import Path

from .errors import DataError, InputError, first_line
from .tokenizer import well_formed

# What is being written beside its place, `.name.0a1b2c3d.aside`.
ASIDE = re.compile(r"\..+\.[0-9a-f]{8}\.aside", re.DOTALL)
SURROGATE = re.compile(r"\\u[dD][89a-fA-F]")


@contextmanager
def write_aside(path):
    """Yield a temporary path beside `path`; rename it there on success, remove it on any failure.

    Works for a file and for a folder (the caller makes either at the yielded path); a file that is there is replaced,
    and of a symbolic link what it leads to.
    Raises `InputError` when the parent folder cannot be made, or `path` is a folder that holds something, or no file.
    """
    require_writable(path)
    path = target(path)
    path.parent.mkdir(parents=True, exist_ok=True)
    aside = path.parent / f".{path.name}.{uuid.uuid4().hex[:8]}.aside"
    try:
        yield aside
        _move(aside, path)
    finally:
        remove(aside)


def leftovers(folder):
    """What `write_aside` left in a folder when its process was killed."""
    return [path for path in Path(folder).rglob(".*.aside") if ASIDE.fullmatch(path.name)]


def target(path):
    """The `Path` that is written where this one is named: of a symbolic link what it leads to."""
    return Path(os.path.realpath(path)) if os.path.islink(path) else Path(path)


def named(name):
    """The `Path` that a user names. Raises `InputError` where no file can be called so."""
    try:
        os.stat(name)
    except (FileNotFoundError, NotADirectoryError, PermissionError):
        pass
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or first_line(error)
        raise InputError(f"{name}: no file can be called so: {reason}; give another name") from error
    return Path(name)


def require_inside(folder, *patterns):
    """Raise `InputError` for a symbolic link among a folder's files that leads out of it."""
    root = os.path.realpath(folder)
    for path in (path for pattern in patterns for path in sorted(Path(root).glob(pattern))):
        if path.is_symlink() and not Path(os.path.realpath(path)).is_relative_to(root):
            raise InputError(f"{path}: a symbolic link that leads out of its folder; put the file itself there")


def require_writable(path):
    """Raise `InputError` where `path` cannot be written: before the work, not after it."""
    path = named(path)
    if path.exists() and not (path.is_file() or path.is_dir()):
        raise InputError(f"cannot write {path}: it is a device or a pipe, which would be replaced; name a file")
    if path.is_dir() and any(path.iterdir()):
        raise InputError(f"{path} is a folder that is not empty; choose another name or remove it")
    parent = next(folder for folder in target(path).absolute().parents if folder.exists())
    if not parent.is_dir() or not os.access(parent, os.W_OK):
        reason = "no permission" if parent.is_dir() else f"{parent} is not a folder"
        raise InputError(f"cannot write {path}: {reason}; choose a folder you may write to")


def _move(aside, path):
    if path.is_dir() and not aside.is_dir():
        raise InputError(f"{path} is a folder, a file is to be written; choose another name")
    if path.is_dir():
        path.rmdir()
    os.replace(aside, path)


def remove(path):
    """Remove a file, a folder with all in it, or a link itself, where there is one."""
    if path.is_dir() and not path.is_symlink():
        shutil.rmtree(path, ignore_errors=True)
    else:
        path.unlink(missing_ok=True)


def write_text(path, text, synced=False):
    """Write a text as UTF-8; what has no form in it, as a path may, is a question mark.

    It is there after a power cut where it was `synced`, which takes some milliseconds.
    """
    with write_aside(path) as aside:
        aside.write_text(text, encoding="utf-8", errors="replace")
        if synced:
            sync(aside)
    if synced:
        sync(target(path).parent)


def write_json(path, value, synced=False):
    write_text(path, json.dumps(value, ensure_ascii=False, indent=1) + "\n", synced)


def sync(path):
    """Have the system put a file, or a folder's names, on the disk."""
    if os.path.isdir(path) and os.name == "nt":
        return  # Folders are no files there.
    place = os.open(path, os.O_RDONLY)
    try:
        os.fsync(place)
    finally:
        os.close(place)


def read_text(path):
    """The text of a UTF-8 file; `DataError` names the file and what is wrong with it."""
    try:
        return Path(path).read_text(encoding="utf-8-sig")
    except UnicodeDecodeError as error:
        raise _not_utf8(path, error.start) from error
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or first_line(error)
        raise DataError(f"{path}: cannot be read: {reason}") from error


def _not_utf8(path, byte):
    return DataError(f"{path}: not UTF-8 at byte {byte}; save the file as UTF-8")


def decoded(path, content):
    """Bytes of a UTF-8 file as text; `DataError` as `read_text`'s."""
    try:
        return content.decode("utf-8")
    except UnicodeDecodeError as error:
        raise _not_utf8(path, error.start) from error


def read_json(path):
    """The value in a JSON file; `DataError` gives line and column of what is invalid."""
    text = read_text(path)
    try:
        return _loads(text)
    except json.JSONDecodeError as error:
        raise DataError(f"{path}: invalid JSON at line {error.lineno}, column {error.colno}: {error.msg}") from error
    except (ValueError, RecursionError) as error:
        raise DataError(f"{path}: invalid JSON: {first_line(error)}") from error


def read_jsonl(path):
    """The objects of a JSON Lines file as `[(line number, dict)]`; blank lines are skipped."""
    return list(iter_jsonl(path))


def iter_jsonl(path):
    """Yield (line number, dict) of a JSON Lines file, holding one line at a time; blank lines are skipped.

    Raises `DataError` as it comes to what is wrong: what stands before it has been yielded by then.
    """
    for number, line in enumerate(_iter_lines(path), start=1):
        if line.strip():
            yield number, parse_line(path, number, line)


def _iter_lines(path):
    try:
        with open(path, encoding="utf-8-sig") as file:
            yield from _decoded(path, file)
    except OSError as error:
        raise DataError(f"{path}: cannot be read: {error.strerror}") from error


def _decoded(path, file):
    try:
        yield from file
    except UnicodeDecodeError as error:
        # The error counts from the start of what was being decoded, which ends where the file has been read to.
        byte = file.buffer.tell() - len(error.object) + error.start
        raise _not_utf8(path, byte) from error


def _loads(text):
    """The value of a JSON text; a lone surrogate, which an escape may say and UTF-8 has no form of, becomes U+FFFD."""
    value = json.loads(text)
    return _mended(value) if SURROGATE.search(text) else value


def _mended(value):
    if isinstance(value, dict):
        return {_mended(name): _mended(part) for name, part in value.items()}
    if isinstance(value, list):
        return [_mended(part) for part in value]
    return well_formed(value) if isinstance(value, str) else value


def parse_line(path, number, line):
    try:
        value = _loads(line)
    except json.JSONDecodeError as error:
        raise DataError(f"{path}, line {number}: invalid JSON, column {error.colno}: {error.msg}") from error
    except (ValueError, RecursionError) as error:
        raise DataError(f"{path}, line {number}: invalid JSON: {first_line(error)}") from error
    if not isinstance(value, dict):
        raise DataError(f"{path}, line {number}: expected a JSON object, got {type(value).__name__}")
    return value
