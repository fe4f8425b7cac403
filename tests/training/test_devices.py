"""Devices, made of one CPU in a process of its own, train as one does through `distill run`."""

import importlib.util
import os
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
from distill.students.ngram import NGramEncoder
from distill.system.input_files import read_jsonl
from distill.training.devices import require_devices, share_devices

DEVICES = 1, 4
# What TensorFlow would do with the student is left out: the program that ends a run is replaced by one that fails.
RUNS = """
import sys
from distill.system.lean_imports import lean_imports
lean_imports()
from distill.cli import main
from distill.errors import ConfigError
from distill.settings.sections import TrainingSettings
from distill.training import devices

class Noted(devices.PackedParallel):
    def __init__(self, devices):
        super().__init__(devices=devices)
        print("shared by", self.device_mesh.devices.size)

devices.PackedParallel = Noted
sys.executable = "false"
for many in sys.argv[1].split(","):
    try:
        main([*sys.argv[2:], "--set", f"training.devices={many}", "--name", many])
    except SystemExit as left:
        print("exit", left.code)
print("all", devices.require_devices(TrainingSettings(devices=0)))
try:
    devices.require_devices(TrainingSettings(devices=5))
except ConfigError as error:
    print(error)
"""
# The student is no copy of its teacher: where it is one, what it learns in the teacher's language is zero but for
# rounding, of which Adam makes whole steps. The last epoch is kept, as which one is best may hang on rounding too.
FLAGS = [
    *("--languages", "de", "--static", "--allow-weak-teacher", "--set", "teacher.negatives=1"),
    *("--bm25-epochs", "2", "--online-epochs", "0", "--epochs", "2", "--set", "student.averaged_epochs=1"),
    # A step an epoch of few and short texts, as each shape of a batch is compiled.
    *("--set", "teacher.batch_size=100", "--set", "student.batch_size=200", "--no-lareqa"),
]


@pytest.fixture(scope="module")
def runs(tokenizer, plain, sentence_data, tmp_path_factory):
    """The folder of the runs, and what the process said."""
    if importlib.util.find_spec("jax") is None:
        pytest.skip("jax is not installed: training on several devices is only tested with it")
    folder = tmp_path_factory.mktemp("devices")
    keras.utils.set_random_seed(2)
    model = NGramEncoder(
        vocabulary=len(tokenizer), width=16, channels=8, orders=(2,), convolutions=1, hidden=12, dimension=16
    )
    KerasEncoder(model, tokenizer, "base").save(folder / "base")
    where = ["--config", plain, "--dataset", sentence_data, "--base", folder / "base", "--runs", folder]
    four = {**ON_JAX, "XLA_FLAGS": "--xla_force_host_platform_device_count=4"}
    # What is not shared is the same program in each run.
    four |= {"JAX_COMPILATION_CACHE_DIR": str(folder / "programs"), "JAX_PERSISTENT_CACHE_MIN_COMPILE_TIME_SECS": "0"}
    done = subprocess.run(
        [sys.executable, "-c", RUNS, ",".join(map(str, DEVICES)), "run", *map(str, where), *FLAGS],
        env={**os.environ, **four, "PYTHONPATH": os.pathsep.join(sys.path)},
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stderr
    return folder, done.stdout.splitlines()


def test_four_devices_train_as_one_does_through_both_stages(runs):
    folder, said = runs
    # The teacher, then the student.
    assert said[:-2] == ["exit 1", *["shared by 4"] * 2, "exit 1"]
    for stage in ("teacher", "student"):
        one, four = (losses(folder / str(count) / "log.jsonl", stage) for count in DEVICES)
        # The second is of the weights that the first step left, of which dev keeps the teacher's or not.
        assert len(one) == 2 and one[1] < 0.98 * one[0]
        assert four == pytest.approx(one, rel=1e-6)
    one, four = (load_keras_encoder(str(folder / str(count) / "student")).model.get_weights() for count in DEVICES)
    assert max(np.abs(got - expected).max() for got, expected in zip(four, one, strict=True)) < 1e-5


def losses(log, stage):
    return [row["loss"] for _, row in read_jsonl(log) if row["event"] == stage and "loss" in row]


def test_all_devices_are_counted_and_more_than_there_are_are_refused(runs):
    everything, refused = runs[1][-2:]
    assert everything == "all 4"
    assert refused == "training.devices: 5 were asked for and JAX sees 4; give 0 for all"


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
