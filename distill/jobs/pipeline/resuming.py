"""Resume a run that was stopped: what it has finished is kept."""

from __future__ import annotations

import json
import math
from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path

from ...encoders.catalog.identity import fingerprint, own_files
from ...encoders.catalog.kinds import METRICS, RUN_FILE
from ...encoders.catalog.setting_files import NamedPath
from ...encoders.encoder import Encoder
from ...errors import InputError
from ...settings.sections import BudgetSettings, Work
from ...settings.store import list_free, load_settings, parse_config, values_by_name
from ...system.files import find_leftovers, remove, write_text
from ...system.hashes import changed_files, fingerprint_of
from ...system.input_files import NUMBER, decode_text, parse_line, require_form
from ...system.types import File
from ...training.checkpoints import CHECKPOINT, STATE, Checkpoint
from ...training.log import RunLog
from .finished_runs import SEARCH

TEACHER, STUDENT, LOG, DATA = "teacher", "student", "log.jsonl", "data"
# A run that an earlier version began has noted no files of these settings.
UNNOTED = ("vocabulary.add_words", "evaluation.peers")
MODEL = "teacher.model"
# Self-training's stages: their folder and the file of one that is complete.
STAGES, STAGE = "self-training", "stage.json"


def find_settings(folder: File) -> Path:
    """Return the path of a run's settings. Raises `InputError` if there is none."""
    folder = Path(folder)
    if not (folder / RUN_FILE).is_file():
        raise InputError(f"{folder}: no {RUN_FILE} in it; give --resume the folder of a run that was stopped")
    return folder / RUN_FILE


def require_resumable(config: str, folder: Path) -> None:
    """Require that a folder holds a stopped run of these settings."""
    settings = parse_config(config)
    begun, requested = (values_by_name(one) for one in (load_settings(find_settings(folder)), settings))
    if other := [name for name in begun if begun[name] != requested[name] and name not in list_free(Work.RUN)]:
        changes = "; ".join(f"{name} is {begun[name]!r}, not {requested[name]!r}" for name in other)
        raise InputError(f"{folder} was begun with other settings: {changes}; leave these out, or start another run")
    if is_finished(settings.budget, folder):
        raise InputError(f"{folder}: this run is finished; repeat it with --config {folder / RUN_FILE}")


def is_finished(budget: BudgetSettings, folder: Path) -> bool:
    """Tell whether a run has everything that was asked for. Returns True if nothing is left to do."""
    searched = budget.max_size or budget.max_ms
    whole = (folder / METRICS).is_file() and not (folder / CHECKPOINT).is_dir()
    return whole and (not searched or (folder / SEARCH).is_file())


def require_same_data(folder: Path, files: Mapping[str, str], sources: Mapping[str, str]) -> None:
    """Raise `InputError` if a stopped run was begun on data, or other inputs of `hash_sources`, that differ."""
    row = next((row for row in _rows(folder) if row["event"] == DATA), {})
    other = changed_files(row.get("files", files), files)
    if known := row.get("sources"):
        unnoted = {name for name in UNNOTED if not any(of.startswith(f"{name} ") for of in known)}
        other += changed_files(known, {of: hash for of, hash in sources.items() if of.split(" ")[0] not in unnoted})
    if other:
        raise InputError(f"{folder} was begun on other data ({', '.join(other)}); restore it, or start another run")


def hash_sources(named: Sequence[NamedPath], model: str = "", teacher: Encoder | None = None) -> dict[str, str]:
    """Hash everything that a run is made from besides its data set: text, pairs, encoders in folders.

    A teacher is identified by `identity.fingerprint`, wherever it was loaded from.
    """
    # A fixed teacher is told by what was loaded.
    others = [one for one in named if one.setting != MODEL]
    hashes = {f"{one.setting} {one.path}": fingerprint_of(*_content(one.path)) for one in others}
    return {**hashes, **({f"{MODEL} {model}": fingerprint(model, teacher)} if teacher is not None else {})}


def _content(path):
    """Return the files of a path; if it is an encoder's folder, the encoder's files."""
    return own_files(path) if path.is_dir() else [path]


def _rows(folder):
    """Read the log of a stopped run, whose last line may be cut off. Raises `DataError` for another malformed line."""
    path = Path(folder) / LOG
    if not path.is_file():
        return []
    # The last line may have been cut off within a letter.
    whole = decode_text(path, path.read_bytes().rpartition(b"\n")[0]).split("\n")
    rows = [parse_line(path, number, line) for number, line in enumerate(whole, start=1) if line]
    for number, row in enumerate(rows, start=1):
        require_form(f"{path}, line {number}", row, {"event": str, "seconds": NUMBER})
    return rows


def clear_unfinished(folder: Path, fixed: bool = False) -> None:
    """Remove half-written files and keep whole ones; the record of a fixed teacher is written anew."""
    for path in find_leftovers(folder):
        remove(path)
    if fixed:
        remove(folder / TEACHER)


def resume_log(folder: Path) -> RunLog:
    """Return the run's log with the rows of everything that is kept. The other rows will be written again."""
    path, rows = folder / LOG, _keep_rows(_rows(folder), folder)
    write_text(path, "".join(f"{json.dumps(row, ensure_ascii=False)}\n" for row in rows))
    log = RunLog(path, "a")
    log.rows = rows
    log.start -= rows[-1]["seconds"] if rows else 0.0
    log.write("resumed")
    return log


def _keep_rows(rows, folder):
    """Return the first rows of each event, as many as the files in the folder account for."""
    counted, limits, kept = Counter(), {}, []
    for row in rows:
        key = row["event"], row.get("encoder"), row.get("stage")
        counted[key] += 1
        if key not in limits:
            limits[key] = _count_rows(row, folder)
        if counted[key] <= limits[key]:
            kept.append(row)
    return kept


def _count_rows(row, folder):
    """Count the rows of an event that are kept: all if it is finished, else those of the checkpoint."""
    event, stages = row["event"], folder / STAGES
    if event in ("evaluation", "lareqa"):
        # As `Run.checkpoint` names it.
        measured = f"measured {row.get('encoder')}".replace(" ", "-")
        done = (folder / CHECKPOINT / measured / STATE).is_file()
    elif event == STAGES:
        done = (stages / f"stage-{row.get('stage')}" / STAGE).is_file()
    elif event.startswith(f"{STAGES} stage "):
        done = (stages / f"stage-{event.split()[-1]}" / STAGE).is_file()
    else:
        done = event in ("resumed", DATA) or (event in (TEACHER, STUDENT) and (folder / event).is_dir())
    return math.inf if done else Checkpoint(folder / CHECKPOINT / event.replace(" ", "-")).facts().get("rows", 0)
