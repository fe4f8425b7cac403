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


def test_what_a_library_writes_is_held_back(capfd):
    with hushed():
        write(b"looking for accelerators\n")
    assert capfd.readouterr().err == ""


def test_what_comes_after_is_shown(capfd):
    with hushed():
        write(b"noise\n")
    write(b"after\n")
    assert capfd.readouterr().err == "after\n"


def test_what_python_wrote_before_is_shown(capfd):
    print("before", file=sys.stderr)
    with hushed():
        write(b"noise\n")
    assert capfd.readouterr().err == "before\n"


def test_standard_output_is_left_alone(capfd):
    with hushed():
        os.write(1, b"result\n")
    assert capfd.readouterr().out == "result\n"


def test_a_failure_shows_what_was_held_back(capfd):
    with pytest.raises(RuntimeError), hushed(show_on_failure=True):
        write(b"no such library\n")
        raise RuntimeError
    assert capfd.readouterr().err == "no such library\n"


def test_a_failure_shows_nothing_unless_asked(capfd):
    with pytest.raises(RuntimeError), hushed():
        write(b"noise\n")
        raise RuntimeError
    assert capfd.readouterr().err == ""


def test_an_interrupt_is_no_failure(capfd):
    # Ctrl-C while Keras starts: nothing went wrong that its log could explain.
    with pytest.raises(KeyboardInterrupt), hushed(show_on_failure=True):
        write(b"looking for accelerators\n")
        raise KeyboardInterrupt
    assert capfd.readouterr().err == ""


def test_it_nests(capfd):
    with hushed():
        with hushed():
            write(b"inner\n")
        write(b"outer\n")
    write(b"after\n")
    assert capfd.readouterr().err == "after\n"


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
