"""The command `distill`: a command parses, calls and prints; the work is elsewhere and imported when needed."""

from __future__ import annotations

import errno
import os
import signal
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from importlib import import_module

import click

from . import __version__
from .commands.shared.retired import COMMANDS as RETIRED
from .errors import DistillError, one_line
from .system.extras import training_stack
from .system.lean_imports import lean_imports

CONTEXT = {"help_option_names": ["-h", "--help"], "max_content_width": 110}
# By the modules of `commands`.
COMMANDS = {
    "answers": ("answers",),
    "export": ("bench", "export"),
    "index": ("index",),
    "init": ("init",),
    "lir": ("lir",),
    "measure": ("compare", "evaluate"),
    "papers": ("papers",),
    "plug": ("mcp", "page"),
    "read": ("read",),
    "recipes": ("recipes",),
    "report": ("report",),
    "shape": ("add-language", "add-spellings", "add-words", "compress", "prune", "reduce", "subset"),
    "train": ("run", "teach", "transfer"),
    "tune": ("tune",),
    "use": ("encode", "search", "serve"),
}
MODULES = {name: module for module, names in COMMANDS.items() for name in names}


class Commands(click.Group):
    """A group whose commands are imported when they are asked for."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        """Return the names of all commands."""
        return sorted(MODULES)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """Return a command, None where there is none of that name."""
        if cmd_name not in MODULES:
            return None
        return getattr(import_module(f".commands.{MODULES[cmd_name]}", __package__), cmd_name.replace("-", "_"))

    def resolve_command(
        self, ctx: click.Context, args: list[str]
    ) -> tuple[str | None, click.Command | None, list[str]]:
        """Return a command's name, itself and its arguments. Raises `click.UsageError` for one of earlier versions."""
        if instead := RETIRED.get(args[0]):
            raise click.UsageError(instead, ctx=ctx)
        return super().resolve_command(ctx, args)


@click.group(cls=Commands, context_settings=CONTEXT)
@click.version_option(__version__)
def cli() -> None:
    """Small multilingual sentence encoders for retrieval question answering."""


def main(arguments: Sequence[str] | None = None) -> None:
    """Run the command line: exit 0, 2 for wrong usage or input, 1 for a failure, 130 by Ctrl-C, 143 by SIGTERM."""
    os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")
    os.environ.setdefault("GLOG_minloglevel", "3")
    lean_imports()
    open_streams()
    if hasattr(sys.stdout, "reconfigure"):
        sys.stdout.reconfigure(errors="replace")  # a path may have no UTF-8 form
    with terminable():
        _run(arguments)


def open_streams() -> None:
    """Have what is printed go nowhere where standard output or standard error is closed, as a daemon's may be.

    Else a file that is opened has the number of one of them, and gets what libraries print.
    """
    for number in range(3):
        try:
            os.fstat(number)
        except OSError:
            # The lowest number that is free is given.
            os.set_inheritable(os.open(os.devnull, os.O_RDWR), True)
    sys.stdout, sys.stderr = sys.stdout or _nowhere(), sys.stderr or _nowhere()


def _nowhere():
    return open(os.devnull, "w", encoding="utf-8")  # noqa: SIM115, as it stays


class Terminated(KeyboardInterrupt):
    """SIGTERM, which ends a command as Ctrl-C does: what it was writing is removed."""


@contextmanager
def terminable() -> Iterator[None]:
    """Have SIGTERM raise `Terminated` meanwhile."""

    def end(number, frame):
        raise Terminated

    before = signal.signal(signal.SIGTERM, end)
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, before)


def _run(arguments):
    try:
        with training_stack():
            code = cli.main(arguments, prog_name="distill", standalone_mode=False)
        sys.exit(code if isinstance(code, int) else 0)
    except click.exceptions.NoArgsIsHelpError as error:
        click.echo(error.ctx.get_help())
        sys.exit(2)
    except click.MissingParameter as error:
        _fail(_missing(error), 2)
    except click.ClickException as error:
        _fail(error.format_message(), 2)
    except DistillError as error:
        _fail(str(error), error.exit_code)
    except (click.Abort, KeyboardInterrupt) as error:
        # Click makes an Abort of either.
        terminated = isinstance(error.__cause__ or error, Terminated)
        _fail(*(("terminated", 143) if terminated else ("interrupted", 130)))
    except ImportError as error:
        _fail(f"{error}; install what is missing, or unset KERAS_BACKEND for TensorFlow", 1)
    except OSError as error:
        _fail(*_of_system(error))
    except (MemoryError, UnicodeError) as error:
        _fail(f"{type(error).__name__}: {error}", 1)


def _missing(error):
    """All that a command lacks, where click names the first: what is given has been read before it."""
    context = error.ctx
    lacking = [one for one in context.command.params if one.required and one.name not in context.params]
    if len(lacking) < 2:
        return error.format_message()
    return f"Missing {', '.join(f'{one.param_type_name} {one.get_error_hint(context)}' for one in lacking)}."


def _of_system(error):
    """A message and an exit code; a name that no file can have is wrong input."""
    if error.errno in (errno.ENAMETOOLONG, errno.ELOOP):
        return f"{error.filename}: no file can be called so: {error.strerror}; give another name", 2
    return f"{type(error).__name__}: {error}", 1


def _fail(message, code):
    click.echo(f"error: {one_line(message)}", err=True)
    sys.exit(code)
