"""Going on with a run that was stopped: what of it is taken as it is."""

import json
import shutil
from pathlib import Path

from .config import load_settings, walk
from .errors import InputError
from .files import read_text, write_text
from .loading import RUN_FILE
from .runlog import RunLog

TEACHER, LOG, METRICS, DATA = "teacher", "log.jsonl", "metrics.json", "data"
STAGES, STAGE = "self-training", "stage.json"
# What comes after the teacher and is made anew.
LATER = ("student", "bundle", "report.html")


def settings_file(folder):
    """The path of a stopped run's settings. Raises `InputError` where there is none, or the run came to its end."""
    folder = Path(folder)
    if not (folder / RUN_FILE).is_file():
        raise InputError(f"{folder}: no {RUN_FILE} in it; give --resume the folder of a run that was stopped")
    if (folder / METRICS).is_file():
        raise InputError(f"{folder}: this run is finished; repeat it with --config {folder / RUN_FILE}")
    return folder / RUN_FILE


def require_resumable(settings, folder):
    """Raise `InputError` where `folder` is no stopped run, or one of other settings, which are named."""
    begun, asked = (_by_name(one) for one in (load_settings(settings_file(folder)), settings))
    if other := [name for name in begun if begun[name] != asked[name]]:
        told = "; ".join(f"{name} is {begun[name]!r}, not {asked[name]!r}" for name in other)
        raise InputError(f"{folder} was begun with other settings: {told}; leave these out, or start another run")


def require_same_data(dataset, folder):
    """Raise `InputError` where the run in `folder` was begun on other files of data."""
    begun = next((row["files"] for row in _rows(folder) if row["event"] == DATA), dataset.files)
    if other := changed_files(begun, dataset.files):
        raise InputError(f"{folder} was begun on other data ({', '.join(other)}); restore it, or start another run")


def changed_files(one, other):
    """Names of the files, `{name: sha256}`, that are not the same in both."""
    return sorted(name for name in {*one, *other} if one.get(name) != other.get(name))


def _rows(folder):
    """The rows of a stopped run's log; the last line may have been cut off."""
    path = Path(folder) / LOG
    return [json.loads(line) for line in read_text(path).split("\n")[:-1]] if path.is_file() else []


def _by_name(settings):
    return {name: getattr(section, item.name) for name, section, item in walk(settings)}


def clear(folder, fixed):
    """Remove what the stages after the teacher left, and what was being written; a `fixed` teacher is noted anew."""
    for name in (*LATER, *([TEACHER] if fixed else [])):
        _remove(folder / name)
    for path in [path for name in (*LATER, TEACHER) for path in folder.glob(f".{name}.????????")]:
        _remove(path)


def _remove(path):
    if path.is_dir():
        shutil.rmtree(path)
    else:
        path.unlink(missing_ok=True)


def resumed_log(folder):
    """The run's `RunLog`, with the rows of the stages that are kept; those of others come again."""
    path, rows = folder / LOG, [row for row in _rows(folder) if _is_kept(row, folder)]
    write_text(path, "".join(f"{json.dumps(row, ensure_ascii=False)}\n" for row in rows))
    log = RunLog(path, "a")
    log.rows = rows
    log.start -= rows[-1]["seconds"] if rows else 0.0
    log.write("resumed")
    return log


def _is_kept(row, folder):
    event = row["event"]
    if event == STAGES:
        return (folder / STAGES / f"stage-{row['stage']}" / STAGE).is_file()
    if event.startswith(f"{STAGES} stage "):
        return (folder / STAGES / f"stage-{event.split()[-1]}" / STAGE).is_file()
    return event in (TEACHER, "resumed") and (folder / TEACHER).is_dir()
