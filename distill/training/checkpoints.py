"""Where a training that is stopped goes on: what its loop holds, on disk, whole or not at all."""

import json
import shutil
import time
from pathlib import Path

import numpy as np

from ..errors import DataError, InputError
from ..settings.choices import CHECKPOINT_SECONDS
from ..system.arrays import read_arrays, write_arrays

# Where a run or a trial has those of its stages; gone when it is finished.
CHECKPOINT = "checkpoint"
STATE, FACTS = "state.npz", "facts"


class Checkpoint:
    """The folder of one training. `facts` are plain values, `groups` lists of arrays by name, such as the weights."""

    def __init__(self, folder, seconds=CHECKPOINT_SECONDS):
        self.folder, self.seconds, self.written = Path(folder), seconds, time.monotonic()

    @property
    def due(self):
        return time.monotonic() - self.written >= self.seconds

    def save(self, facts, groups):
        """Replace the state; the former one stays until the new one is whole."""
        arrays = {f"{name}/{row}": value for name, values in groups.items() for row, value in enumerate(values)}
        write_arrays(self.folder / STATE, {FACTS: np.array(json.dumps(facts)), **arrays})
        self.written = time.monotonic()

    def load(self):
        """`(facts, groups)` as they were saved last, None where nothing was. Raises `InputError`."""
        stored = _read(self.folder / STATE)
        if stored is None:
            return None
        facts, groups = stored.pop(FACTS), {}
        for key, value in stored.items():
            groups.setdefault(key.partition("/")[0], []).append(value)
        return facts, groups

    def facts(self):
        """The facts alone; none where nothing was saved. Raises `InputError`."""
        return (_read(self.folder / STATE, [FACTS]) or {FACTS: {}})[FACTS]

    def kept(self, name, number, make):
        """The arrays `[array]` that `make()` gave for this `number`, of an epoch, whether now or before the stop.

        Of each name the last number's are kept.
        """
        path = self.folder / f"{name}.npz"
        stored = _read(path)
        if stored is not None and stored.pop(FACTS) == number:
            return list(stored.values())
        made = list(make())
        arrays = {f"{row:09}": value for row, value in enumerate(made)}
        write_arrays(path, {FACTS: np.array(json.dumps(number)), **arrays})
        return made

    def remove(self):
        shutil.rmtree(self.folder, ignore_errors=True)


def _read(path, names=()):
    """The arrays of a file, those of `names` alone where they are given, and its facts; None where there is none."""
    if not path.exists():
        return None
    try:
        stored = read_arrays(path, names)
        return stored | {FACTS: json.loads(str(stored[FACTS]))}
    except (DataError, KeyError, ValueError) as error:
        raise InputError(f"{path}: not a checkpoint; remove it, and the stage begins anew") from error
