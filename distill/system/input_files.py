"""Read text, JSON and JSON Lines, with file, line and column in every error, and check the form of values."""

from __future__ import annotations

import codecs
import json
import math
import re
import sys
from collections.abc import Callable, Iterator, Mapping
from typing import TYPE_CHECKING, TypeAlias, Union

from ..errors import DataError, InputError, first_line
from .text import make_well_formed

if TYPE_CHECKING:
    from .types import File, Json

NUMBER = (int, float)
# The type, or the types, of what each name holds, or such a form again.
Form: TypeAlias = Mapping[str, Union[type, "tuple[type, ...]", "Form"]]
SURROGATE = re.compile(r"\\u[dD][89a-fA-F]")
# What errors="surrogateescape" makes of a byte that is not UTF-8.
NOT_UTF8 = re.compile("[\udc80-\udcff]")
UTF16 = (codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)
GZIP = b"\x1f\x8b"
# Characters that are read at a time where they are counted.
PART = 1 << 20
# Counts characters that were read.
Count: TypeAlias = Callable[[int], None]


def read_text(path: File, count: Count | None = None) -> str:
    """Return the text of a UTF-8 file; what `count` raises at the characters of a part ends the reading."""
    try:
        with open(path, encoding="utf-8-sig") as file:
            _refuse_foreign(path, file)
            return "".join(_decode_file(path, file, _counted_parts(file, count))) if count else file.read()
    except UnicodeDecodeError as error:
        raise _not_utf8(path, error.start) from error
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or first_line(error)
        raise DataError(f"{path}: cannot be read: {reason}") from error


def _refuse_foreign(path, file):
    """Raise `DataError` for a file of gzip, or of UTF-16, which its mark tells or half a letter that is zero."""
    begin = file.buffer.peek(2)[:2]
    if begin == GZIP:
        raise DataError(f"{path}: compressed by gzip; unpack it and give the text file")
    if begin in UTF16 or (len(begin) == 2 and begin.count(0) == 1):
        raise DataError(f"{path}: UTF-16 and not UTF-8; save the file as UTF-8")


def _not_utf8(path, byte):
    return DataError(f"{path}: not UTF-8 at byte {byte}; save the file as UTF-8")


def decode_text(path: File, content: bytes) -> str:
    """Decode the bytes of a UTF-8 file. Raises `DataError` if they are not UTF-8."""
    try:
        return content.decode("utf-8")
    except UnicodeDecodeError as error:
        raise _not_utf8(path, error.start) from error


def read_json(path: File) -> Json:
    """Return the value in a JSON file. Raises `DataError` with the line and column of what is invalid."""
    text = read_text(path)
    try:
        return _parse_json(text)
    except json.JSONDecodeError as error:
        raise DataError(f"{path}: invalid JSON at line {error.lineno}, column {error.colno}: {error.msg}") from error
    except (ValueError, RecursionError) as error:
        raise DataError(f"{path}: invalid JSON: {first_line(error)}") from error


def read_jsonl(path: File) -> list[tuple[int, dict[str, Json]]]:
    """Return the objects of a JSON Lines file with their line numbers, without blank lines."""
    return list(iter_jsonl(path))


def iter_jsonl(path: File) -> Iterator[tuple[int, dict[str, Json]]]:
    """Yield the line number and object of each line, but blank ones, of JSON Lines up to a malformed one."""
    for number, line in enumerate(iter_lines(path), start=1):
        if line.strip():
            yield number, parse_line(path, number, line)


def iter_lines(
    path: File, newline: str | None = None, errors: str = "strict", count: Count | None = None
) -> Iterator[str]:
    """Yield the lines of a UTF-8 file, by the line ends and errors of `open`; long lines are counted in parts."""
    try:
        with open(path, encoding="utf-8-sig", newline=newline, errors=errors) as file:
            _refuse_foreign(path, file)
            yield from _decode_file(path, file, _counted_lines(file, count) if count else file)
    except OSError as error:
        raise DataError(f"{path}: cannot be read: {error.strerror}") from error


def _counted_parts(file, count):
    while part := file.read(PART):
        count(len(part))
        yield part


def _counted_lines(file, count):
    parts = []
    while part := file.readline(PART):
        count(len(part))
        parts.append(part)
        if len(part) < PART or part.endswith("\n"):
            # The parts are not held beside the line.
            line, parts = "".join(parts), []
            yield line
    if parts:
        yield "".join(parts)


def _decode_file(path, file, parts):
    try:
        yield from parts
    except UnicodeDecodeError as error:
        # The error counts from the start of what was being decoded, which ends where the file has been read to.
        byte = file.buffer.tell() - len(error.object) + error.start
        raise _not_utf8(path, byte) from error


def stdin_lines() -> Iterator[str]:
    """Yield the lines of standard input as they come, UTF-8 whatever the locale."""
    if sys.stdin is None:
        raise InputError("standard input is closed; give a text, or lines by a pipe or < FILE")
    if hasattr(sys.stdin, "reconfigure"):
        sys.stdin.reconfigure(encoding="utf-8-sig", errors="surrogateescape")
    for number, line in enumerate(sys.stdin, start=1):
        if NOT_UTF8.search(line):
            raise DataError(f"standard input, line {number}: not UTF-8; save the text as UTF-8")
        yield line


def _parse_json(text):
    """Parse a JSON text, with U+FFFD for lone surrogates, and `ValueError` for NaN and Infinity."""
    value = json.loads(text, parse_constant=_not_finite, parse_float=_finite)
    return _mend_surrogates(value) if SURROGATE.search(text) else value


def _not_finite(name):
    raise ValueError(f"{name} is no number of JSON; write null in its place")


def _finite(digits):
    number = float(digits)
    return number if math.isfinite(number) else _not_finite(digits)


def _mend_surrogates(value):
    if isinstance(value, dict):
        return {_mend_surrogates(name): _mend_surrogates(part) for name, part in value.items()}
    if isinstance(value, list):
        return [_mend_surrogates(part) for part in value]
    return make_well_formed(value) if isinstance(value, str) else value


def parse_line(path: File, number: int, line: str) -> dict[str, Json]:
    """Return the object in a line of a JSON Lines file. Raises `DataError` if the line is malformed."""
    try:
        value = _parse_json(line)
    except json.JSONDecodeError as error:
        raise DataError(f"{path}, line {number}: invalid JSON, column {error.colno}: {error.msg}") from error
    except (ValueError, RecursionError) as error:
        raise DataError(f"{path}, line {number}: invalid JSON: {first_line(error)}") from error
    if not isinstance(value, dict):
        raise DataError(f"{path}, line {number}: expected a JSON object, got {type(value).__name__}")
    return value


def require_form(place: File, value: Json, form: Form) -> None:
    """Require that a nested value has a form. Raises `DataError` if something is missing or of another type."""
    if not isinstance(value, dict):
        raise DataError(f"{place}: expected an object, got {type(value).__name__}; was it written by `distill run`?")
    for name, wanted in form.items():
        if name not in value:
            raise DataError(f"{place}: {name!r} is missing; was it written by a `distill run` that came to its end?")
        if isinstance(wanted, Mapping):
            require_form(f"{place}, {name}", value[name], wanted)
        elif not isinstance(value[name], wanted):
            raise DataError(f"{place}: {name!r} is of another type than expected: {type(value[name]).__name__}")
