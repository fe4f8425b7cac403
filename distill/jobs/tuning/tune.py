"""`distill tune`: search settings on dev, and write the best as a config, with all trials."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path

from ...data.dataset import digest_texts
from ...encoders.catalog.kinds import require_trainable
from ...encoders.encoder import MODEL_FILE
from ...errors import InputError
from ...report.run_tables import NOTE, describe_objective
from ...settings.assignments import refuse_unused
from ...settings.sections import Settings, Value, Work
from ...settings.store import as_dict, check_settings, format_config, list_free, to_plain, values_by_name
from ...system.files import require_writable, write_json, write_text
from ...system.hashes import digest, sha256
from ...system.types import File, Json
from ...training.log import RunLog
from ...training.session import Session
from ..pipeline.inputs import Inputs
from ..pipeline.preparing import read_inputs
from .space import Part, SearchedSettings, apply_values, check_space, default_space, read_space
from .stages import load_first_encoder, make_stage
from .study import TrialRow, Tuning, find_best, require_optuna


@dataclass(frozen=True)
class FinishedSearch:
    """A finished search: its settings, its space, the unit and languages of dev scores, and its trials."""

    stage: str
    unit: str
    languages: list[str]
    settings: Mapping[str, Json]
    space: dict[str, Part]
    best: TrialRow
    trials: list[TrialRow]

    def as_dict(self) -> dict[str, Json]:
        """Return the content of the file of all trials."""
        return {
            "stage": self.stage,
            "split": "dev",
            "unit": self.unit,
            "languages": self.languages,
            "settings": dict(self.settings),
            "space": {name: part.plain() for name, part in self.space.items()},
            "best": self.best.number,
            "trials": [row.as_dict() for row in self.trials],
        }


@dataclass(frozen=True)
class Search:
    """A search: its stage, its number of trials, and its space, from a file or the default.

    Settings that were `given` as flags are not searched by default.
    """

    stage: str
    trials: int
    space: File | None = None
    given: Collection[str] = ()

    def read_space(self, settings: SearchedSettings) -> dict[str, Part]:
        """Return the checked space. Raises `InputError` if a file asks for settings that were given as flags."""
        if not self.space:
            return check_space(default_space(settings, self.stage, self.given), settings, self.stage)
        space = read_space(self.space)
        if both := [name for name in self.given if name in space]:
            raise InputError(f"{', '.join(both)}: given as a flag, and searched by {self.space}; leave one of them out")
        return check_space(space, settings, self.stage, str(self.space))


def tune(
    settings: Settings, search: Search, study: File, output: File, teacher_path: str | None = None
) -> FinishedSearch:
    """Start a search, or resume one, until so many trials have ended.

    P@1 on dev is maximised as training tracks it (`dev_score.DevScore`), on `--dev-dataset` if given: for a student the
    mean over the run's languages, the teacher's among them, in unit `student.dev_unit`; for a teacher in its language,
    in unit `teacher.unit`. The log and, with the stage "student", the teacher lie beside the file of the search.

    Args:
        settings: The settings.
        search: The search.
        study: The file of the search.
        output: The file for the settings of the best trial, for `distill run --config`. `trials_path(output)` gets all
            trials.
        teacher_path: The folder of a teacher.

    Returns:
        The finished search.

    Raises:
        InputError: If an input cannot be read or trained, or the search is one of other data or settings.

    Example:
        >>> import distill
        >>> from distill.jobs.tuning.tune import Search
        >>> settings = distill.Settings()
        >>> settings.data.dataset, settings.teacher.base = "my-data", "my-encoder"
        >>> settings.teacher.bm25_epochs, settings.teacher.online_epochs = 1, 0
        >>> finished = distill.tune(settings, Search("teacher", trials=1), "study.db", "best.toml")
        >>> finished.best.state
        'complete'
    """
    require_optuna()
    refuse_unused(settings, "tune")
    if teacher_path and search.stage != "student":
        raise InputError("--teacher-path is of --stage student, which alone has one teacher for all trials")
    settings, study, output = settings.with_dev_units(), Path(study), Path(output)
    searched = SearchedSettings(
        settings.teacher,
        settings.student,
        lambda teacher, student: check_settings(replace(settings, teacher=teacher, student=student)),
    )
    space = search.read_space(searched)
    inputs, folder = read_inputs(settings), study.with_name(f"{study.stem}-teacher")
    made_of = list_dependencies(inputs, values_by_name(settings), space, search.stage, teacher_path)
    if not study.exists():
        require_writable(folder)
    trained = folder if search.stage == "student" and folder.is_dir() else None
    teacher = teacher_path or trained
    first = load_first_encoder(inputs, settings.shape, settings.training, teacher)
    tuning = Tuning(study, made_of, space, searched, settings.seed)
    tuning.log = log = RunLog(study.with_name(f"{study.stem}-log.jsonl"), "a")
    try:
        session = Session(log, options=settings.training, dev=inputs.dev)
        to_train, left = None if teacher else folder, tuning.done < search.trials
        train = make_stage(search.stage, inputs, first, session, to_train, teacher_path or "").train if left else None
        rows = tuning.run(train, search.trials)
    finally:
        log.close()
    result = _result(inputs, as_dict(settings), rows, space, search.stage)
    best = apply_values(searched, result.best.values)
    config = partial(format_config, best.whole(best.teacher, best.student))
    _write(result, config, output, teacher_path)
    return result


def list_dependencies(
    inputs: Inputs, values: Mapping[str, Value], space: Mapping[str, Part], stage: str, teacher_path: str | None = None
) -> dict[str, Json]:
    """Return the plain values that a trial's figures depend on, apart from its own."""
    free = list_free(Work.STUDY | Work.TRIAL).union(space)
    first = {"teacher file": _identity(teacher_path)} if teacher_path else {"base": _identity(inputs.teacher.base)}
    return {
        **{name: to_plain(value) for name, value in values.items() if name not in free},
        **{f"space of {name}": part.plain() for name, part in space.items()},
        **first,
        "stage": stage,
        "languages": list(inputs.languages),
        "texts": digest_texts(inputs.dataset),
        "parallel text": digest([[source.texts, source.languages, source.pivots] for source in inputs.lines]),
        "vocabulary text": digest(inputs.text),
        "triplets": digest([[one.questions, one.passages] for one in inputs.triplets]),
        **({"dev texts": digest_texts(inputs.dev)} if inputs.dev else {}),
        **({"descriptions": digest_texts(inputs.described)} if inputs.described else {}),
        **({"words": digest(inputs.words)} if inputs.words else {}),
    }


def _identity(source):
    folder = require_trainable(source).folder(source)
    return sha256(folder / MODEL_FILE) if folder else source


def trials_path(output: Path) -> Path:
    """Return the file of all trials, beside the best settings."""
    return output.with_name(f"{output.stem}.trials.json")


def _result(inputs, values, rows, space, stage):
    unit, languages = inputs.student.dev_unit, list(inputs.languages)
    if stage == "teacher":
        unit, languages = inputs.teacher.unit, [inputs.teacher.language]
    return FinishedSearch(stage, unit, languages, values, space, find_best(rows), rows)


def _write(result, config, output, teacher_path):
    best, figures = result.best, result.as_dict()
    write_json(trials_path(output), figures)
    notes = [f"distill tune, trial {best.number}: {describe_objective(figures)}: {100 * best.p1:.1f}, {NOTE}."]
    if teacher_path:
        notes.append(f"Its teacher was {teacher_path}; distill run trains one with the settings of [teacher].")
    write_text(output, config(notes))
