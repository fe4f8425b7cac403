"""Progress bars on a terminal, plain lines elsewhere, always on standard error."""

from __future__ import annotations

import time
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from threading import Event, Thread
from typing import ClassVar

from rich import progress as bars
from rich.console import Console, ConsoleOptions, RenderableType
from rich.segment import Segment

from ..errors import escape_controls, make_printable
from .types import Progress


class SafeConsole(Console):
    """A console on which no printed text can control the terminal."""

    def render(self, renderable: RenderableType, options: ConsoleOptions | None = None) -> Iterable[Segment]:
        """Yield the segments of what is printed; rich's own controls stay."""
        for segment in super().render(renderable, options):
            yield segment if segment.control else segment._replace(text=escape_controls(segment.text))

    def on_broken_pipe(self) -> None:
        """End the command if nobody reads its standard output; without a reader of standard error it goes on."""
        if not self.stderr:
            super().on_broken_pipe()
        self.quiet = True


console = SafeConsole(stderr=True, highlight=False, soft_wrap=True, emoji=False)
# Off a terminal: the seconds after which a line comes where none came, and the least that a finished task is told of.
EVERY, LEAST = 15.0, 1.0


class Work:
    """A piece of work outside a terminal: how much is done, and when it began, in seconds of a monotonic clock."""

    # Those under way, the outermost first, and when a line was written last.
    under_way: ClassVar[list[Work]] = []
    told: ClassVar[float] = 0.0

    def __init__(self, description: str, total: int | None = None) -> None:
        self.description, self.total, self.done, self.note = description, total, 0, ""
        # A task within a phase of its name goes on counting.
        self.began: float = next(
            (one.began for one in Work.under_way if one.description == description), time.monotonic()
        )
        if not Work.under_way:
            # Silence counts from the first work on.
            Work.told = max(Work.told, self.began)

    def advance(self, steps: int = 1, note: str = "") -> None:
        self.done, self.note = self.done + steps, note or self.note

    @property
    def seconds(self) -> float:
        """The seconds since it began."""
        return time.monotonic() - self.began

    def line(self) -> str:
        """Return a line about what is done and about the time that is left at this speed."""
        if not self.total or not 0 < self.done < self.total:
            counted = f"{self.done} done, " if self.done else ""
            return self.add_note(f"{counted}{self.seconds:.0f} s so far")
        left = self.seconds * (self.total - self.done) / self.done
        return self.add_note(f"{self.done} of {self.total}, about {time_text(left)} left")

    def add_note(self, text: str) -> str:
        """Return a text behind the description, with the note behind it if there is one."""
        return f"{self.description}: {text}{', ' * bool(self.note)}{self.note}"

    def tell(self, ended: Event) -> None:
        """Write a line whenever none was written for `EVERY` seconds, unless work within this one is under way."""
        while not ended.wait(max(EVERY / 100, Work.told + EVERY - time.monotonic())):
            if Work.under_way[-1:] == [self] and time.monotonic() - Work.told >= EVERY:
                say(self.line())


def time_text(seconds: float) -> str:
    """Return a time as people write it."""
    minutes = round(seconds / 60)
    return f"{seconds:.0f} s" if seconds < 100 else f"{minutes} min" if minutes < 100 else f"{seconds / 3600:.1f} h"


def say(text: str) -> None:
    """Write a line above the progress bars to standard error, which may be closed, or on a full disk."""
    Work.told = time.monotonic()
    with suppress(OSError, ValueError):
        console.print(make_printable(text), markup=False)


@contextmanager
def task(description: str, total: int | None) -> Iterator[Progress]:
    """Provide the function `advance(steps=1, note="")` of a piece of work.

    Outside a terminal a line is written at least every `EVERY` seconds, and one with the time at the end, unless the
    work took less than `LEAST` seconds and has no note. `total` is the number of steps, or None.
    """
    if console.is_terminal:
        with _bar() as progress:
            number = progress.add_task(description, total=total, note="")
            yield lambda steps=1, note="": progress.update(number, advance=steps, note=note)
        return
    with _under_way(Work(description, total)) as work:
        yield work.advance
    if work.note or work.seconds >= LEAST:
        say(work.add_note(f"{work.seconds:.1f} s"))


@contextmanager
def phase(description: str) -> Iterator[None]:
    """Write a line outside a terminal if a block writes none for `EVERY` seconds."""
    if console.is_terminal:
        yield
        return
    with _under_way(Work(description)):
        yield


@contextmanager
def _under_way(work):
    ended = Event()
    # What ends the process while it works does not wait for it.
    teller = Thread(target=work.tell, args=(ended,), daemon=True)
    Work.told = max(Work.told, work.began) if not Work.under_way else Work.told
    Work.under_way.append(work)
    teller.start()
    try:
        yield work
    finally:
        ended.set()
        Work.under_way.remove(work)
        teller.join()


def _bar():
    columns = (
        bars.TextColumn("{task.description}", markup=False),
        bars.BarColumn(),
        bars.MofNCompleteColumn(),
        bars.TimeRemainingColumn(),
        bars.TextColumn("{task.fields[note]}", markup=False),
    )
    return bars.Progress(*columns, console=console)
