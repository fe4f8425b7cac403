import importlib.util
import os
import socket
import subprocess
import sys
from pathlib import Path

import pytest
from fixtures.commands import ON_JAX

import distill
from distill.errors import ConfigError
from distill.jobs.compression.compress import compress
from distill.jobs.run import run
from distill.settings.sections import Settings
from distill.settings.store import change_settings
from distill.system.backend import describe_programs, hush_stderr, join_processes, program_folder, require_backend

ROOT = Path(distill.__file__).resolve().parent.parent


def write(text):
    """As a C++ library writes: past Python's `sys.stderr`."""
    os.write(2, text)


def test_what_a_library_writes_is_held_back_alone(capfd):
    print("before", file=sys.stderr)
    with hush_stderr():
        os.write(1, b"result\n")
        with hush_stderr():
            write(b"inner\n")
        write(b"outer\n")
    write(b"after\n")
    assert capfd.readouterr() == ("result\n", "before\nafter\n")


@pytest.mark.parametrize(
    "error, show, shown", [(RuntimeError, True, "noise\n"), (RuntimeError, False, ""), (KeyboardInterrupt, True, "")]
)
def test_a_failure_shows_what_was_held_back_and_an_interrupt_is_none(capfd, error, show, shown):
    with pytest.raises(error), hush_stderr(show_on_failure=show):
        write(b"noise\n")
        raise error
    assert capfd.readouterr().err == shown


@pytest.mark.skipif(not Path("/proc/self/fd").is_dir(), reason="counts open files in /proc")
def test_no_file_stays_open():
    before = os.listdir("/proc/self/fd")
    for _ in range(3):
        with hush_stderr():
            write(b"noise\n")
    assert len(os.listdir("/proc/self/fd")) == len(before)


STARTED = """
import sys
from importlib.util import find_spec
from distill.system.lean_imports import lean_imports
lean_imports()
from distill.system.backend import start
start()
import bm25s
optional = {"jax", "matplotlib", "pandas", "sklearn"}
print("tensorflow" in sys.modules, optional & set(sys.modules), {name for name in optional if not find_spec(name)})
import pandas
"""


def test_starting_prints_nothing_and_leaves_optional_packages_to_those_who_want_them():
    environment = {**os.environ, "PYTHONPATH": str(ROOT), "KERAS_BACKEND": "tensorflow"}
    # As on a user's machine, where nothing keeps TensorFlow quiet.
    environment.pop("TF_CPP_MIN_LOG_LEVEL", None)
    done = subprocess.run([sys.executable, "-c", STARTED], env=environment, capture_output=True, text=True, timeout=120)
    assert (done.returncode, done.stdout, done.stderr) == (0, "True set() set()\n", "")


CHOSEN = """
import os, sys
from distill.system.backend import chosen_backend
for name, value in [("KERAS_HOME", sys.argv[1]), ("KERAS_BACKEND", ""), ("KERAS_BACKEND", "torch")]:
    os.environ[name] = value
    print(chosen_backend(), "keras" in sys.modules)
"""


@pytest.mark.parametrize(
    ("content", "backend"),
    [('{"backend": "jax"}', "jax"), ("{", "tensorflow"), ("[]", "tensorflow"), (None, "tensorflow")],
)
def test_the_backend_is_known_before_keras_is_imported(content, backend, tmp_path):
    if content:
        (tmp_path / "keras.json").write_text(content, encoding="utf-8")
    silent = {name: value for name, value in os.environ.items() if name != "KERAS_BACKEND"} | {"PYTHONPATH": str(ROOT)}
    done = subprocess.run(
        [sys.executable, "-c", CHOSEN, tmp_path], env=silent, capture_output=True, text=True, timeout=60
    )
    assert (done.stderr, done.stdout.split()) == ("", [backend, "False", backend, "False", "torch", "False"])


