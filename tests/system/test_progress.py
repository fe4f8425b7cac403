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


def test_off_a_terminal_a_task_is_one_line_with_its_seconds(stderr):
    with task("encode", 3) as advance:
        for _ in range(3):
            advance()
    assert re.fullmatch(r"encode: \d+\.\d s\n", stderr())


def test_off_a_terminal_the_last_note_is_kept(stderr):
    with task("train", 3) as advance:
        advance(1, "loss 9")
        advance(1, "loss 5")
        advance()
    assert re.fullmatch(r"train: \d+\.\d s loss 5\n", stderr())


def test_off_a_terminal_nothing_is_said_before_the_end(stderr):
    with task("encode", 2) as advance:
        advance()
        assert stderr() == ""


def test_progress_leaves_standard_output_alone(capsys, stderr):
    with task("encode", 1) as advance:
        advance()
    say("done")
    assert capsys.readouterr().out == ""


def test_a_task_that_fails_is_not_reported_as_done(stderr):
    with pytest.raises(ZeroDivisionError), task("encode", 1):
        raise ZeroDivisionError
    assert stderr() == ""


def test_on_a_terminal_a_bar_counts_steps_and_shows_the_note(terminal):
    with task("encode", 7) as advance:
        advance(2)
        advance(3, "loss 5")
    assert re.search(r"encode .*5/7 .*loss 5", terminal())


def test_on_a_terminal_a_step_without_a_number_is_one(terminal):
    with task("encode", 7) as advance:
        advance()
        advance()
    assert "2/7" in terminal()


def test_on_a_terminal_a_failure_gets_out(terminal):
    with pytest.raises(ZeroDivisionError), task("encode", 1):
        raise ZeroDivisionError


@pytest.mark.parametrize("text", ["runs/[red]x[/red]", "a :heart: b"])
def test_what_is_said_is_printed_as_it_is(stderr, text):
    say(text)
    assert stderr() == text + "\n"


def test_a_long_line_is_not_broken(stderr):
    say("word " * 100 + "end")
    assert stderr().count("\n") == 1
