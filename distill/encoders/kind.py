"""The interface of a kind of encoder: how a name is recognised, located, identified and loaded."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, TypeAlias, cast

if TYPE_CHECKING:
    from ..system.types import File
    from .encoder import Encoder, KerasEncoder

# Loads another encoder, which one is made of.
Load: TypeAlias = "Callable[[File], Encoder]"


@dataclass(frozen=True)
class Kind:
    """A kind of encoder, listed in `distill.encoders.catalog.kinds`.

    `what` names it in an error, such as "a SavedModel". `name` is the only name that it is given by, whatever folder
    has that name too, or empty. Kinds that are not `trainable` are measured, search and teach.
    """

    what: str
    name: str = ""
    trainable: bool = False

    @property
    def names(self) -> tuple[str, ...]:
        """Return the names that it may be given by, `name` the first; none for a kind with many encoders."""
        return (self.name,) if self.name else ()

    def matches(self, source: File) -> bool:
        """Return True if `source`, a name, a handle or a path, is of this kind."""
        return source in self.names

    def load(self, source: File, threads: int, load: Load) -> Encoder:
        """Load the encoder. Raises `EncoderError` if it is broken, or a package that it needs is not installed."""
        raise NotImplementedError

    def load_trainable(self, source: File, load: Load) -> KerasEncoder:
        """Load the encoder with weights to train or export, for a kind that is `trainable`."""
        return cast("KerasEncoder", self.load(source, 1, load))

    def folder(self, source: File) -> Path | None:
        """Return the folder with its files, or None for a name or a handle."""
        return None if self.name else Path(source)

    def files(self, folder: Path) -> list[Path]:
        """Return the files that the encoder is made of, sorted by name."""
        return files_in(folder)

    def fingerprint(self, source: File) -> str:
        """Return a text that differs between encoders with different vectors, from the files or else the name."""
        from ..system.hashes import fingerprint_of

        folder = self.folder(source)
        return fingerprint_of(*(self.files(folder) if folder else [str(source)]))

    def place(self, source: File) -> str:
        """Return a name that is valid in any folder: an absolute path, its `name`, or `source` as it is."""
        return self.name or (str(source) if self.folder(source) is None else str(Path(source).resolve()))

    def on_disk(self, source: File) -> list[str]:
        """Return the files and folders that count for its size."""
        folder = self.folder(source)
        return [str(folder)] if folder else []


def files_in(folder: Path) -> list[Path]:
    """Return all files below a folder, sorted by path."""
    return sorted(path for path in folder.rglob("*") if path.is_file())