def test_what_trains_and_exports_by_turns_is_refused_on_another_backend(distill, monkeypatch, tmp_path, capsys):
    import keras

    monkeypatch.setattr(keras.backend, "backend", lambda: "jax")
    small = ["run", "--max-size", "5MB", "--runs", tmp_path / "runs"]
    for command in (small, ["run", "--documents", tmp_path]):
        assert distill(*command) == 2
        line = capsys.readouterr().err.strip()
        assert line.startswith("error: KERAS_BACKEND=jax") and "\n" not in line
    with pytest.raises(ConfigError, match="KERAS_BACKEND=jax"):
        run(change_settings(Settings(), {"budget.max_size": "5MB"}), tmp_path / "runs")
    with pytest.raises(ConfigError, match="KERAS_BACKEND=jax"):
        compress(tmp_path / "runs", Settings())
    assert not (tmp_path / "runs").exists()


@pytest.mark.parametrize(("backend", "told"), [("nojax", "expected one of tensorflow, jax"), ("jax", r"\[jax\]")])
def test_a_backend_that_is_none_or_not_installed_is_refused(monkeypatch, backend, told):
    monkeypatch.setattr("distill.system.backend.chosen_backend", lambda: backend)
    monkeypatch.setattr("distill.system.backend.find_spec", lambda name: None)
    with pytest.raises(ConfigError, match=f"KERAS_BACKEND={backend}: .*{told}"):
        require_backend()


KEPT = """
from distill.system.lean_imports import lean_imports
lean_imports()
from distill.system.backend import describe_programs, program_folder, start
start()
import jax
print(program_folder(), jax.config.jax_compilation_cache_dir, sep="\\n")
print(describe_programs())
jax.config.update("jax_enable_compilation_cache", False)
print(program_folder(), describe_programs())
"""


def test_jax_keeps_its_programs_beside_the_vectors_unless_it_is_told_not_to(tmp_path):
    if importlib.util.find_spec("jax") is None:
        pytest.skip("jax is not installed: only it keeps programs")
    done = subprocess.run(
        [sys.executable, "-c", KEPT],
        env={**os.environ, **ON_JAX, "DISTILL_CACHE": str(tmp_path), "PYTHONPATH": os.pathsep.join(sys.path)},
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stderr
    folder, told_jax, line, off = done.stdout.splitlines()
    assert folder == told_jax and Path(folder).parent == tmp_path / "programs"
    assert line.startswith(f"JAX keeps its programs in {folder} (")
    assert off == "None None"


def test_other_backends_keep_no_programs():
    assert program_folder() is None and describe_programs() is None


JOIN = """
import sys
from distill.errors import DistillError
from distill.system.backend import join_processes
try:
    with join_processes(2, "here") as folder:
        from jax.experimental.multihost_utils import process_allgather
        import jax, os
        print(folder == "here", flush=True)
        while True:
            process_allgather(jax.numpy.ones(1))
            if os.path.exists("lose"):
                os.kill(os.getpid(), 9) if jax.process_index() == int(sys.argv[1]) else None
except DistillError as error:
    print(type(error).__name__, error, file=sys.stderr)
    sys.exit(error.exit_code)
"""


@pytest.mark.skipif(importlib.util.find_spec("jax") is None, reason="jax is not installed")
@pytest.mark.parametrize("lost", [0, 1])
def test_processes_end_with_a_line_when_one_is_lost(lost, tmp_path):
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        of_all = {"KERAS_DISTRIBUTION_JOB_ADDRESSES": f"127.0.0.1:{free.getsockname()[1]}", **ON_JAX}
    both = [
        subprocess.Popen(
            [sys.executable, "-c", JOIN, str(lost)],
            env={**os.environ, **of_all, "PYTHONPATH": str(ROOT), "KERAS_DISTRIBUTION_PROCESS_ID": str(number)},
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            cwd=tmp_path,
        )
        for number in range(2)
    ]
    assert [process.stdout.readline() for process in both] == ["True\n", "False\n"]
    (tmp_path / "lose").touch()
    for process in both:
        _, said = process.communicate(timeout=120)
        assert (
            process.returncode == 1 and said.count("\n") == 1 and said.startswith("TrainingError training.processes: ")
        )


def test_other_backends_train_in_one_process_and_nothing_is_joined_for_one(monkeypatch, tmp_path):
    with join_processes(1, tmp_path) as folder:
        assert folder == tmp_path
    with pytest.raises(ConfigError, match="KERAS_BACKEND=jax"), join_processes(2, tmp_path):
        pass
