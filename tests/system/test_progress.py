import io
import re
import time
from types import SimpleNamespace

import pytest
from rich.console import Console
from rich.table import Table
from rich.text import Text

from distill.system import progress
from distill.system.progress import SafeConsole, Work, phase, say, task


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


@pytest.fixture
def clock(monkeypatch):
    """A clock that is set by hand."""
    now = SimpleNamespace(seconds=100.0)
    monkeypatch.setattr(progress.time, "monotonic", lambda: now.seconds)
    return now


NOTES = [
    (2, ("", "", ""), "encode: 2.0 s\n"),
    (0.9, ("", "", ""), ""),
    (0.4, ("loss 9", "loss 5", ""), "encode: 0.4 s, loss 5\n"),
]


@pytest.mark.parametrize("seconds, notes, line", NOTES)
def test_off_a_terminal_a_task_is_one_line_unless_it_took_no_time_and_has_no_note(capsys, clock, seconds, notes, line):
    with task("encode", 3) as advance:
        for note in notes:
            advance(1, note)
        assert capsys.readouterr() == ("", "")
        clock.seconds += seconds
    assert capsys.readouterr() == ("", line)


def test_a_line_says_what_is_done_and_what_is_left(clock):
    work, endless = Work("encode", 40), Work("read", None)
    clock.seconds += 30
    assert (work.line(), endless.line()) == ("encode: 30 s so far", "read: 30 s so far")
    work.advance(10, "loss 5")
    endless.advance(7)
    assert (work.line(), endless.line()) == ("encode: 10 of 40, about 90 s left, loss 5", "read: 7 done, 30 s so far")
    clock.seconds += 570
    assert work.line() == "encode: 10 of 40, about 30 min left, loss 5"
    clock.seconds += 5400
    assert work.line() == "encode: 10 of 40, about 5.0 h left, loss 5"
    work.advance(31)
    assert work.line() == "encode: 41 done, 6000 s so far, loss 5"


def test_a_task_goes_on_counting_where_a_phase_of_its_name_began(capsys, clock):
    with phase("export"):
        clock.seconds += 40
        with task("export", 2):
            clock.seconds += 5
    assert capsys.readouterr().err == "export: 45.0 s\n"


def waited(lines, enough):
    """What was said until there is enough of it, ten seconds at most."""
    text = ""
    for _ in range(1000):
        text += lines()
        if enough(text):
            break
        time.sleep(0.01)
    return text


def test_off_a_terminal_a_line_comes_again_and_again_of_the_innermost_work(stderr, monkeypatch):
    monkeypatch.setattr(progress, "EVERY", 0.02)
    with phase("student"):
        assert "student: 0 s so far\n" in waited(stderr, lambda text: text.count("student") > 1)
        with task("epoch 1/2", 4) as advance:
            advance(1, "loss 5")
            stderr()
            text = waited(stderr, lambda text: text.count("\n") > 2)
        assert set(text.splitlines()) <= {"epoch 1/2: 1 of 4, about 0 s left, loss 5", "student: 0 s so far"}
        assert text.count("epoch") >= 2
        assert "student: 0 s so far\n" in waited(stderr, lambda text: "student" in text)
    stderr()
    time.sleep(0.1)
    assert stderr() == ""


def test_what_is_said_meanwhile_is_a_line_too(stderr, monkeypatch):
    monkeypatch.setattr(progress, "EVERY", 0.5)
    with phase("student"):
        for _ in range(20):
            say("step")
            time.sleep(0.05)
    assert set(stderr().splitlines()) == {"step"}


@pytest.mark.parametrize("text", ["runs/[red]x[/red]", "a :heart: b", "word " * 100 + "end"])
def test_what_is_said_is_printed_as_it_is_and_a_task_that_fails_not_reported_as_done(stderr, text):
    with pytest.raises(ZeroDivisionError), task("encode", 1):
        raise ZeroDivisionError
    say(text)
    assert stderr() == text + "\n"


def test_a_name_is_not_obeyed_by_the_terminal_in_a_table_nor_in_a_line(stderr):
    table = Table("\x1b]0;owned\x07 head")
    table.add_row(Text("a\x9b31m\u202eb"))
    screen = io.StringIO()
    console = SafeConsole(file=screen, force_terminal=True, width=60, highlight=False, _environ={"TERM": "xterm"})
    console.print(table)
    console.print("[bold]bold[/bold] \x1b[2J")
    shown = screen.getvalue()
    assert {*re.findall(r"\x1b\[[0-9;]*m", shown)} == {"\x1b[1m", "\x1b[0m"}
    assert not re.search("[\x80-\x9f\u202e\x07]|\x1b(?!\\[[0-9;]*m)", shown)
    assert r"\u001b[2J" in shown and r"a\u009b31m" in shown
    say("runs/a\n2. b\x1b[31m")
    assert stderr() == "runs/a 2. b\\u001b[31m\n"


def test_on_a_terminal_a_bar_counts_steps_and_shows_the_note(terminal):
    with task("encode", 7) as advance:
        advance()
        advance(1)
        advance(3, "loss 5")
    assert re.search(r"encode .*5/7 .*loss 5", terminal())
    with pytest.raises(ZeroDivisionError), task("encode", 1):
        raise ZeroDivisionError
