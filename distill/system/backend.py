"""Find Keras's backend, and start it in one process or several, without the messages of its libraries."""

from __future__ import annotations

import atexit
import contextlib
import ctypes
import gc
import json
import os
import platform
import re
import signal
import sys
import tempfile
from collections.abc import Iterator
from functools import cache
from importlib.util import find_spec
from pathlib import Path

from ..errors import ConfigError, TrainingError, first_line
from .extras import install_command
from .files import cache_folder
from .hashes import digest
from .lean_imports import is_lean
from .progress import console
from .types import File

# Those of Keras that training takes, with the extra that brings each.
BACKENDS = {"tensorflow": "train", "jax": "jax", "torch": None}

# Of the programs that JAX keeps, at most: those of 12 layers are half a megabyte on a processor.
PROGRAM_BYTES = 2 << 30
# The seconds after which a process that says nothing counts as lost, what JAX says of one, and the exit code for it.
SILENCE, LOST, LOST_CODE = 60, re.compile("gloo|nccl|coordination|unavailable|deadline", re.IGNORECASE), 113
# What Keras reads too: the first process's address, the number of processes and that of this one, from 0.
STARTER = [f"KERAS_DISTRIBUTION_{name}" for name in ("JOB_ADDRESSES", "NUM_PROCESSES", "PROCESS_ID")]


@contextlib.contextmanager
def hush_stderr(show_on_failure: bool = False) -> Iterator[None]:
    """Hold back what C++ libraries write to the process's standard error; on request it is shown if the block fails."""
    sys.stderr.flush()
    with tempfile.TemporaryFile() as log:
        kept = os.dup(2)
        os.dup2(log.fileno(), 2)
        try:
            yield
        except Exception:
            if show_on_failure:
                log.seek(0)
                os.write(kept, log.read())
            raise
        finally:
            os.dup2(kept, 2)
            os.close(kept)


def start() -> None:
    """Import Keras and run one operation, so that its backend is up before anything is timed or shown."""
    first = "keras" not in sys.modules
    if first:
        require_backend()
    # TensorFlow takes all of a GPU's memory otherwise, and a teacher in PyTorch finds none in the same process.
    os.environ.setdefault("TF_FORCE_GPU_ALLOW_GROWTH", "true")
    with hush_stderr(show_on_failure=True):
        import keras

        _keep_programs()
        keras.ops.zeros((1,))
    if first or is_lean():
        _keep_objects()


def _keep_programs():
    """Have JAX keep what it compiles for the next process, unless its own settings say where, or not to."""
    folder = program_folder()
    if folder and (jax := sys.modules["jax"]).config.jax_compilation_cache_dir is None:
        jax.config.update("jax_compilation_cache_dir", str(folder))
        # JAX removes what was not used for longest, by locks of this library.
        if find_spec("filelock"):
            jax.config.update("jax_compilation_cache_max_size", PROGRAM_BYTES)


def program_folder() -> Path | None:
    """Return the folder of the programs that JAX keeps: one for each kind of processor, whose instructions they have.

    None on other backends, and where `JAX_ENABLE_COMPILATION_CACHE` turns it off.
    """
    jax = sys.modules.get("jax")
    if chosen_backend() != "jax" or jax is None or not jax.config.jax_enable_compilation_cache:
        return None
    chosen = jax.config.jax_compilation_cache_dir
    return Path(chosen) if chosen else cache_folder() / "programs" / digest(_processor())[:16]


def describe_programs() -> str | None:
    """Return a line on the programs that JAX keeps, with their size and how to turn it off, or None."""
    folder = program_folder()
    if folder is None:
        return None
    size = sum(file.stat().st_size for file in folder.glob("*") if file.is_file())
    return (
        f"JAX keeps its programs in {folder} ({size / 2**20:.0f} MiB, at most {PROGRAM_BYTES / 2**30:.0f} GiB); "
        "JAX_ENABLE_COMPILATION_CACHE=false keeps none"
    )


def _processor():
    """Return the processor's name and instructions as the system tells them: programs of another one may not run."""
    with contextlib.suppress(OSError):
        lines = Path("/proc/cpuinfo").read_text(encoding="utf-8").partition("\n\n")[0].splitlines()
        return "\n".join(line for line in lines if line.startswith(("model name", "flags", "Features", "CPU part")))
    return f"{platform.machine()} {platform.processor()} {platform.node()}"


@cache
def _keep_objects():
    """Keep the backend's objects out of garbage collection, which would take a third of a second to walk over them."""
    gc.freeze()
    atexit.register(_release_objects)


def _release_objects():
    """Let Triton's objects be collected at exit, because its bindings report each one that is left."""
    if "triton" in sys.modules:
        gc.unfreeze()


