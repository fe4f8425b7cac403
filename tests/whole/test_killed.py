"""A run is killed at three places of its life, within and after its trainings, and ends with the same figures.

It is one run, which goes on after each kill: what each of them left is what all that follows begins with. With
DISTILL_KILLED=everywhere it is killed at ten places, in every stage. It trains, proves and ships in a package without
the guests, the search engine and the papers.
"""

import contextlib
import json
import os
import random
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest

import distill
from distill.system.extras import GUESTS
from distill.system.input_files import read_json

FLAGS = [
    *("--languages", "de", "--set", "teacher.negatives=1"),
    *("--bm25-epochs", "1", "--online-epochs", "1", "--epochs", "2", "--set", "student.averaged_epochs=2"),
    *("--set", "export.min_cosine=0.5", "--max-drop", "100", "--allow-weak-teacher"),
]
# No setting, but a matter of the process.
OFTEN = "--checkpoint-seconds", "0"
# Each stage and what is there as soon as it begins.
STAGES = {
    "evaluate base": "log.jsonl",
    "teacher": "checkpoint/measured-base/state.npz",
    "evaluate teacher": "teacher",
    "student": "checkpoint/student/state.npz",
    "evaluate student": "student",
    "export": "checkpoint/measured-student/state.npz",
    "evaluate bundle": "bundle",
    "benchmark": "checkpoint/measured-bundle/state.npz",
}
# In the middle of a training, where there is something to go on from.
WITHIN = {"teacher": "checkpoint/teacher/state.npz", "student": "checkpoint/student/state.npz"}
EVERYWHERE = os.environ.get("DISTILL_KILLED") == "everywhere"
# What is measured is kept in the same way after each training.
BESIDE = list(STAGES) if EVERYWHERE else ["evaluate student"]
# In the order of a run.
PLACES = [*((stage, STAGES[stage]) for stage in BESIDE), *WITHIN.items()]
PLACES.sort(key=lambda place: list(STAGES).index(place[0]))


@pytest.fixture(scope="module")
def command(static_folder, plain, sample_folder):
    flags = ["--config", plain, "--dataset", sample_folder, "--base", static_folder]
    return ["run", *map(str, flags), *FLAGS, *OFTEN]


# Imports what a run needs once, which takes most of its time, and makes of itself a process a run.
STARTER = """
import json, os, signal, sys
# An editable installation would find what the folder lacks.
sys.meta_path[:] = [finder for finder in sys.meta_path if "editable" not in getattr(finder, "__module__", "")]
from distill.cli import main
from distill.system.extras import GUESTS, has_guest
from distill.system.lean_imports import lean_imports
assert not any(map(has_guest, GUESTS))
lean_imports()
import keras
from distill.evaluation.bench import rounds
rounds.COLD_STARTS = 1
signal.signal(signal.SIGCHLD, signal.SIG_IGN)
for line in sys.stdin:
    said, *arguments = json.loads(line)
    if not (process := os.fork()):
        signal.signal(signal.SIGCHLD, signal.SIG_DFL)
        # Which a shell's background job, and so its child, ignores.
        signal.signal(signal.SIGINT, signal.default_int_handler)
        for number, name in enumerate((os.devnull, said), start=1):
            os.dup2(os.open(name, os.O_WRONLY | os.O_CREAT), number)
        try:
            main(arguments)
        except SystemExit as left:
            print("exit", left.code, file=sys.stderr)
            raise
    print(process, flush=True)
"""


@pytest.fixture(scope="module")
def without_guests(tmp_path_factory):
    """A folder to import `distill` from that has all of the package but its guests."""
    package = Path(distill.__file__).resolve().parent
    place = tmp_path_factory.mktemp("installed") / "distill"
    place.mkdir()
    for path in package.iterdir():
        if path.name not in (*GUESTS, "__pycache__"):
            (place / path.name).symlink_to(path)
    for name in ("students", "teachers", "export"):
        (place / name).symlink_to(package.parent / name)
    return place.parent


