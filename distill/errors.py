"""Errors by kind; the command line turns each into one line and an exit code."""

from __future__ import annotations

import re

# Characters that a terminal would obey, or that turn all that follows round. U+200E and U+200F, which Arabic and Hebrew
# text has, do no more than a letter of their direction.
UNSEEN = re.compile("[\x00-\x09\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069]")
BLANKS = re.compile(r"\s+")
# Characters of a message: its begin, which names the place, and its end, which names the way out.
BEGIN, END = 1500, 500


class DistillError(Exception):
    """A failure that is ours to explain, in one line. `exit_code` is what the command line leaves with."""

    exit_code = 1

    def __str__(self) -> str:
        return one_line(super().__str__())


class InputError(DistillError):
    """The user's input or usage is wrong: nothing was started."""

    exit_code = 2


class DataError(InputError):
    """A data set or a text file that cannot be used; the message names file and place."""


class ConfigError(InputError):
    """A setting that does not exist or has no such value."""


class EncoderError(InputError):
    """An encoder that cannot be found, read or used for what was asked."""


class TranslatorError(InputError):
    """A translator that cannot be found, read or used."""


class ServingError(DistillError):
    """The server cannot have its address."""


class TrainingError(DistillError):
    """Training cannot go on."""


class ExportError(DistillError):
    """The exported artefact is not what the student is."""


class GateError(ExportError):
    """The gate refuses an artefact that runs: it loses more than the settings allow."""


def one_line(text: str | BaseException) -> str:
    """Return a text that may quote anything, fit to be shown: in one line, without control characters, not too long."""
    line = shown(str(text).strip().encode("utf-8", "replace").decode("utf-8"))
    return line if len(line) <= BEGIN + END else f"{line[:BEGIN]} … {line[-END:]}"


def shown(text: str) -> str:
    """Return a text of any origin as a terminal may have it: in one line, without control characters."""
    return visible(BLANKS.sub(" ", text))


def visible(text: str) -> str:
    """Return a text with control characters, but for line breaks, as escapes that no terminal obeys."""
    return UNSEEN.sub(lambda match: f"\\u{ord(match[0]):04x}", text)


def first_line(error: BaseException) -> str:
    """Return the first line of an error's text, or its type's name where it has none."""
    return next(iter(str(error).strip().splitlines()), type(error).__name__)
