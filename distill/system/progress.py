"""Progress bars on a terminal, plain lines elsewhere; always on standard error."""

import time
from contextlib import contextmanager

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

console = Console(stderr=True, highlight=False, soft_wrap=True, emoji=False)


def say(text):
    console.print(text, markup=False)


@contextmanager
def task(description, total):
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
        TextColumn("{task.description}", markup=False),
        BarColumn(),
        MofNCompleteColumn(),
        TimeRemainingColumn(),
        TextColumn("{task.fields[note]}", markup=False),
    )
    return Progress(*columns, console=console)
