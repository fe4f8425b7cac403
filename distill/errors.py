"""Errors by kind. The command line turns each into one line and an exit code."""

from __future__ import annotations

import re
import sys

# Characters that a terminal would obey, or that reverse the direction of all text that follows. U+200E and U+200F,
# which Arabic and Hebrew text uses, do no more than a letter of their direction.
UNSEEN = re.compile("[\x00-\x09\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069]")
BLANKS = re.compile(r"\s+")
# The lengths that are kept of a long message: its beginning, which names the place, and its end, which names the way
# out.
BEGIN, END = 1500, 500


class DistillError(Exception):
    """A failure with an explanation in one line. `exit_code` is the exit code of the command line.

    Example:
        >>> import distill
        >>> try:
        ...     distill.load_encoder("no-such-encoder")
        ... except distill.DistillError as error:
        ...     error.exit_code
        2
    """

    exit_code = 1

    def __str__(self) -> str:
        return one_line(super().__str__())


class InputError(DistillError):
    """Wrong input or wrong usage, which was noticed before any work began."""

    exit_code = 2


class DataError(InputError):
    """A data set or text file that cannot be used. The message names file and place."""


class ConfigError(InputError):
    """A setting that does not exist, or a value that it cannot have."""


class EncoderError(InputError):
    """An encoder that cannot be found, read or used for its purpose."""


class TranslatorError(InputError):
    """A translator that cannot be found, read or used."""


class ServingError(DistillError):
    """A server that cannot have its address."""


class TrainingError(DistillError):
    """Training that cannot continue."""


class ExportError(DistillError):
    """An exported artefact that does not do what the student does."""


class GateError(ExportError):
    """An artefact that runs but is refused by the gate, because it loses more quality than the settings allow."""


def one_line(text: str | BaseException) -> str:
    """Make a text safe to show as a message: one line, without control characters, and not too long."""
    line = make_printable(str(text).strip().encode("utf-8", "replace").decode("utf-8"))
    return line if len(line) <= BEGIN + END else f"{line[:BEGIN]} … {line[-END:]}"


def make_printable(text: str) -> str:
    """Make a text of any origin safe for a terminal: one line, without control characters."""
    return escape_controls(BLANKS.sub(" ", text))


def escape_controls(text: str) -> str:
    """Replace control characters except line breaks with escapes that no terminal obeys."""
    return UNSEEN.sub(lambda match: f"\\u{ord(match[0]):04x}", text)


def first_line(error: BaseException) -> str:
    """Return the first line of an error's text, or the name of its type if it has no text.

    What Python says of too deep a recursion, and of too long a number, would tell a user nothing of their file.
    """
    if isinstance(error, RecursionError):
        return "its parts are nested too deeply, one within another"
    if isinstance(error, ValueError) and "sys.set_int_max_str_digits" in str(error):
        return f"a whole number has more than {sys.get_int_max_str_digits()} digits; write it as a text"
    return next(iter(str(error).strip().splitlines()), type(error).__name__)
