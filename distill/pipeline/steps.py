"""A job as a list of steps, and the one engine that goes through them."""

from __future__ import annotations

import gc
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from typing import Generic, TypeVar

Result = TypeVar("Result")
Needed = TypeVar("Needed")


def never() -> bool:
    """The answer of a step whose result lies in no file: it is made each time."""
    return False


@dataclass(frozen=True)
class Step(Generic[Result]):
    """One step of a job.

    `make` makes its result of those of the steps that it `needs`, in their order, and leaves what is worth keeping in
    the job's folder. `is_there` tells whether that lies there, `load` then returns it and takes nothing. The seconds of
    both are counted under the name `timed`; a step without one times itself, or takes no time.
    """

    name: str
    make: Callable[..., Result]
    needs: Sequence[str] = ()
    is_there: Callable[[], bool] = never
    load: Callable[[], Result] | None = None
    timed: str = ""


class Engine:
    """Goes through the steps of a job: seeds each anew, times it, and takes what is there as it is.

    So a step is the same whether those before it were made now or before the job was stopped. What no later step needs
    is let go of, as an encoder may be large. `timer(name)` counts the seconds of what is done within it.
    """

    def __init__(self, seed: int, timer: Callable[[str], AbstractContextManager[None]] | None = None):
        self.seed, self.timer = seed, timer or (lambda name: nullcontext())

    def go(self, steps: Sequence[Step[Result]], results: dict[str, Result]) -> Result:
        """The last step's result, after all others. `results` are those that are there already, and are used up.

        Raises what a step raises; what was left in the job's folder by then is whole.
        """
        for place, step in enumerate(steps):
            results[step.name] = last = self.do(step, [results[name] for name in step.needs])
            needed = {name for later in steps[place + 1 :] for name in later.needs}
            for name in results.keys() - needed:
                del results[name]
            gc.collect()
        return last

    def do(self, step: Step[Result], needs: Sequence[Needed] = ()) -> Result:
        """The result of one step, of the results that it needs."""
        import keras

        keras.utils.set_random_seed(self.seed)
        with self.timer(step.timed) if step.timed else nullcontext():
            return step.load() if step.load is not None and step.is_there() else step.make(*needs)
