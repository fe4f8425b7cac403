"""Read documents from files and folders, in the given order."""

from __future__ import annotations

import codecs
import os
import re
import warnings
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path

from pathspec import GitIgnoreSpec

from ...encoders.catalog.bundle import is_artefact
from ...errors import DataError, DistillError, InputError, first_line
from ...export.formats.format import read_label
from ...system.extras import install_command
from ...system.files import usable_path
from ...system.types import File
from .document import Document, Source, locate_file, spell_name
from .formats import PACKAGES, find_reader, is_readable, list_endings
from .limits import LONG, Meter, ReadingLimits, SkippedFiles
from .records import Columns

IGNORED = ".gitignore"
UNREAD = {"node_modules"}
# What Word names the file beside a document that is open.
OPEN = "~$"
NOWHERE = "linked to what is not there"


@dataclass(frozen=True)
class _Rules:
    """The rules of `.gitignore` files by folder, from the outermost in; the last rule that names a path decides."""

    specs: tuple[tuple[Path, GitIgnoreSpec], ...] = ()

    def within(self, folder: Path) -> _Rules:
        file = folder / IGNORED
        if not file.is_file():
            return self
        try:
            # As the names of files are decoded, which need not be UTF-8 either.
            text = file.read_bytes().removeprefix(codecs.BOM_UTF8).decode("utf-8", "surrogateescape")
        except OSError:
            return self
        return _Rules((*self.specs, (folder, _parse_rules(text.replace("\r\n", "\n").split("\n")))))

    def name(self, path: Path, is_folder: bool) -> bool:
        for folder, spec in reversed(self.specs):
            said = spec.check_file(path.relative_to(folder).as_posix() + "/" * is_folder).include
            if said is not None:
                return said
        return False


@dataclass
class _Walk:
    """A walk through a folder, which collects documents and counts other files."""

    root: Path
    skipped: SkippedFiles
    files: list[Path] = field(default_factory=list)
    endings: Counter[str] = field(default_factory=Counter)
    unread: Counter[str] = field(default_factory=Counter)

    def go(self) -> None:
        rules = {self.root: _outer(self.root)}
        for place, folders, files in os.walk(self.root, onerror=self._unreadable):
            here, real = Path(place), Path(os.path.realpath(place))
            inner = rules.pop(here).within(real)
            folders[:] = [name for name in folders if self._is_folder(here / name, inner.name(real / name, True))]
            rules |= {here / name: inner for name in folders}
            for name in files:
                if self._is_file(here / name, inner.name(real / name, False)):
                    self._take(here / name)

    def _take(self, path):
        ending = path.suffix.lower()
        if is_readable(ending):
            self.files.append(path)
        else:
            self.endings[ending] += 1
            # Another installation reads it.
            self.skipped.unread |= {locate_file(path)} if ending in PACKAGES else set()

    def _is_folder(self, path: Path, is_named: bool) -> bool:
        if path.name in UNREAD:
            reason = path.name
        elif path.is_symlink():
            reason = "linked to another folder"
        elif _is_exported(path):
            reason = "exported by distill"
        else:
            reason = _reason(path, is_named)
        self.unread.update([reason] if reason else [])
        return not reason

    def _is_file(self, path: Path, is_named: bool) -> bool:
        reason = _reason(path, is_named)
        if not reason and not os.path.isfile(path):
            reason = self._lose(path)
        # Hidden files of other formats are a system's, and no news.
        self.unread.update([reason] if reason == NOWHERE or (reason and is_readable(path.suffix.lower())) else [])
        return not reason

    def _lose(self, path):
        """Note what cannot be read now, and return why. What is behind a link may be on a disk that is not mounted."""
        target = Path(os.path.realpath(path))
        is_here = target.is_relative_to(os.path.realpath(self.root))
        self.skipped.unread |= {locate_file(path)} if is_here else {locate_file(path), str(target)}
        return NOWHERE if path.is_symlink() else "no file"

    def _unreadable(self, error: OSError) -> None:
        self.skipped.unread.add(locate_file(error.filename))
        self.skipped.leave_out(DataError(f"{error.filename}: cannot be read: {first_line(error)}"))


def find_documents(folder: Path, skipped: SkippedFiles) -> Iterator[Path]:
    """Yield the documents of a folder in the order of their paths, and count other files in `skipped`."""
    walk = _Walk(folder, skipped)
    walk.go()
    lacking = " and ".join(sorted(walk.endings.keys() & PACKAGES.keys()))
    extra = f"for {lacking} run: {install_command('files')}" if lacking else ""
    skipped.other_files(folder, walk.endings, walk.unread, extra)
    if not walk.files:
        skipped.leave_out(DataError(f"{folder}: no document in it; expected files named {list_endings()}"))
    yield from sorted(walk.files)


