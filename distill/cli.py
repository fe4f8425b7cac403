"""The command `distill`: a command parses, calls and prints; the work is elsewhere and imported when needed."""

from __future__ import annotations

import errno
import os
import signal
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from importlib import import_module

import click
import cloup

from . import __version__
from .commands.shared.command import Group
from .errors import DistillError, one_line
from .system.extras import training_stack
from .system.lean_imports import lean_imports

CONTEXT = {
    "help_option_names": ["-h", "--help"],
    "formatter_settings": cloup.HelpFormatter.settings(max_width=110, col1_max_width=26),
}
# `{title in the help: {command: its module in commands}}`.
SECTIONS = {
    "Train": {
        "init": "train",
        "run": "train",
        "recipes": "recipes",
        "report": "train",
        "tune": "tune",
        "teach": "train",
        "transfer": "train",
    },
    "Measure": {"evaluate": "measure", "compare": "measure", "bench": "export"},
    "Shape": {
        "compress": "shape",
        "prune": "shape",
        "subset": "shape",
        "reduce": "shape",
        "add-language": "shape",
        "add-words": "shape",
        "add-spellings": "shape",
    },
    "Ship": {"export": "export", "encode": "use"},
    "Search documents": {"index": "index", "search": "use", "page": "index", "serve": "use", "mcp": "index"},
    "Reproduce papers": {"papers": "papers", "answers": "papers", "read": "read", "lir": "lir"},
}
MODULES = {name: module for commands in SECTIONS.values() for name, module in commands.items()}


class Commands(Group):
    """A group whose commands are imported when they are needed."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        return sorted(MODULES)

    def get_command(self, ctx: click.Context, cmd_name: str) -> click.Command | None:
        """Return the command of a name, None if there is none."""
        return _import_command(cmd_name) if cmd_name in MODULES else None

    def list_sections(self, ctx: click.Context, include_default_section: bool = True) -> list[cloup.Section]:
        return [
            cloup.Section(title, {name: _import_command(name) for name in names}) for title, names in SECTIONS.items()
        ]

    def handle_bad_command_name(
        self, bad_name: str, valid_names: list[str], error: click.UsageError
    ) -> click.UsageError:
        """Return the error for a name that there is not; it suggests the nearest ones."""
        return super().handle_bad_command_name(bad_name, sorted(MODULES), error)


def _import_command(name):
    return getattr(import_module(f".commands.{MODULES[name]}", __package__), name.replace("-", "_"))


@click.group(
    cls=Commands,
    context_settings=CONTEXT,
    epilog="distill COMMAND --help explains a command.",
    examples=[
        "distill index --documents notes --output kb",
        'distill search --index kb "Where does the Nile end?"',
        "distill init my-data",
        "distill run --config my-data/distill.toml",
    ],
)
@click.version_option(__version__)
def cli() -> None:
    """Small multilingual sentence encoders for retrieval question answering."""


def main(arguments: Sequence[str] | None = None) -> None:
    """Run the command line and exit.

    The exit code is 0, 2 for wrong usage or input, 1 for a failure, 130 for Ctrl-C and 143 for SIGTERM. `arguments` are
    the command line without the program's name; by default that of the process.
    """
    os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")
    os.environ.setdefault("GLOG_minloglevel", "3")
    lean_imports()
    open_streams()
    if hasattr(sys.stdout, "reconfigure"):
        sys.stdout.reconfigure(errors="replace")  # a path may have no UTF-8 form
    with raise_on_sigterm():
        _run(arguments)


def open_streams() -> None:
    """Open the null device in place of a standard stream that is closed, as a daemon's may be.

    Otherwise the next file that is opened would get its number, and what libraries print.
    """
    for number in range(3):
        try:
            os.fstat(number)
        except OSError:
            # The lowest number that is free is given.
            os.set_inheritable(os.open(os.devnull, os.O_RDWR), True)
    sys.stdout, sys.stderr = sys.stdout or _open_null(), sys.stderr or _open_null()


def _open_null():
    return open(os.devnull, "w", encoding="utf-8")  # noqa: SIM115, as it stays


class Terminated(KeyboardInterrupt):
    """SIGTERM, which ends a command as Ctrl-C does: the files that it was writing are removed."""

    exit_code = 143


@contextmanager
def raise_on_sigterm() -> Iterator[None]:
    """Raise `Terminated` at SIGTERM within the context."""

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
        _fail(_describe_missing(error), 2)
    except click.ClickException as error:
        _fail(error.format_message(), 2)
    except DistillError as error:
        _fail(str(error), error.exit_code)
    except (click.Abort, KeyboardInterrupt) as error:
        # Click makes an Abort of either.
        terminated = isinstance(error.__cause__ or error, Terminated)
        _fail(*(("terminated", Terminated.exit_code) if terminated else ("interrupted", 130)))
    except ImportError as error:
        _fail(f"{error}; install what is missing, or unset KERAS_BACKEND for TensorFlow", 1)
    except OSError as error:
        _fail(*_describe_system_error(error))
    except (MemoryError, UnicodeError) as error:
        _fail(f"{type(error).__name__}: {error}", 1)


def _describe_missing(error):
    """Return a message with everything that a command lacks; click names the first of it."""
    context = error.ctx
    lacking = [one for one in context.command.params if one.required and one.name not in context.params]
    if len(lacking) < 2:
        return error.format_message()
    return f"Missing {', '.join(f'{one.param_type_name} {one.get_error_hint(context)}' for one in lacking)}."


def _describe_system_error(error):
    """Return a message and an exit code; a name that no file can have is wrong input."""
    if error.errno in (errno.ENAMETOOLONG, errno.ELOOP):
        return f"{error.filename}: no file can be called so: {error.strerror}; give another name", 2
    place = f"{error.filename}: " if error.filename else ""
    if error.errno in (errno.ENOSPC, errno.EDQUOT):
        return f"{place}the disk is full; free some space, and run the command again", 1
    return f"{place}{error.strerror}" if error.strerror else f"{type(error).__name__}: {error}", 1


def _fail(message, code):
    with suppress(OSError):
        click.echo(f"error: {one_line(message)}", err=True)
    sys.exit(code)
