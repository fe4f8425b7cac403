"""A kind of encoder: told by what a user names, located, identified, loaded."""

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
    """A kind of encoder, one of those that `distill.catalog.kinds` lists: a subclass says how it is told and loaded.

    `what` an error calls it, such as "a SavedModel". One with a `name` is given by that alone, whatever folder has the
    name too. One that is `trainable` has weights of ours, which `load_trainable` gives; the others are measured,
    searched with and teach.
    """

    what: str
    name: str = ""
    trainable: bool = False

    def matches(self, source: File) -> bool:
        """Return True where `source`, a name, a handle or a path, is one of this kind."""
        return bool(self.name) and source == self.name

    def load(self, source: File, threads: int, load: Load) -> Encoder:
        """Return the encoder, on so many threads where it has a say in that; `load` loads another that it is made of.

        Raises `EncoderError` where it is broken, or a package that it needs is not installed.
        """
        raise NotImplementedError

    def load_trainable(self, source: File, load: Load) -> KerasEncoder:
        """Return the encoder with weights to train or to export, of a kind that is `trainable`.

        Raises `EncoderError` where it is broken, or its weights cannot be read.
        """
        return cast("KerasEncoder", self.load(source, 1, load))

    def folder(self, source: File) -> Path | None:
        """Return the folder with its files; None for a name or a handle."""
        return None if self.name else Path(source)

    def files(self, folder: Path) -> list[Path]:
        """Return the files of its folder that it is made of, sorted by name."""
        return files_in(folder)

    def fingerprint(self, source: File) -> str:
        """Return another text for each encoder that gives other vectors: of its files, else of its name."""
        from ..system.hashes import fingerprint_of

        folder = self.folder(source)
        return fingerprint_of(*(self.files(folder) if folder else [str(source)]))

    def place(self, source: File) -> str:
        """Return the name that names it from any folder: an absolute path, else `source` as it is."""
        return str(source) if self.name or self.folder(source) is None else str(Path(source).resolve())

    def on_disk(self, source: File) -> list[str]:
        """Return the files and folders whose bytes are its size."""
        folder = self.folder(source)
        return [str(folder)] if folder else []


def files_in(folder: Path) -> list[Path]:
    """Return all files below a folder, sorted by path."""
    return sorted(path for path in folder.rglob("*") if path.is_file())