def _parse_rules(lines):
    """Parse the patterns of a file. Git passes over a line that is none, such as `!` alone, and so do we."""
    with warnings.catch_warnings():
        # Of a class such as [[:alpha:]].
        warnings.simplefilter("ignore", FutureWarning)
        return GitIgnoreSpec.from_lines([line for line in lines if _is_rule(line)])


def _is_rule(line):
    try:
        GitIgnoreSpec.from_lines([line])
    except (ValueError, re.error):
        return False
    return True


def _reason(path: Path, is_named: bool) -> str:
    """Return why a file or a folder is not read, or an empty text."""
    return "hidden" if path.name.startswith((".", OPEN)) else f"named by {IGNORED}" if is_named else ""


def _is_exported(folder: Path) -> bool:
    """Return whether a folder is a page or an encoder of ours, whose texts are about itself."""
    try:
        return is_artefact(folder) and bool(read_label(folder).format)
    except (DistillError, OSError):
        return False


def _outer(root: Path) -> _Rules:
    """Return the rules of the checkout that a folder is in, unless they exclude the folder itself."""
    place = root.resolve()
    above = list(place.parents)
    top = next((number for number, folder in enumerate(above) if (folder / ".git").exists()), None)
    if (place / ".git").exists() or top is None:
        return _Rules()
    rules = _Rules()
    for folder in reversed(above[: top + 1]):
        rules = rules.within(folder)
    inside = [place, *above[:top]]
    return _Rules() if any(rules.name(folder, True) for folder in inside) else rules


DEFAULT, USUAL = Columns(), ReadingLimits()


def read_documents(
    paths: Iterable[File],
    columns: Columns = DEFAULT,
    skipped: SkippedFiles | None = None,
    names: Mapping[str, str] | None = None,
    limits: ReadingLimits = USUAL,
    prepare: Callable[[Document], Document] | None = None,
) -> Iterator[Document]:
    """Yield the documents of files and folders, those of a folder in the order of their paths, and each file once.

    Ids may occur twice. Raises `DataError` if something is no document, with file and line, unless `skipped` is given.

    Args:
        skipped: Collects files without text or of no format. Without it they raise an error.
        names: The names of files in ids, by `locate_file`, if these are not their paths.
        prepare: What is made of each document before it comes, within its limits, such as `add_passages`.
    """
    skipped, seen = skipped or SkippedFiles(strict=True), set()
    for path in paths:
        for file in _files(path, skipped):
            place = locate_file(file)
            if place not in seen:
                seen.add(place)
                source = Source(file, (names or {}).get(place) or spell_name(file.as_posix()), place)
                meter = Meter(source.name, limits)
                documents = _documents(source, columns, skipped, meter)
                yield from _prepare_each(documents, prepare, skipped, meter) if prepare else documents


def _files(path: File, skipped: SkippedFiles) -> Iterator[Path]:
    path = usable_path(path)
    if path.is_dir():
        yield from find_documents(path, skipped)
    elif path.exists():
        yield path
    else:
        raise DataError(f"{path}: cannot be read: no such file or folder")


def _documents(source: Source, columns: Columns, skipped: SkippedFiles, meter: Meter) -> Iterator[Document]:
    left_out, is_empty, without_text = skipped.count, True, 0
    try:
        for document in find_reader(source.path)(source, columns, skipped, meter):
            is_empty = False
            if document.text.strip():
                yield replace(document, source=source)
                # What is done with a document is none of the next one's time.
                meter.begin()
            else:
                without_text += 1
                problem = f"{document.place}: a document without text; give it some, or leave it out"
                skipped.leave_out(DataError(problem))
    except InputError as error:
        skipped.leave_out(error)
    if skipped.count > left_out + without_text:
        skipped.unread.add(source.place)
    if is_empty and skipped.count == left_out and not skipped.strict:
        skipped.leave_out(DataError(f"{source.name}: no documents in it"))


def _prepare_each(documents, prepare, skipped, meter):
    for document in documents:
        try:
            work = partial(prepare, document)
            # Watching takes a thread, which a short document is not worth.
            ready = meter.watch(work, document.place) if len(document.text) > LONG else work()
        except DataError as error:
            skipped.leave_out(error)
        else:
            yield ready
