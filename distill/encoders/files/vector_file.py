"""Write an `.npy` file block by block, so that it can be resumed after a stop."""

from __future__ import annotations

import errno
import os
import shutil
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

import numpy as np

from ...errors import DataError, DistillError, EncoderError, InputError
from ...system.files import hold_lock, require_writable, resolve_target, sync, write_json
from ...system.input_files import read_json, require_form
from ...system.progress import say
from ...system.types import File, Floats, Json

PART, STATE, LOCK = ".part", ".part.json", ".part.lock"


@contextmanager
def open_vector_file(
    path: File,
    shape: tuple[int, int],
    block: int,
    made_of: Mapping[str, Json],
    names: Mapping[str, str],
    restart: bool = False,
) -> Iterator[VectorFile]:
    """Provide a `VectorFile`, which is at `path` in the end, or whose written part stays, to be resumed."""
    require_writable(path)
    path = resolve_target(path)
    path.parent.mkdir(parents=True, exist_ok=True)
    lock = _beside(path, LOCK)
    with hold_lock(lock, f"{path}: another process is writing it; wait for its end, or choose another name"):
        file = VectorFile(path, shape, block, made_of, names, restart)
        try:
            yield file
            file.finish()
        except BaseException:
            file.leave()
            raise


def _beside(path, ending):
    return path.with_name(path.name + ending)


class VectorFile:
    """A float32 array in blocks, written to `path.part`; `path.part.json` lists the blocks that are there.

    A file that was begun with the same `made_of` goes on; one that was begun with other values is refused, unless
    `restart` is true.
    """

    def __init__(
        self,
        path: File,
        shape: tuple[int, int],
        block: int,
        made_of: Mapping[str, Json],
        names: Mapping[str, str],
        restart: bool = False,
    ) -> None:
        self.path, self.shape, self.block = Path(path), shape, block
        self.part, self.state = _beside(self.path, PART), _beside(self.path, STATE)
        self.made_of, self.names = made_of, names
        # Blocks come in any order from several workers: there are all below `done`, and those in `ahead`.
        self.done = 0
        self.ahead: set[int] = set()
        if not self._take_up(restart):
            self._begin()

    @property
    def missing(self) -> list[int]:
        """The numbers of the blocks that are not written yet."""
        blocks = -(-self.shape[0] // self.block)
        return [number for number in range(self.done, blocks) if number not in self.ahead]

    @property
    def written(self) -> int:
        """The number of rows that are written."""
        return self.shape[0] - sum(self._rows(number) for number in self.missing)

    def write(self, number: int, vectors: Floats) -> None:
        """Write a block of vectors to disk; `EncoderError` if they have another shape."""
        expected = (self._rows(number), self.shape[1])
        if vectors.shape != expected:
            raise EncoderError(f"block {number}: expected vectors of shape {expected}, got {vectors.shape}")
        # Written, not mapped: a full disk is an error then, not a signal, and no page of it stays in memory.
        with open(self.part, "r+b") as file:
            file.seek(-4 * self.shape[1] * (self.shape[0] - number * self.block), os.SEEK_END)
            file.write(np.ascontiguousarray(vectors, np.float32).data)
            file.flush()
            os.fsync(file.fileno())
        self.ahead.add(number)
        while self.done in self.ahead:
            self.ahead.remove(self.done)
            self.done += 1
        self._note()

    def finish(self) -> None:
        """Give the complete file its name."""
        os.replace(self.part, self.path)
        sync(self.path.parent)
        self.state.unlink()

    def leave(self) -> None:
        """Keep the written part, if there is any."""
        if self.done or self.ahead:
            say(f"{self.part}: {self.written} of {self.shape[0]} vectors; the same command goes on with them")
        else:
            self.part.unlink(missing_ok=True)
            self.state.unlink(missing_ok=True)

    def _rows(self, number):
        return min(self.block, self.shape[0] - number * self.block)

    def _take_up(self, restart):
        """Return True if there is a part to resume. With `restart` it is only checked to be a file of this kind."""
        if not self.part.exists():
            return False
        begun = self._read_begun()
        if restart or not (begun["done"] or begun["ahead"]):
            return False
        if other := [name for name in self.made_of if begun["made_of"].get(name) != self.made_of[name]]:
            differences = "; ".join(
                f"{name} is {_display_value(begun, name)}, not {_display_value(vars(self), name)}" for name in other
            )
            raise InputError(f"{self.part} was begun with another {', '.join(other)}: {differences}; {self._way_out()}")
        if not self._is_whole():
            raise InputError(f"{self.part} is not what {self.state.name} says of it; {self._way_out()}")
        self.done, self.ahead = begun["done"], set(begun["ahead"])
        say(f"{self.part}: going on after {self.written} of {self.shape[0]} vectors")
        return True

    def _read_begun(self):
        try:
            begun = read_json(self.state)
            require_form(self.state, begun, {"done": int, "ahead": list, "made_of": dict, "names": dict})
        except DataError as error:
            problem = f"{self.part} is there, and {self.state.name}, which says what it is, is not; remove it"
            raise InputError(problem) from error
        return begun

    def _way_out(self):
        return f"give these to go on with it, or --restart to begin anew, or write to another name than {self.path}"

    def _is_whole(self):
        try:
            stored = np.lib.format.open_memmap(self.part, "r")
        except (OSError, ValueError, EOFError):
            return False
        return stored.shape == self.shape and stored.dtype == np.float32

    def _begin(self):
        # The state first: a part without it is somebody else's.
        self._note()
        try:
            np.lib.format.open_memmap(self.part, "w+", np.float32, self.shape)
            _reserve(self.part)
        except OSError as error:
            self.leave()
            if error.errno != errno.ENOSPC:
                raise
            needed, free = 4 * self.shape[0] * self.shape[1], shutil.disk_usage(self.part.parent).free
            raise DistillError(
                f"{self.path}: {needed / 1e9:.3g} GB of vectors, {free / 1e9:.3g} GB are free; choose another disk"
            ) from error

    def _note(self):
        write_json(
            self.state,
            {"made_of": self.made_of, "names": self.names, "done": self.done, "ahead": sorted(self.ahead)},
            synced=True,
        )


def _display_value(begun, name):
    """Return a value as a user knows it, with the beginning of a hash."""
    value = str(begun["made_of"].get(name))[:12]
    return f"{begun['names'][name]} ({value})" if name in begun["names"] else value


def _reserve(path):
    """Reserve the disk space of a sparse file if possible, so that a full disk is noticed now and not hours later."""
    if not hasattr(os, "posix_fallocate"):
        return
    with open(path, "r+b") as file:
        try:
            os.posix_fallocate(file.fileno(), 0, path.stat().st_size)
        except OSError as error:
            if error.errno == errno.ENOSPC:
                raise
