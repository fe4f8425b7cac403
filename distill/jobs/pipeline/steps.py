"""A job as a list of steps, and the one engine that runs them."""

from __future__ import annotations

import gc
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext
from dataclasses import dataclass
from functools import partial
from typing import Generic, TypeVar

Result = TypeVar("Result")


def never_there() -> bool:
    """Return False: the result of a step is in no file, so the step runs each time."""
    return False


@dataclass(frozen=True)
class Step(Generic[Result]):
    """One step of a job.

    Attributes:
        make: Makes the result from those of the needed steps, and leaves in the job's folder what is worth keeping.
        needs: The names of the steps whose results it takes, in their order.
        is_there: Tells whether the result is in the folder already.
        timed: The name under which the seconds are counted; empty if the step counts them itself.
    """

    name: str
    make: Callable[..., Result]
    needs: Sequence[str] = ()
    is_there: Callable[[], bool] = never_there
    load: Callable[[], Result] | None = None
    timed: str = ""

    def choose(self, results: Mapping[str, Result]) -> Callable[[], Result]:
        """Return the function that gives the result: it loads one that is there, or makes it from other results."""
        if self.load is not None and self.is_there():
            return self.load
        return partial(self.make, *(results[name] for name in self.needs))


class Engine:
    """Runs the steps of a job: it seeds and times each one, and loads the results that are there.

    Because each step is seeded anew, a step's result does not depend on where the job was stopped. Results that no
    later step needs are released, because an encoder may be large. `timer(name)` counts the seconds of a block.
    """

    def __init__(self, seed: int, timer: Callable[[str], AbstractContextManager[None]] | None = None):
        self.seed, self.timer = seed, timer or (lambda name: nullcontext())

    def go(self, steps: Sequence[Step[Result]], results: dict[str, Result]) -> Result:
        """Run all steps; whatever one of them raises, the files in the job's folder are whole."""
        for place, step in enumerate(steps):
            # What the step raises has one frame of the engine's in its traceback.
            with self.begin(step):
                results[step.name] = last = step.choose(results)()
            needed = {name for later in steps[place + 1 :] for name in later.needs}
            for name in results.keys() - needed:
                del results[name]
            gc.collect()
        return last

    def do(self, step: Step[Result]) -> Result:
        """Run or load one step that needs no other."""
        with self.begin(step):
            return step.choose({})()

    @contextmanager
    def begin(self, step: Step[Result]) -> Iterator[None]:
        """Seed a step, and count the seconds of the block that runs it."""
        import keras

        keras.utils.set_random_seed(self.seed)
        with self.timer(step.timed) if step.timed else nullcontext():
            yield
