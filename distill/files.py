"""Files that are either whole or absent, and JSON that says where it is wrong."""

import json
import os
import shutil
import uuid
from contextlib import contextmanager
from pathlib import Path

from .errors import DataError, InputError, first_line


@contextmanager
def write_aside(path):
    """Yield a temporary path beside `path`; rename it there on success, remove it on any failure.

    Works for a file and for a folder (the caller makes either at the yielded path); a file that is there is replaced.
    Raises `InputError` when the parent folder cannot be made, or `path` is a folder that holds something.
    """
    path = Path(path)
    require_writable(path)
    path.parent.mkdir(parents=True, exist_ok=True)
    aside = path.parent / f".{path.name}.{uuid.uuid4().hex[:8]}"
    try:
        yield aside
        _move(aside, path)
    finally:
        _remove(aside)


def require_writable(path):
    """Raise `InputError` where `path` cannot be written: before the work, not after it."""
    path = Path(path)
    if path.is_dir() and any(path.iterdir()):
        raise InputError(f"{path} is a folder that is not empty; choose another name or remove it")
    parent = next(folder for folder in path.absolute().parents if folder.exists())
    if not parent.is_dir() or not os.access(parent, os.W_OK):
        reason = "no permission" if parent.is_dir() else f"{parent} is not a folder"
        raise InputError(f"cannot write {path}: {reason}; choose a folder you may write to")


def _move(aside, path):
    if path.is_dir() and not aside.is_dir():
        raise InputError(f"{path} is a folder, a file is to be written; choose another name")
    if path.is_dir():
        path.rmdir()
    os.replace(aside, path)


def _remove(path):
    if path.is_dir():
        shutil.rmtree(path, ignore_errors=True)
    else:
        path.unlink(missing_ok=True)


def write_text(path, text):
    with write_aside(path) as aside:
        aside.write_text(text, encoding="utf-8")


def write_json(path, value):
    write_text(path, json.dumps(value, ensure_ascii=False, indent=1) + "\n")


def read_text(path):
    """The text of a UTF-8 file; `DataError` names the file and what is wrong with it."""
    try:
        return Path(path).read_text(encoding="utf-8-sig")
    except UnicodeDecodeError as error:
        raise DataError(f"{path}: not UTF-8 at byte {error.start}; save the file as UTF-8") from error
    except OSError as error:
        raise DataError(f"{path}: cannot be read: {error.strerror}") from error


def read_json(path):
    """The value in a JSON file; `DataError` gives line and column of what is invalid."""
    text = read_text(path)
    try:
        return json.loads(text)
    except json.JSONDecodeError as error:
        raise DataError(f"{path}: invalid JSON at line {error.lineno}, column {error.colno}: {error.msg}") from error
    except (ValueError, RecursionError) as error:
        raise DataError(f"{path}: invalid JSON: {first_line(error)}") from error


def read_jsonl(path):
    """The objects of a JSON Lines file as `[(line number, dict)]`; blank lines are skipped."""
    rows = []
    for number, line in enumerate(read_text(path).split("\n"), start=1):
        if line.strip():
            rows.append((number, _parse_line(path, number, line)))
    return rows


def _parse_line(path, number, line):
    try:
        value = json.loads(line)
    except json.JSONDecodeError as error:
        raise DataError(f"{path}, line {number}: invalid JSON, column {error.colno}: {error.msg}") from error
    except (ValueError, RecursionError) as error:
        raise DataError(f"{path}, line {number}: invalid JSON: {first_line(error)}") from error
    if not isinstance(value, dict):
        raise DataError(f"{path}, line {number}: expected a JSON object, got {type(value).__name__}")
    return value
