import io
import re

import pytest
from rich.console import Console

from distill.system import progress
from distill.system.progress import say, task


@pytest.fixture
def stderr(capsys, monkeypatch):
    """What was said, off a terminal, whatever the shell that runs the tests asks for."""
    for name in ("FORCE_COLOR", "TTY_COMPATIBLE"):
        monkeypatch.delenv(name, raising=False)
    return lambda: capsys.readouterr().err


@pytest.fixture
def terminal(monkeypatch):
    screen = io.StringIO()
    console = Console(file=screen, force_terminal=True, width=100, highlight=False, _environ={"TERM": "xterm"})
    monkeypatch.setattr(progress, "console", console)
    return lambda: re.sub(r"\x1b\[[0-9;?]*[a-zA-Z]", "", screen.getvalue())


@pytest.mark.parametrize("notes, shown", [(("", "", ""), ""), (("loss 9", "loss 5", ""), " loss 5")])
def test_off_a_terminal_a_task_is_one_line_with_its_seconds_and_last_note(capsys, stderr, notes, shown):
    with task("encode", 3) as advance:
        for note in notes:
            advance(1, note)
        assert capsys.readouterr() == ("", "")
    captured = capsys.readouterr()
    assert captured.out == "" and re.fullmatch(rf"encode: \d+\.\d s{shown}\n", captured.err)


@pytest.mark.parametrize("text", ["runs/[red]x[/red]", "a :heart: b", "word " * 100 + "end"])
def test_what_is_said_is_printed_as_it_is_and_a_task_that_fails_not_reported_as_done(stderr, text):
    with pytest.raises(ZeroDivisionError), task("encode", 1):
        raise ZeroDivisionError
    say(text)
    assert stderr() == text + "\n"


def test_on_a_terminal_a_bar_counts_steps_and_shows_the_note(terminal):
    with task("encode", 7) as advance:
        advance()
        advance(1)
        advance(3, "loss 5")
    assert re.search(r"encode .*5/7 .*loss 5", terminal())
    with pytest.raises(ZeroDivisionError), task("encode", 1):
        raise ZeroDivisionError
