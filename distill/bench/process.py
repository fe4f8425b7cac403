"""A worker process seen from the parent: started, asked and always ended."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from types import TracebackType
from typing import IO, cast

from .. import __file__ as package
from ..errors import EncoderError, ExportError, InputError
from ..export import encode
from ..system.types import File, Json

WORKER = Path(__file__).with_name("worker.py")
# Numerical libraries take their number of threads from these, so that one thread is really one.
THREAD_VARIABLES = (
    "OMP_NUM_THREADS",
    "OPENBLAS_NUM_THREADS",
    "MKL_NUM_THREADS",
    "TF_NUM_INTRAOP_THREADS",
    "TF_NUM_INTEROP_THREADS",
)


@dataclass(frozen=True)
class Spec:
    """How an encoder is run: the worker's kind of it, what that kind needs, the interpreter, and what to say of it.

    `values` are further keys of the worker's specification; `bytes` is the size on disk where it is computed.
    """

    kind: str
    path: str = ""
    python: str = sys.executable
    values: dict[str, Json] = field(default_factory=dict)
    bytes: int | None = None
    note: str = ""

    def as_values(self) -> dict[str, Json]:
        """Return what a worker needs to know of the encoder."""
        return {"kind": self.kind, "path": str(self.path), **self.values}


class Worker:
    """One encoder, loading in a new process. Raises `InputError` when the interpreter cannot be run."""

    def __init__(self, name: str, spec: Spec, threads: int) -> None:
        self.name = name
        self._log = tempfile.TemporaryFile()  # noqa: SIM115  closed with the process
        told = {"threads": threads, "code": encode.__file__, **spec.as_values()}
        try:
            self._process = run_python(
                spec.python,
                [str(WORKER), json.dumps(told)],
                subprocess.PIPE,
                self._log,
                environment(threads),
            )
        except BaseException:
            self._log.close()
            raise
        self._requests, self._replies = cast(IO[bytes], self._process.stdin), cast(IO[bytes], self._process.stdout)

    def ready(self) -> Worker:
        """Wait until the encoder is loaded. Raises `EncoderError` when it cannot be, `ExportError` when it dies."""
        self.reply()
        return self

    def ask(self, do: str, **request: Json) -> dict[str, Json]:
        """Send one request and return its reply; errors as of `ready`."""
        self.send(do, **request)
        return self.reply()

    def send(self, do: str, **request: Json) -> None:
        """Send one request."""
        try:
            self._requests.write(json.dumps({"do": do, **request}).encode("ascii") + b"\n")
            self._requests.flush()
        except OSError:
            pass  # it has died; reading its reply says how

    def reply(self) -> dict[str, Json]:
        """Wait for the next reply and return it; errors as of `ready`."""
        line = self._replies.readline()
        if not line.endswith(b"\n"):
            raise ExportError(f"{self.name}: its process ended with {self._process.wait()}: {self._last_words()}")
        reply = json.loads(line)
        if "error" in reply:
            raise EncoderError(f"{self.name}: {reply['error']}")
        return reply

    def _last_words(self):
        self._log.seek(0)
        lines = self._log.read().decode("utf-8", "replace").split("\n")
        return next((line.strip() for line in reversed(lines) if line.strip()), "it said nothing")

    def close(self) -> None:
        """End the process, whatever it is doing."""
        self._process.kill()
        self._process.wait()
        for pipe in (self._requests, self._replies, self._log):
            with suppress(OSError):  # a request that is not read any more
                pipe.close()

    def __enter__(self) -> Worker:
        return self

    def __exit__(self, *error: type[BaseException] | BaseException | TracebackType | None) -> None:
        self.close()


@contextmanager
def started(specs: Mapping[str, Spec], threads: int) -> Iterator[dict[str, Worker]]:
    """Yield `{name: Worker}`, each loaded; one loads at a time. None is left, whatever happens."""
    with ExitStack() as stack:
        yield {name: stack.enter_context(Worker(name, spec, threads)).ready() for name, spec in specs.items()}


def run_python(
    python: File,
    arguments: Sequence[str],
    stdin: int | None = None,
    stderr: int | IO[bytes] = subprocess.DEVNULL,
    environment: Mapping[str, str] | None = None,
) -> subprocess.Popen[bytes]:
    """Start an interpreter whose output is read. Raises `InputError` where it cannot be run."""
    try:
        return subprocess.Popen(
            [str(python), *arguments], stdin=stdin, stdout=subprocess.PIPE, stderr=stderr, env=environment
        )
    except OSError as error:
        raise InputError(f"{python}: cannot be run: {error.strerror}; give a Python interpreter") from error


def environment(threads: int) -> dict[str, str]:
    """Return the parent's, with the number of threads and without TensorFlow's chatter."""
    return {**os.environ, **dict.fromkeys(THREAD_VARIABLES, str(threads)), "TF_CPP_MIN_LOG_LEVEL": "3"}


ROOT = Path(package).resolve().parent.parent
