"""Checkpoints: the state of a training on disk, whole or not at all, from which it goes on after a stop."""

from __future__ import annotations

import json
import shutil
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TypeAlias, TypeVar, cast

import numpy as np
from numpy.typing import NDArray

from ..errors import DataError, InputError
from ..settings.choices import CHECKPOINT_SECONDS
from ..system.arrays import read_arrays, write_arrays
from ..system.types import File, Floats, Json

# Where a run or a trial has those of its stages; gone when it is finished.
CHECKPOINT = "checkpoint"
STATE, FACTS = "state.npz", "facts"
# Under this name stage 2 keeps the matrices of its distance.
WHITENING = "whitening"
# Lists of arrays by name, such as the weights; an optimizer has counters among them.
Groups: TypeAlias = dict[str, list[Floats]]
# Arrays of one kind, such as rows.
Numbers = TypeVar("Numbers", bound=NDArray[np.generic])


class Checkpoint:
    """The folder of one training's state: `facts` are plain values, `groups` are lists of arrays by name."""

    def __init__(self, folder: File, seconds: float = CHECKPOINT_SECONDS):
        self.folder, self.seconds, self.written = Path(folder), seconds, time.monotonic()

    @property
    def due(self) -> bool:
        """True if the last state is older than `seconds`."""
        return time.monotonic() - self.written >= self.seconds

    def save(self, facts: Mapping[str, Json], groups: Mapping[str, Sequence[NDArray[np.generic]]]) -> None:
        """Replace the state. The previous one stays until the new one is whole."""
        arrays = {f"{name}/{row}": value for name, values in groups.items() for row, value in enumerate(values)}
        write_arrays(self.folder / STATE, {FACTS: np.array(json.dumps(facts)), **arrays})
        self.written = time.monotonic()

    def load(self) -> tuple[Json, Groups] | None:
        """Return the facts and groups that were saved last, or None. Raises `InputError` if the file is damaged."""
        stored = _read(self.folder / STATE)
        if stored is None:
            return None
        facts, groups = stored.pop(FACTS), {}
        for key, value in stored.items():
            groups.setdefault(key.partition("/")[0], []).append(value)
        return facts, groups

    def facts(self) -> dict[str, Json]:
        """Return the facts that were saved last, empty if there are none.

        Raises `InputError` if the file is damaged.
        """
        return (_read(self.folder / STATE, [FACTS]) or {FACTS: {}})[FACTS]

    def keep(self, name: str, number: int, make: Callable[[], Sequence[Numbers]]) -> list[Numbers]:
        """Return the arrays that a function made for an epoch, now or before the stop; the last number's are kept."""
        path = self.folder / f"{name}.npz"
        stored = _read(path)
        if stored is not None and stored.pop(FACTS) == number:
            return cast("list[Numbers]", list(stored.values()))
        rows = list(make())
        arrays = {f"{row:09}": value for row, value in enumerate(rows)}
        write_arrays(path, {FACTS: np.array(json.dumps(number)), **arrays})
        return rows

    def read_kept(self, name: str) -> list[NDArray[np.generic]]:
        """Return the arrays that are kept under a name, none if there are none."""
        stored = _read(self.folder / f"{name}.npz") or {}
        return [value for key, value in stored.items() if key != FACTS]

    def remove(self) -> None:
        shutil.rmtree(self.folder, ignore_errors=True)


def _read(path, names=()):
    """Read the arrays and facts of a file, only the arrays of `names` if any are given; return None without a file."""
    if not path.exists():
        return None
    try:
        stored = read_arrays(path, names)
        return stored | {FACTS: json.loads(str(stored[FACTS]))}
    except (DataError, KeyError, ValueError) as error:
        raise InputError(f"{path}: not a checkpoint; remove it, and the stage begins anew") from error
