"""Devices, made of one CPU in a process of its own, train as one does; so do two processes on one CPU."""

import importlib.util
import os
import socket
import subprocess
import sys

import keras
import numpy as np
import pytest
from fixtures.commands import ON_JAX

from distill.encoders.catalog.loading import load_keras_encoder
from distill.encoders.encoder import KerasEncoder
from distill.errors import ConfigError
from distill.settings.sections import TrainingSettings
from distill.students.static import StaticEncoder
from distill.system.input_files import read_jsonl
from distill.training.devices import require_devices, share_devices

DEVICES = 1, 4
needs_jax = pytest.mark.skipif(
    importlib.util.find_spec("jax") is None, reason="jax is not installed: several devices are only tested with it"
)
# What TensorFlow would do with the student is left out: the program that ends a run is replaced by one that fails.
RUNS = """
import sys
from distill.system.lean_imports import lean_imports
lean_imports()
import jax, numpy
from distill.cli import main
from distill.errors import ConfigError
from distill.settings.sections import TrainingSettings
from distill.training import devices

class Noted(devices.PackedParallel):
    def __init__(self, devices):
        super().__init__(devices=devices)
        of_device = jax.jit(self.share)(numpy.zeros((8, 3))).sharding.shard_shape((8, 3))
        print("shared by", self.device_mesh.devices.size, of_device)

devices.PackedParallel = Noted
sys.executable = "false"
for many in (1, 4):
    try:
        main([*sys.argv[1:], "--set", f"training.devices={many}", "--name", str(many)])
    except SystemExit as left:
        print("exit", left.code)
print("all", devices.require_devices(TrainingSettings(devices=0)))
try:
    devices.require_devices(TrainingSettings(devices=5))
except ConfigError as error:
    print(error)
"""
# The last epoch is kept, as which one is best may hang on rounding. A step an epoch of few and short texts, as each
# shape of a batch is compiled.
STUDENT = [
    *("--languages", "en,de", "--epochs", "2", "--set", "student.averaged_epochs=1"),
    *("--set", "student.batch_size=16", "--set", "student.learning_rate=0.01"),
]
TEACHER = [
    *("--allow-weak-teacher", "--set", "teacher.negatives=1", "--bm25-epochs", "2", "--online-epochs", "0"),
    *("--set", "teacher.batch_size=100", "--set", "teacher.learning_rate=0.01", "--no-lareqa"),
]


@pytest.fixture(scope="module")
def start(tokenizer, tmp_path_factory):
    """No copy of a teacher: what that learns in its language is zero but for rounding, of which Adam makes steps."""
    folder = tmp_path_factory.mktemp("start") / "start"
    keras.utils.set_random_seed(3)
    KerasEncoder(StaticEncoder(vocabulary=len(tokenizer), width=8, hidden=8, dimension=16), tokenizer).save(folder)
    return folder


