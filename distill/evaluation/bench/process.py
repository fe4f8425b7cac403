"""A worker process seen from its parent, which starts it as `specs_of` says, sends requests and always ends it."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass, field, replace
from pathlib import Path
from types import TracebackType
from typing import IO, cast

from ... import __file__ as package
from ...encoders.catalog.bundle import find_artefact
from ...encoders.catalog.kinds import require_kind
from ...errors import EncoderError, ExportError, InputError
from ...export import encode
from ...export.formats.format import format_of, read_label
from ...settings.choices import FORMATS
from ...system.types import File, Json

WORKER = Path(__file__).with_name("worker.py")
# Numerical libraries read their number of threads from these variables, so that one thread is really one.
THREAD_VARIABLES = (
    "OMP_NUM_THREADS",
    "OPENBLAS_NUM_THREADS",
    "MKL_NUM_THREADS",
    "TF_NUM_INTRAOP_THREADS",
    "TF_NUM_INTEROP_THREADS",
)


@dataclass(frozen=True)
class WorkerSpec:
    """How an encoder is run: further `values` of the worker's specification, and its bytes on disk, if known here."""

    kind: str
    path: str = ""
    python: str = sys.executable
    values: dict[str, Json] = field(default_factory=dict)
    bytes: int | None = None
    note: str = ""

    def as_values(self) -> dict[str, Json]:
        """Return the values that a worker needs to load the encoder."""
        return {"kind": self.kind, "path": str(self.path), **self.values}


class Worker:
    """One encoder that loads in a new process. Raises `InputError` if the interpreter cannot be run."""

    def __init__(self, name: str, spec: WorkerSpec, threads: int) -> None:
        self.name = name
        self._log = tempfile.TemporaryFile()  # noqa: SIM115  closed with the process
        request = {"threads": threads, "code": encode.__file__, **spec.as_values()}
        try:
            self._process = run_python(
                spec.python, [str(WORKER), json.dumps(request)], subprocess.PIPE, self._log, environment(threads)
            )
        except BaseException:
            self._log.close()
            raise
        self._requests, self._replies = cast(IO[bytes], self._process.stdin), cast(IO[bytes], self._process.stdout)

    def wait_until_ready(self) -> Worker:
        """Wait until the encoder is loaded; raise `EncoderError` if it cannot be, `ExportError` if its process dies."""
        self.reply()
        return self

    def ask(self, do: str, **request: Json) -> dict[str, Json]:
        """Send one request and wait for its reply; `EncoderError` for an error, `ExportError` if the process dies."""
        self.send(do, **request)
        return self.reply()

    def send(self, do: str, **request: Json) -> None:
        """Send one request without waiting."""
        try:
            self._requests.write(json.dumps({"do": do, **request}).encode("ascii") + b"\n")
            self._requests.flush()
        except OSError:
            pass  # the process has died; reading its reply will say how

    def reply(self) -> dict[str, Json]:
        """Wait for the next reply; raise `EncoderError` if it is an error, `ExportError` if the process dies."""
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
            with suppress(OSError):  # a request that nobody reads any more
                pipe.close()

    def __enter__(self) -> Worker:
        return self

    def __exit__(self, *error: type[BaseException] | BaseException | TracebackType | None) -> None:
        self.close()


@contextmanager
def start_workers(specs: Mapping[str, WorkerSpec], threads: int) -> Iterator[dict[str, Worker]]:
    """Start workers and yield them once they are loaded, one after the other; all are ended in any case."""
    with ExitStack() as stack:
        yield {
            name: stack.enter_context(Worker(name, spec, threads)).wait_until_ready() for name, spec in specs.items()
        }


def run_python(
    python: File,
    arguments: Sequence[str],
    stdin: int | None = None,
    stderr: int | IO[bytes] = subprocess.DEVNULL,
    environment: Mapping[str, str] | None = None,
) -> subprocess.Popen[bytes]:
    """Start an interpreter whose output is piped, as `subprocess` does; `InputError` if it cannot be run."""
    try:
        return subprocess.Popen(
            [str(python), *arguments], stdin=stdin, stdout=subprocess.PIPE, stderr=stderr, env=environment
        )
    except OSError as error:
        raise InputError(f"{python}: cannot be run: {error.strerror}; give a Python interpreter") from error


def environment(threads: int) -> dict[str, str]:
    """Return this process's environment variables with the number of threads set and TensorFlow's log silenced."""
    return {**os.environ, **dict.fromkeys(THREAD_VARIABLES, str(threads)), "TF_CPP_MIN_LOG_LEVEL": "3"}


ROOT = Path(package).resolve().parent.parent


def specs_of(sources: Iterable[File]) -> dict[str, WorkerSpec]:
    """Return how bundles, run folders (bundle, else student) and other encoders are run, by their source."""
    return {str(source): spec_of(str(source)) for source in sources}


def spec_of(source: str) -> WorkerSpec:
    """Return how one encoder is run: without our package if its format allows it."""
    try:
        folder = find_artefact(source)
    except EncoderError:
        return _ours(source, require_kind(source).on_disk(source))
    name = read_label(folder).format
    if name not in FORMATS or not format_of(name).worker:
        return _ours(str(folder), [str(folder)])
    return WorkerSpec(format_of(name).worker, str(folder), values={"file": format_of(name).file})


def pair_specs(specs: Mapping[str, WorkerSpec], source: str) -> dict[str, WorkerSpec]:
    """Return specifications that encode documents by another encoder."""
    document = spec_of(source).as_values()
    values = {name: {"question": spec.as_values(), "document": document} for name, spec in specs.items()}
    documents = f"documents by {source}"
    notes = {name: "; ".join(filter(None, [spec.note, documents])) for name, spec in specs.items()}
    return {name: replace(spec, kind="pair", values=values[name], note=notes[name]) for name, spec in specs.items()}


def _ours(source, files):
    return WorkerSpec("distill", source, values={"root": str(ROOT), "files": files})
