import io
import re

import pytest
from rich.console import Console
from rich.table import Table
from rich.text import Text

from distill.system import progress
from distill.system.progress import SafeConsole, say, task


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
