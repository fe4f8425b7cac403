"""Progress bars on a terminal, plain lines elsewhere; always on standard error."""

from __future__ import annotations

import time
from collections.abc import Iterable, Iterator
from contextlib import contextmanager

from rich import progress as bars
from rich.console import Console, ConsoleOptions, RenderableType
from rich.segment import Segment

from ..errors import shown, visible
from .types import Progress


class SafeConsole(Console):
    """A console on which no name and no text, in whatever table, is obeyed by the terminal."""

    def render(self, renderable: RenderableType, options: ConsoleOptions | None = None) -> Iterable[Segment]:
        """Yield the segments of what is printed; rich's own controls stay."""
        for segment in super().render(renderable, options):
            yield segment if segment.control else segment._replace(text=visible(segment.text))


console = SafeConsole(stderr=True, highlight=False, soft_wrap=True, emoji=False)


def say(text: str) -> None:
    """Write a line to standard error, above the progress bars."""
    console.print(shown(text), markup=False)


@contextmanager
def task(description: str, total: int | None) -> Iterator[Progress]:
    """Yield `advance(steps=1, note="")`. Off a terminal: one line when it ends, with the seconds it took."""
    if console.is_terminal:
        with _bar() as progress:
            number = progress.add_task(description, total=total, note="")
            yield lambda steps=1, note="": progress.update(number, advance=steps, note=note)
        return
    start = time.perf_counter()
    last = {"note": ""}
    yield lambda steps=1, note="": last.update(note=note or last["note"])
    say(f"{description}: {time.perf_counter() - start:.1f} s {last['note']}".rstrip())


def _bar():
    columns = (
        bars.TextColumn("{task.description}", markup=False),
        bars.BarColumn(),
        bars.MofNCompleteColumn(),
        bars.TimeRemainingColumn(),
        bars.TextColumn("{task.fields[note]}", markup=False),
    )
    return bars.Progress(*columns, console=console)