@pytest.fixture(scope="module")
def runs(plain, static_folder, sentence_data, start, tmp_path_factory):
    """The folder of the runs, and what the process said."""
    folder = tmp_path_factory.mktemp("devices")
    where = ["--config", plain, "--dataset", sentence_data, "--base", static_folder, "--student", start]
    run = ["run", *map(str, where), "--runs", str(folder), *TEACHER, *STUDENT]
    four = {**ON_JAX, "XLA_FLAGS": "--xla_force_host_platform_device_count=4"}
    # What is not shared is the same program in each run.
    four |= {"JAX_COMPILATION_CACHE_DIR": str(folder / "programs"), "JAX_PERSISTENT_CACHE_MIN_COMPILE_TIME_SECS": "0"}
    done = subprocess.run(
        [sys.executable, "-c", RUNS, *run],
        env={**os.environ, **four, "PYTHONPATH": os.pathsep.join(sys.path)},
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stderr
    return folder, done.stdout.splitlines()


@needs_jax
def test_four_devices_train_as_one_does_through_both_stages(runs):
    folder, said = runs
    # The teacher, then the student.
    assert said[:-2] == ["exit 1", *["shared by 4 (2, 3)"] * 2, "exit 1"]
    for stage in ("teacher", "student"):
        one, four = (losses(folder / str(count) / "log.jsonl", stage) for count in DEVICES)
        # The second is of the weights that the first step left, of which dev keeps the teacher's or not.
        assert len(one) == 2 and one[1] < 0.98 * one[0]
        # The devices' sums may differ in the last bit of 32.
        assert four == pytest.approx(one, rel=1e-6, abs=1e-6)
    one, four = (load_keras_encoder(str(folder / str(count) / "student")).model.get_weights() for count in DEVICES)
    assert max(np.abs(got - expected).max() for got, expected in zip(four, one, strict=True)) < 1e-4


def losses(log, stage):
    return [row["loss"] for _, row in read_jsonl(log) if row["event"] == stage and "loss" in row]


@needs_jax
def test_all_devices_are_counted_and_more_than_there_are_are_refused(runs):
    everything, refused = runs[1][-2:]
    assert everything == "all 4"
    assert refused == "training.devices: 5 were asked for and JAX sees 4; give 0 for all"


@needs_jax
def test_two_processes_train_as_one_does_and_the_first_alone_writes(runs, start, sentence_data, tmp_path):
    # What a run's second stage does, towards the teacher that it left.
    given = ["--teacher", runs[0] / "1" / "teacher", "--start", start, "--dataset", sentence_data]
    said = in_two_processes(["transfer", *map(str, given), *STUDENT], tmp_path)
    assert said[0].splitlines()[-1] == f"student: {tmp_path / '0'}" and said[1] == ""
    assert not (tmp_path / "1").exists()
    one, two = (losses(folder / "log.jsonl", "student") for folder in (runs[0] / "1", tmp_path / "0"))
    assert two == pytest.approx(one, rel=1e-5) and len(one) == 2 and one[1] < 0.99 * one[0]
    folders = runs[0] / "1" / "student", tmp_path / "0"
    one, two = (load_keras_encoder(str(folder)).model.get_weights() for folder in folders)
    assert max(np.abs(got - expected).max() for got, expected in zip(two, one, strict=True)) < 1e-4


def in_two_processes(command, folder):
    """Train a student in two processes; returns what each said."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        of_all = {"KERAS_DISTRIBUTION_JOB_ADDRESSES": f"127.0.0.1:{free.getsockname()[1]}", **ON_JAX}
    of_all |= {**os.environ, **of_all, "PYTHONPATH": os.pathsep.join(sys.path)}
    command = [sys.executable, "-m", "distill", *command, "--set", "training.processes=2", "--output"]
    processes = [
        subprocess.Popen(
            [*command, folder / str(number)],
            env={**of_all, "KERAS_DISTRIBUTION_PROCESS_ID": str(number)},
            stderr=subprocess.PIPE,
            text=True,
        )
        for number in range(2)
    ]
    said = [process.communicate(timeout=300)[1] for process in processes]
    assert [process.returncode for process in processes] == [0, 0], said
    return said


def test_another_backend_is_refused_with_the_way_out_and_one_device_needs_nothing():
    for devices in (0, 2):
        with pytest.raises(ConfigError, match="KERAS_BACKEND=jax"):
            share_devices(TrainingSettings(devices=devices))
    assert require_devices(None) == require_devices(TrainingSettings()) == 1


def test_what_exports_is_refused_before_it_trains(distill, tmp_path, capsys):
    (tmp_path / "config.toml").write_text("training.devices = 2", encoding="utf-8")
    for given in (["--set", "training.devices=2"], ["--config", tmp_path / "config.toml"]):
        assert distill("run", *given, "--runs", tmp_path / "runs") == 2
        told = capsys.readouterr().err
        assert "training.devices" in told and "KERAS_BACKEND=jax" in told
    assert not (tmp_path / "runs").exists()
