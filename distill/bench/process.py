"""A worker process seen from the parent: started, asked and always ended."""

import json
import os
import subprocess
import sys
import tempfile
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path

from .. import __file__ as package
from ..errors import EncoderError, ExportError, InputError
from ..export import encode

WORKER = Path(__file__).with_name("worker.py")
# What the numerical libraries take their number of threads from, so that one thread is really one.
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
    values: dict = field(default_factory=dict)
    bytes: int | None = None
    note: str = ""


class Worker:
    """One encoder, loading in a new process. Raises `InputError` when the interpreter cannot be run."""

    def __init__(self, name, spec, threads):
        self.name = name
        self._log = tempfile.TemporaryFile()  # noqa: SIM115  closed with the process
        told = {"kind": spec.kind, "path": str(spec.path), "threads": threads, "code": encode.__file__, **spec.values}
        try:
            self._process = run_python(
                spec.python,
                [str(WORKER), json.dumps(told)],
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=self._log,
                env=environment(threads),
            )
        except BaseException:
            self._log.close()
            raise

    def ready(self):
        """Wait until the encoder is loaded. Raises `EncoderError` when it cannot be, `ExportError` when it dies."""
        self.reply()
        return self

    def ask(self, do, **request):
        """One request and its reply; errors as of `ready`."""
        self.send(do, **request)
        return self.reply()

    def send(self, do, **request):
        try:
            self._process.stdin.write(json.dumps({"do": do, **request}).encode("ascii") + b"\n")
            self._process.stdin.flush()
        except OSError:
            pass  # it has died; reading its reply says how

    def reply(self):
        """The next reply, waited for; errors as of `ready`."""
        line = self._process.stdout.readline()
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

    def close(self):
        """End the process, whatever it is doing."""
        self._process.kill()
        self._process.wait()
        for pipe in (self._process.stdin, self._process.stdout, self._log):
            with suppress(OSError):  # a request that is not read any more
                pipe.close()

    def __enter__(self):
        return self

    def __exit__(self, *error):
        self.close()


@contextmanager
def started(specs, threads):
    """Yield `{name: Worker}`, each loaded; one loads at a time. None is left, whatever happens."""
    with ExitStack() as stack:
        yield {name: stack.enter_context(Worker(name, spec, threads)).ready() for name, spec in specs.items()}


def run_python(python, arguments, **options):
    """`Popen` of an interpreter; `InputError` where it cannot be run."""
    try:
        return subprocess.Popen([str(python), *arguments], **options)
    except OSError as error:
        raise InputError(f"{python}: cannot be run: {error.strerror}; give a Python interpreter") from error


def environment(threads):
    """The parent's, with the number of threads and without TensorFlow's chatter."""
    return {**os.environ, **dict.fromkeys(THREAD_VARIABLES, str(threads)), "TF_CPP_MIN_LOG_LEVEL": "3"}


ROOT = Path(package).resolve().parent.parent
