"""Report what was left out while reading documents."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

from ...errors import DataError, DistillError, InputError, one_line
from ...system.progress import say

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
        """Count the files of a folder that have another format, and the folders that are not searched.

        Args:
            extra: The extra that can read some of them, or empty.
        """
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
