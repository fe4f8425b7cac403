"""The command `distill`: a command parses, calls and prints; the work is elsewhere and imported when needed."""

from __future__ import annotations

import os
import signal
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager

import click

from . import __version__
from .commands.answers import answers
from .commands.export import bench, export
from .commands.lir import lir
from .commands.measure import compare, evaluate
from .commands.report import report
from .commands.shape import compress, extend, prune, reduce, subset
from .commands.train import run, teach, transfer
from .commands.tune import tune
from .commands.use import encode, search
from .errors import DistillError, one_line
from .system.extras import training_stack
from .system.lean_imports import lean_imports

CONTEXT = {"help_option_names": ["-h", "--help"], "max_content_width": 110}
COMMANDS = (
    *(run, teach, transfer, tune, compress, prune, subset, reduce, extend, export, bench),
    *(evaluate, compare, lir, report, answers, encode, search),
)


@click.group(context_settings=CONTEXT)
@click.version_option(__version__)
def cli() -> None:
    """Small multilingual sentence encoders for retrieval question answering."""


for command in COMMANDS:
    cli.add_command(command)


def main(arguments: Sequence[str] | None = None) -> None:
    """Run the command line: exit 0, 2 for wrong usage or input, 1 for a failure, 130 by Ctrl-C, 143 by SIGTERM."""
    os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")
    os.environ.setdefault("GLOG_minloglevel", "3")
    lean_imports()
    if hasattr(sys.stdout, "reconfigure"):
        sys.stdout.reconfigure(errors="replace")  # a path may have no UTF-8 form
    with terminable():
        _run(arguments)


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
    except (OSError, MemoryError) as error:
        _fail(f"{type(error).__name__}: {error}", 1)


def _fail(message, code):
    click.echo(f"error: {one_line(message)}", err=True)
    sys.exit(code)