@pytest.fixture(scope="module")
def start(without_guests):
    """`start(arguments, said)` -> the number of a process that runs the command and writes its words to a file."""
    piped = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "stderr": subprocess.DEVNULL, "text": True}
    # The folder it begins in, which a checkout may be, comes before all that Python is told.
    piped |= {"cwd": without_guests, "env": {**os.environ, "PYTHONPATH": str(without_guests)}}
    with subprocess.Popen([sys.executable, "-c", STARTER], **piped) as starter:

        def run(arguments, said=os.devnull):
            starter.stdin.write(json.dumps([str(argument) for argument in [said, *arguments]]) + "\n")
            starter.stdin.flush()
            return int(starter.stdout.readline())

        yield run


def is_running(process):
    try:
        os.kill(process, 0)
    except ProcessLookupError:
        return False
    return True


def ended(process):
    while is_running(process):
        time.sleep(0.005)


def killed(process, file, before, seconds):
    """Kill the run so many seconds after a file is there that was not `before`."""
    while written(file) == before:
        assert is_running(process), f"it ended before {file}"
        time.sleep(0.005)
    time.sleep(seconds)
    os.kill(process, signal.SIGKILL)
    ended(process)


def written(file):
    """When a file was written last."""
    with contextlib.suppress(FileNotFoundError):
        return file.stat().st_mtime_ns


def without_time(metrics):
    return {**metrics, "timings": sorted(metrics["timings"])}


def test_a_run_that_is_killed_again_and_again_goes_on_and_has_the_same_figures(start, command, tmp_path):
    ended(start([*command, "--runs", tmp_path / "whole", "--name", "run"]))
    assert len(PLACES) == (10 if EVERYWHERE else 3)
    first, folder = tmp_path / "whole" / "run", tmp_path / "run"
    whole = read_json(first / "metrics.json")
    # The config that a run leaves says all of it.
    arguments = ["run", "--config", first / "config.toml", "--runs", tmp_path, "--name", "run", *OFTEN]
    for place, (stage, marker) in enumerate(PLACES):
        # Well within the stage, so that no load of the machine makes it another.
        seconds = 0.1 * whole["timings"].get(stage, 0.5) * random.Random(place).random()
        before = written(folder / marker)
        killed(start(arguments), folder / marker, before, 0 if marker in WITHIN.values() else seconds)
        assert [name for name, path in STAGES.items() if (folder / path).exists()][-1] == stage
        assert not (folder / "metrics.json").exists()
        arguments = ["run", "--resume", folder]
    ended(start(arguments))
    assert without_time(read_json(folder / "metrics.json")) == without_time(whole)
    # The artefact too, to the byte.
    for name in ("config.toml", "bundle/card.json"):
        assert (folder / name).read_bytes() == (first / name).read_bytes()
    assert sorted(os.listdir(folder)) == [
        *("bundle", "config.toml", "log.jsonl", "metrics.json", "report.html", "student", "teacher")
    ]


@pytest.mark.parametrize(
    ("number", "words"),
    [(signal.SIGTERM, ["error: terminated", "exit 143"]), (signal.SIGINT, ["error: interrupted", "exit 130"])],
)
def test_a_run_that_is_stopped_says_how_to_go_on(start, command, tmp_path, number, words):
    said, run = tmp_path / "said", tmp_path / "run"
    process = start([*command, "--runs", tmp_path, "--name", "run"], said)
    while not (said.exists() and "questions in" in said.read_text(encoding="utf-8")):
        assert is_running(process), said.read_text(encoding="utf-8")
        time.sleep(0.005)
    os.kill(process, number)
    ended(process)
    lines = [line for line in said.read_text(encoding="utf-8").splitlines() if line]
    assert lines[0].startswith("Keras on tensorflow: ")
    assert lines[1] == "sample: 48 documents, 144 passages, questions in en, de"
    assert lines[-3:] == [f"stopped; go on with: distill run --resume {run}", *words]
    assert not list(run.rglob(".*.aside"))
    # It was stopped as soon as it had begun, and even then can be gone on with.
    assert (run / "config.toml").is_file()
