"""Going on with a run that was stopped: what of it is taken as it is."""

from __future__ import annotations

import json
import math
from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path

from ..catalog.identity import fingerprint, own_files
from ..catalog.kinds import METRICS, RUN_FILE
from ..catalog.named import NamedPath
from ..encoders.encoder import Encoder
from ..errors import InputError
from ..settings.sections import BudgetSettings, Work
from ..settings.store import free_of, load_settings, settings_of, values_by_name
from ..system.files import leftovers, remove, write_text
from ..system.hashes import changed_files, fingerprint_of
from ..system.reading import NUMBER, decoded, parse_line, require_form
from ..system.types import File
from ..training.checkpoints import CHECKPOINT, STATE, Checkpoint
from ..training.log import RunLog
from .finished import SEARCH

TEACHER, STUDENT, LOG, DATA = "teacher", "student", "log.jsonl", "data"
# A run that an earlier version began has noted no files of these settings.
UNNOTED = ("vocabulary.add_words", "evaluation.peers")
MODEL = "teacher.model"
# Self-training's stages: their folder and the file of one that is complete.
STAGES, STAGE = "self-training", "stage.json"


def settings_file(folder: File) -> Path:
    """The path of a run's settings. Raises `InputError` where there is none."""
    folder = Path(folder)
    if not (folder / RUN_FILE).is_file():
        raise InputError(f"{folder}: no {RUN_FILE} in it; give --resume the folder of a run that was stopped")
    return folder / RUN_FILE


def require_resumable(config: str, folder: Path) -> None:
    """Raise `InputError` where `folder` is no stopped run, or one of other settings than `config`, which are named."""
    settings = settings_of(config)
    begun, requested = (values_by_name(one) for one in (load_settings(settings_file(folder)), settings))
    if other := [name for name in begun if begun[name] != requested[name] and name not in free_of(Work.RUN)]:
        told = "; ".join(f"{name} is {begun[name]!r}, not {requested[name]!r}" for name in other)
        raise InputError(f"{folder} was begun with other settings: {told}; leave these out, or start another run")
    if is_finished(settings.budget, folder):
        raise InputError(f"{folder}: this run is finished; repeat it with --config {folder / RUN_FILE}")


def is_finished(budget: BudgetSettings, folder: Path) -> bool:
    """True where a run has all that was asked for: its metrics, and with a budget the search."""
    searched = budget.max_size or budget.max_ms
    whole = (folder / METRICS).is_file() and not (folder / CHECKPOINT).is_dir()
    return whole and (not searched or (folder / SEARCH).is_file())


def require_same_data(folder: Path, files: Mapping[str, str], sources: Mapping[str, str]) -> None:
    """Raise `InputError` where the run in `folder` was begun on other `files` of a data set, or other `sources_of`."""
    row = next((row for row in _rows(folder) if row["event"] == DATA), {})
    other = changed_files(row.get("files", files), files)
    if known := row.get("sources"):
        unnoted = {name for name in UNNOTED if not any(of.startswith(f"{name} ") for of in known)}
        other += changed_files(known, {of: hash for of, hash in sources.items() if of.split(" ")[0] not in unnoted})
    if other:
        raise InputError(f"{folder} was begun on other data ({', '.join(other)}); restore it, or start another run")


def sources_of(named: Sequence[NamedPath], model: str = "", teacher: Encoder | None = None) -> dict[str, str]:
    """`{setting: sha256}` of what a run is made from beside its data set: text, pairs, encoders in folders.

    Of a fixed `teacher`, which `model` names and which is loaded, it is what `identity.fingerprint` tells it by,
    wherever it comes from.
    """
    # A fixed teacher is told by what was loaded.
    others = [one for one in named if one.setting != MODEL]
    hashes = {f"{one.setting} {one.path}": fingerprint_of(*_content(one.path)) for one in others}
    return {**hashes, **({f"{MODEL} {model}": fingerprint(model, teacher)} if teacher is not None else {})}


def _content(path):
    """The files of a path; of an encoder its own."""
    return own_files(path) if path.is_dir() else [path]


def _rows(folder):
    """The rows of a stopped run's log; the last line may have been cut off. Raises `DataError` for another."""
    path = Path(folder) / LOG
    if not path.is_file():
        return []
    # The last line may have been cut off within a letter.
    whole = decoded(path, path.read_bytes().rpartition(b"\n")[0]).split("\n")
    rows = [parse_line(path, number, line) for number, line in enumerate(whole, start=1) if line]
    for number, row in enumerate(rows, start=1):
        require_form(f"{path}, line {number}", row, {"event": str, "seconds": NUMBER})
    return rows


def clear(folder: Path, fixed: bool = False) -> None:
    """Remove what was being written; a `fixed` teacher is noted anew, and what is whole stays."""
    for path in leftovers(folder):
        remove(path)
    if fixed:
        remove(folder / TEACHER)


def resumed_log(folder: Path) -> RunLog:
    """The run's `RunLog`, with the rows of what is kept; those of the rest come again."""
    path, rows = folder / LOG, _kept(_rows(folder), folder)
    write_text(path, "".join(f"{json.dumps(row, ensure_ascii=False)}\n" for row in rows))
    log = RunLog(path, "a")
    log.rows = rows
    log.start -= rows[-1]["seconds"] if rows else 0.0
    log.write("resumed")
    return log


def _kept(rows, folder):
    """Of each event the first rows, as many as what is there accounts for."""
    counted, many, kept = Counter(), {}, []
    for row in rows:
        key = row["event"], row.get("encoder"), row.get("stage")
        counted[key] += 1
        if key not in many:
            many[key] = _many(row, folder)
        if counted[key] <= many[key]:
            kept.append(row)
    return kept


def _many(row, folder):
    """How many rows such as this one are kept: all of what is finished, else those of the checkpoint."""
    event, stages = row["event"], folder / STAGES
    if event in ("evaluation", "lareqa"):
        done = (folder / CHECKPOINT / f"measured-{row.get('encoder')}" / STATE).is_file()
    elif event == STAGES:
        done = (stages / f"stage-{row.get('stage')}" / STAGE).is_file()
    elif event.startswith(f"{STAGES} stage "):
        done = (stages / f"stage-{event.split()[-1]}" / STAGE).is_file()
    else:
        done = event in ("resumed", DATA) or (event in (TEACHER, STUDENT) and (folder / event).is_dir())
    return math.inf if done else Checkpoint(folder / CHECKPOINT / event.replace(" ", "-")).facts().get("rows", 0)