@contextlib.contextmanager
def join_processes(count: int, output: File) -> Iterator[File]:
    """Run a block in `count` processes, of which this is one; 0 stands for as many as were started.

    Provides the folder that the block writes: `output` in the first process, and in the others, which say nothing, one
    that is removed. Raises `ConfigError` on other backends than JAX and where nothing says which process this is, and
    `TrainingError` if another one is lost.
    """
    if count == 1:
        yield output
        return
    if (backend := chosen_backend()) != "jax" or not hasattr(os, "fork"):
        raise ConfigError(
            f"training.processes: Keras on {backend} and {sys.platform} trains in one process; set KERAS_BACKEND=jax "
            "on Linux or macOS, or training.processes=1"
        )
    _go_on_in_child()
    try:
        console.quiet = not _is_first(count)
        with tempfile.TemporaryDirectory() as aside:
            yield aside if console.quiet else output
    except BaseException as error:
        code = getattr(error, "exit_code", 130 if isinstance(error, KeyboardInterrupt) else 1)
        if isinstance(error, (RuntimeError, ValueError)) and LOST.search(str(error)):
            os._exit(LOST_CODE)
        # At exit JAX would wait for the others, which wait for this one.
        atexit.register(os._exit, code)
        raise


def _is_first(count):
    """Join the other processes. Returns True in the first one."""
    import jax

    place, started, number = map(os.environ.get, STARTER)
    try:
        numbers = count or (int(started) if started else None), int(number) if number else None
        jax.distributed.initialize(place and place.split(",")[0], *numbers, heartbeat_timeout_seconds=SILENCE)
    except (ValueError, TypeError) as error:
        raise ConfigError(
            f"training.processes: {first_line(error)}; start the processes by SLURM or MPI, or set {', '.join(STARTER)}"
        ) from error
    return jax.process_index() == 0


def _go_on_in_child():
    """Return in a child of this process, which waits and ends as the child does.

    JAX aborts a process that has lost another one, with many lines of C++: this one says it in one.
    """
    if not (child := os.fork()):
        # The signals of a terminal go to the one that waits, and the child ends with it.
        os.setpgrp()
        with contextlib.suppress(AttributeError):
            ctypes.CDLL(None).prctl(1, signal.SIGKILL)
        sys.stdout, sys.stderr = (os.fdopen(os.dup(of), "w", buffering=1, errors="backslashreplace") for of in (1, 2))
        for of in (1, 2):
            os.dup2(os.open(os.devnull, os.O_WRONLY), of)
        return
    console.quiet, code = True, None
    while code is None:
        try:
            code = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
        except KeyboardInterrupt as error:
            os.kill(child, signal.SIGINT if type(error) is KeyboardInterrupt else signal.SIGTERM)
    if code < 0 or code == LOST_CODE:
        raise TrainingError(
            f"training.processes: another process was not reached, or ended, or said nothing for {SILENCE} seconds; "
            "see what it says, and start all of them again"
        )
    sys.exit(code)


def chosen_backend() -> str:
    """Return the name of Keras's backend without importing it: `KERAS_BACKEND`, or what Keras's own file names."""
    if "keras" in sys.modules:
        return sys.modules["keras"].backend.backend()
    if named := os.environ.get("KERAS_BACKEND"):
        return named
    with contextlib.suppress(OSError, ValueError, AttributeError):
        file = Path(os.environ.get("KERAS_HOME") or "~/.keras").expanduser() / "keras.json"
        return json.loads(file.read_bytes()).get("backend", "tensorflow")
    return "tensorflow"


def require_backend() -> None:
    """Raise `ConfigError` if Keras would run on an unknown backend, or on one that is not installed."""
    backend = chosen_backend()
    if backend not in BACKENDS:
        raise ConfigError(f"KERAS_BACKEND={backend}: expected one of {', '.join(BACKENDS)}")
    # A light installation has no TensorFlow: what lacks it says so itself.
    if backend != "tensorflow" and find_spec(backend) is None:
        extra = BACKENDS[backend]
        command = install_command(extra) if extra else f"pip install {backend}"
        raise ConfigError(f"KERAS_BACKEND={backend}: it is not installed; run: {command}")


def require_export_backend(command: str) -> None:
    """Raise `ConfigError` for a command that exports what it trains, on another backend than TensorFlow."""
    if (backend := chosen_backend()) != "tensorflow":
        raise ConfigError(
            f"KERAS_BACKEND={backend}: {command} exports with TensorFlow; set KERAS_BACKEND=tensorflow, or train with "
            "distill teach and distill transfer on what you like, and export their encoder with TensorFlow"
        )
