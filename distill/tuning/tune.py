"""`distill tune`: settings searched on dev, the best of them as a config, and all trials."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from pathlib import Path

from ..catalog.kinds import require_trainable
from ..data.dataset import texts_digest
from ..encoders.encoder import MODEL_FILE
from ..errors import InputError
from ..pipeline.inputs import Inputs
from ..pipeline.preparing import read_inputs
from ..report.run_tables import NOTE, maximised
from ..settings.rules import require_no_scorer, require_no_start, require_triplets
from ..settings.sections import Settings, Work
from ..settings.store import as_dict, free_of, plain, save_settings, walk
from ..settings.units import steered
from ..system.files import require_writable, write_json
from ..system.hashes import digest, sha256
from ..system.types import File, Json
from ..training.log import RunLog
from .space import Part, applied, checked_space, default_space, read_space
from .stages import first_encoder, stage_of
from .study import TrialRow, Tuning, best_of, require_optuna


@dataclass(frozen=True)
class Tuned:
    """A search for settings: what it began with, its space, the dev scores' unit and languages, and its trials."""

    stage: str
    unit: str
    languages: list[str]
    settings: Settings
    space: dict[str, Part]
    best: TrialRow
    trials: list[TrialRow]

    def as_dict(self) -> dict[str, Json]:
        """The content of the file of all trials."""
        return {
            "stage": self.stage,
            "split": "dev",
            "unit": self.unit,
            "languages": self.languages,
            "settings": as_dict(self.settings),
            "space": {name: part.plain() for name, part in self.space.items()},
            "best": self.best.number,
            "trials": [row.as_dict() for row in self.trials],
        }


def space_of(settings: Settings, stage: str, path: File | None = None, given: Collection[str] = ()) -> dict[str, Part]:
    """`checked_space` of a file, or the default; `given` are the settings that were given as flags.

    They are not searched by default. Raises `InputError` where the file asks for that.
    """
    if not path:
        return checked_space(default_space(settings, stage, given), settings, stage)
    space = read_space(path)
    if both := [name for name in given if name in space]:
        raise InputError(f"{', '.join(both)}: given as a flag, and searched by {path}; leave one of them out")
    return checked_space(space, settings, stage, str(path))


def tune(
    settings: Settings,
    space: dict[str, Part],
    stage: str,
    trials: int,
    study: File,
    output: File,
    teacher_path: str | None = None,
) -> Tuned:
    """Search, or go on with a search, until `trials` came to an end; `trials_path(output)` then holds its result.

    What is maximised is P@1 on dev as training tracks it (`dev_score.DevScore`), of `--dev-dataset` where that is
    given: for a student the mean over all of the run's languages, the teacher's among them, unit `student.dev_unit`;
    for a teacher in its language alone, unit `teacher.unit`. `output` becomes the settings of the best trial, for
    `distill run --config`. Beside the file `study` lie its log and, with the stage student, the teacher.
    Raises `InputError` for what cannot be read or trained, or where the study is one of other data or settings.
    """
    require_optuna()
    if teacher_path and stage != "student":
        raise InputError("--teacher-path is of --stage student, which alone has one teacher for all trials")
    require_triplets(settings, "distill tune")
    require_no_start(settings, "distill tune")
    require_no_scorer(settings, "distill tune")
    settings, study, output = steered(settings), Path(study), Path(output)
    inputs, folder = read_inputs(settings), study.with_name(f"{study.stem}-teacher")
    made_of = depends_on(inputs, space, stage, teacher_path)
    if not study.exists():
        require_writable(folder)
    trained = folder if stage == "student" and folder.is_dir() else None
    teacher = teacher_path or trained
    encoder = first_encoder(inputs, teacher)
    search = Tuning(study, made_of, space, settings)
    search.log = log = RunLog(study.with_name(f"{study.stem}-log.jsonl"), "a")
    try:
        to_train = None if teacher else folder
        table_of, left = teacher_path or "", search.done < trials
        train = stage_of(stage, inputs, encoder, log, to_train, table_of).train if left else None
        rows = search.run(train, trials)
    finally:
        log.close()
    result = _result(inputs, rows, space, stage)
    _write(result, output, teacher_path)
    return result


def depends_on(
    inputs: Inputs, space: Mapping[str, Part], stage: str, teacher_path: str | None = None
) -> dict[str, Json]:
    """`{name: plain value}` of all that a trial's figures depend on, its own values apart."""
    settings = inputs.settings
    fixed = {name: plain(getattr(section, item.name)) for name, section, item in walk(settings)}
    free = free_of(Work.STUDY | Work.TRIAL).union(space)
    first = {"teacher file": _identity(teacher_path)} if teacher_path else {"base": _identity(settings.teacher.base)}
    return {
        **{name: value for name, value in fixed.items() if name not in free},
        **{f"space of {name}": part.plain() for name, part in space.items()},
        **first,
        "stage": stage,
        "languages": list(inputs.languages),
        "texts": texts_digest(inputs.dataset),
        "parallel text": digest([[source.texts, source.languages, source.pivots] for source in inputs.lines]),
        "vocabulary text": digest(inputs.text),
        "triplets": digest([[one.questions, one.passages] for one in inputs.triplets]),
        **({"dev texts": texts_digest(inputs.dev)} if inputs.dev else {}),
        **({"descriptions": texts_digest(inputs.described)} if inputs.described else {}),
        **({"words": digest(inputs.words)} if inputs.words else {}),
    }


def _identity(source):
    folder = require_trainable(source).folder(source)
    return sha256(folder / MODEL_FILE) if folder else source


def trials_path(output: Path) -> Path:
    """The file of all trials, beside the best settings."""
    return output.with_name(f"{output.stem}.trials.json")


def _result(inputs, rows, space, stage):
    settings = inputs.settings
    unit, languages = settings.student.dev_unit, list(inputs.languages)
    if stage == "teacher":
        unit, languages = settings.teacher.unit, [settings.teacher.language]
    return Tuned(stage, unit, languages, settings, space, best_of(rows), rows)


def _write(result, output, teacher_path):
    best, figures = result.best, result.as_dict()
    write_json(trials_path(output), figures)
    notes = [f"distill tune, trial {best.number}: {maximised(figures)}: {100 * best.p1:.1f}, {NOTE}."]
    if teacher_path:
        notes.append(f"Its teacher was {teacher_path}; distill run trains one with the settings of [teacher].")
    save_settings(applied(result.settings, best.values), output, notes)
