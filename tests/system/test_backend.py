import os
import subprocess
import sys
from pathlib import Path

import pytest

import distill
from distill.system.backend import hushed

ROOT = Path(distill.__file__).resolve().parent.parent


def write(text):
    """As a C++ library writes: past Python's `sys.stderr`."""
    os.write(2, text)


def test_what_a_library_writes_is_held_back_alone(capfd):
    print("before", file=sys.stderr)
    with hushed():
        os.write(1, b"result\n")
        with hushed():
            write(b"inner\n")
        write(b"outer\n")
    write(b"after\n")
    assert capfd.readouterr() == ("result\n", "before\nafter\n")


@pytest.mark.parametrize(
    "error, show, shown", [(RuntimeError, True, "noise\n"), (RuntimeError, False, ""), (KeyboardInterrupt, True, "")]
)
def test_a_failure_shows_what_was_held_back_and_an_interrupt_is_none(capfd, error, show, shown):
    with pytest.raises(error), hushed(show_on_failure=show):
        write(b"noise\n")
        raise error
    assert capfd.readouterr().err == shown


@pytest.mark.skipif(not Path("/proc/self/fd").is_dir(), reason="counts open files in /proc")
def test_no_file_stays_open():
    before = os.listdir("/proc/self/fd")
    for _ in range(3):
        with hushed():
            write(b"noise\n")
    assert len(os.listdir("/proc/self/fd")) == len(before)


def test_starting_prints_nothing():
    code = "import sys; from distill.system.backend import start; start(); print('tensorflow' in sys.modules)"
    environment = {**os.environ, "PYTHONPATH": str(ROOT), "KERAS_BACKEND": "tensorflow"}
    # As on a user's machine, where nothing keeps TensorFlow quiet.
    environment.pop("TF_CPP_MIN_LOG_LEVEL", None)
    done = subprocess.run([sys.executable, "-c", code], env=environment, capture_output=True, text=True, timeout=120)
    assert (done.returncode, done.stdout, done.stderr) == (0, "True\n", "")
