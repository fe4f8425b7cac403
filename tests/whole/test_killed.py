"""A run on the sample is killed at ten places of its life, each stage at least once, and ends with the same figures."""

import contextlib
import os
import random
import signal
import subprocess
import sys
import time

import keras
import pytest

from distill.encoders.encoder import KerasEncoder
from distill.students.static import StaticEncoder
from distill.system.reading import read_json

FLAGS = [
    *("--languages", "de", "--negatives", "1"),
    *("--bm25-epochs", "1", "--online-epochs", "2", "--epochs", "3", "--averaged-epochs", "2"),
    *("--min-cosine", "0.5", "--max-drop", "100", "--allow-weak-teacher", "--checkpoint-seconds", "0"),
]
# Each stage and what is there as soon as it begins.
STAGES = {
    "evaluate base": "log.jsonl",
    "teacher": "checkpoint/measured-base/state.npz",
    "evaluate teacher": "teacher",
    "student": "checkpoint/measured-teacher/state.npz",
    "evaluate student": "student",
    "export": "checkpoint/measured-student/state.npz",
    "evaluate bundle": "bundle",
    "benchmark": "checkpoint/measured-bundle/state.npz",
}
# In the middle of a training, where there is something to go on from.
WITHIN = {"teacher": "checkpoint/teacher/state.npz", "student": "checkpoint/student/state.npz"}
PLACES = [*STAGES.items(), *WITHIN.items()]


@pytest.fixture(scope="module")
def command(tokenizer, tmp_path_factory):
    keras.utils.set_random_seed(2)
    # Without convolutions, which compiles fastest.
    model = StaticEncoder(vocabulary=len(tokenizer), width=16, hidden=12, dimension=16)
    base = tmp_path_factory.mktemp("base") / "encoder"
    KerasEncoder(model, tokenizer, "base").save(base)
    return ["run", "--base", str(base), *FLAGS]


@pytest.fixture(scope="module")
def whole(command, tmp_path_factory):
    """The metrics of the run that is not killed."""
    runs = tmp_path_factory.mktemp("whole")
    process = started([*command, "--runs", str(runs), "--name", "run"])
    process.communicate()
    assert process.returncode == 0
    return read_json(runs / "run" / "metrics.json")


def started(arguments):
    return subprocess.Popen(
        [sys.executable, "-m", "distill", *arguments], stderr=subprocess.DEVNULL, stdout=subprocess.DEVNULL
    )


def killed(command, runs, marker, seconds):
    """Start the run and kill it so many seconds after a file is there; the stage that it truly was in."""
    process, folder = started([*command, "--runs", str(runs), "--name", "run"]), runs / "run"
    while not (folder / marker).exists():
        assert process.poll() is None, "it ended before the stage began"
        time.sleep(0.005)
    time.sleep(seconds)
    process.send_signal(signal.SIGKILL)
    process.wait()
    return [name for name, path in STAGES.items() if (folder / path).exists()][-1]


def without_time(metrics):
    return {**metrics, "timings": sorted(metrics["timings"])}


@pytest.mark.parametrize("place", range(len(PLACES)), ids=[f"{stage} {n}" for n, (stage, _) in enumerate(PLACES)])
def test_a_killed_run_goes_on_and_has_the_same_figures(distill, command, whole, tmp_path, place):
    stage, marker = PLACES[place]
    # Well within the stage, so that no load of the machine makes it another.
    seconds = 0.1 * whole["timings"].get(stage, 0.5) * random.Random(place).random()
    within, folder = marker in WITHIN.values(), tmp_path / "run"
    assert killed(command, tmp_path, marker, 0 if within else seconds) == stage
    assert (folder / marker).exists() and not (folder / "metrics.json").exists()
    assert distill("run", "--resume", folder) == 0
    assert without_time(read_json(folder / "metrics.json")) == without_time(whole)
    assert sorted(os.listdir(folder)) == [
        *("bundle", "config.toml", "log.jsonl", "metrics.json", "report.html", "student", "teacher")
    ]


def test_a_run_that_is_terminated_says_how_to_go_on(command, tmp_path):
    process = subprocess.Popen(
        [sys.executable, "-m", "distill", *command, "--runs", str(tmp_path), "--name", "run"],
        stderr=subprocess.PIPE,
        stdout=subprocess.DEVNULL,
        text=True,
    )
    with contextlib.closing(process.stderr):
        while not (tmp_path / "run" / "log.jsonl").exists():
            assert process.poll() is None
            time.sleep(0.005)
        process.terminate()
        said = [line for line in process.stderr.read().splitlines() if line]
    assert process.wait() == 143
    assert said[-2:] == [f"stopped; go on with: distill run --resume {tmp_path / 'run'}", "error: terminated"]
    assert not list((tmp_path / "run").rglob(".*.aside"))
    # It was stopped as soon as it had begun, and even then can be gone on with.
    assert (tmp_path / "run" / "config.toml").is_file()
