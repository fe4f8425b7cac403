"""`distill tune`: search settings on dev by training teachers, students, or both, and write the best as a config."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, cast

from ...data.dataset import digest_texts
from ...data.parallel import Parallel, parse_weight
from ...encoders.catalog.kinds import require_trainable
from ...encoders.catalog.loading import load_keras_encoder
from ...encoders.encoder import MODEL_FILE, KerasEncoder
from ...errors import InputError
from ...report.run_tables import NOTE, describe_objective
from ...settings.assignments import refuse_unused
from ...settings.sections import Settings, ShapeSettings, StudentSettings, TrainingSettings, Value, Work
from ...settings.store import as_dict, check_settings, format_config, list_free, to_plain, values_by_name
from ...system.backend import start
from ...system.files import hold_lock, require_writable, write_json, write_text
from ...system.hashes import digest, sha256
from ...system.types import File, Json
from ...training.log import RunLog
from ...training.session import Session, Watch
from ..pipeline.first_stage import teacher_job
from ..pipeline.inputs import Inputs
from ..pipeline.preparing import read_inputs
from ..pipeline.second_stage import shape_student, student_job
from .space import Part, SearchedSettings, apply_values, check_space, default_space, list_grid, read_space
from .study import TrialRow, Tuning, find_best, require_optuna

if TYPE_CHECKING:
    from ...students.shape import Shape

# By default, where it is no grid's.
MOST_TRIALS = 20


class Teachers:
    """Stage 1 of a trial, by triplets: each trial trains the base in the `session` of all trials."""

    def __init__(self, inputs: Inputs, base: KerasEncoder, session: Session):
        self.inputs, self.base, self.session = inputs, base, session

    def train(self, settings: SearchedSettings, watch: Watch | None = None) -> KerasEncoder:
        job = teacher_job(replace(self.inputs, teacher=settings.teacher, student=settings.student))
        # By triplets, as a search refuses softmax, it is one encoder.
        return cast("KerasEncoder", job.train(self.base, replace(self.session, watch=watch)))


class Students:
    """Stage 2 of a trial towards one teacher, with the teacher's vectors and the untrained student made once."""

    def __init__(self, inputs: Inputs, teacher: KerasEncoder, session: Session, shape: Shape, table_of: str = ""):
        from ...training.stages.targets import require_dimension

        self.inputs, self.session, self.teacher = inputs, session, teacher
        job = student_job(inputs)
        self.job = replace(job, table_of=table_of or job.table_of)
        self.start = shape_student(inputs, teacher, teacher, shape)
        require_dimension(teacher.dimension, self.start)
        self.targets = self.job.targets(teacher)

    def train(self, settings: SearchedSettings, watch: Watch | None = None) -> KerasEncoder:
        sources = reweight_sources(self.inputs.sources, settings.student)
        inputs = replace(self.inputs, student=settings.student, sources=sources)
        job = replace(self.job, settings=settings.student, sources=inputs.student_lines)
        session = replace(self.session, watch=watch)
        return job.train(job.reweight(self.targets), self.start, self.teacher, session)


def reweight_sources(sources: Sequence[Parallel], student: StudentSettings) -> list[Parallel]:
    """Return parallel text with the weights that the settings of stage 2 give it; the data set's own stays last."""
    weights = [weight for _, weight in map(parse_weight, student.parallel)]
    named = zip(sources, weights, strict=False)
    return [*(replace(one, weight=weight) for one, weight in named), *sources[len(weights) :]]


class Both:
    """A trial that trains a teacher and its student, whose dev scores are watched."""

    def __init__(self, inputs: Inputs, base: KerasEncoder, session: Session, shape: Shape):
        self.inputs, self.session, self.shape = inputs, session, shape
        self.teachers = Teachers(inputs, base, session)

    def train(self, settings: SearchedSettings, watch: Watch | None = None) -> KerasEncoder:
        """Train a teacher and its student with a trial's settings."""
        teacher, inputs = self.teachers.train(settings), replace(self.inputs, student=settings.student)
        return Students(inputs, teacher, self.session, self.shape).train(settings, watch)


def load_first_encoder(
    inputs: Inputs, shape: ShapeSettings, training: TrainingSettings, teacher_path: File | None = None
) -> tuple[KerasEncoder, Shape]:
    """Load the encoder, and its shape, that trials start from."""
    start()
    import keras

    from ...students.shape import Shape
    from ...training.devices import require_devices

    require_devices(training)
    keras.utils.set_random_seed(inputs.seed)
    encoder = load_keras_encoder(teacher_path or inputs.teacher.base)
    return encoder, Shape.of(shape).check(encoder.model)


def make_stage(
    name: str,
    inputs: Inputs,
    first: tuple[KerasEncoder, Shape],
    session: Session,
    folder: Path | None = None,
    table_of: str = "",
) -> Teachers | Students | Both:
    """Make the training of a stage, "teacher", "student" or "both".

    Students take the first encoder for their teacher, and their table from `table_of`, by default the base.
    """
    encoder, shape = first
    if name == "teacher":
        return Teachers(inputs, encoder, session)
    if name == "both":
        return Both(inputs, encoder, session, shape)
    if folder:
        encoder = cast("KerasEncoder", teacher_job(inputs).train(encoder, session))
        encoder.save(folder)
    return Students(inputs, encoder, session, shape, table_of)


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
    """A search: its stage, number of trials, and space, in which settings `given` as flags are fixed by default.

    With `grid` it takes each point of the space in turn, as CL-ReLKT does (section 4.3). None are `MOST_TRIALS` trials,
    or the whole grid.
    """

    stage: str
    trials: int | None = None
    space: File | None = None
    given: Collection[str] = ()
    grid: bool = False

    def count(self, grid: Sequence[Mapping[str, Value]]) -> int:
        """Return the number of trials, of which a grid has no more than points."""
        return min(self.trials or len(grid), len(grid)) if self.grid else self.trials or MOST_TRIALS

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
    require_writable(output)
    settings, study, output = settings.with_dev_units(), Path(study), Path(output)
    searched = SearchedSettings(
        settings.teacher,
        settings.student,
        lambda teacher, student: check_settings(replace(settings, teacher=teacher, student=student)),
    )
    space = search.read_space(searched)
    grid = list_grid(space) if search.grid else []
    inputs, folder = read_inputs(settings), study.with_name(f"{study.stem}-teacher")
    made_of = list_dependencies(inputs, values_by_name(settings), space, search.stage, teacher_path)
    made_of |= {"grid": True} if grid else {}
    with _hold_study(study):
        if not study.exists():
            require_writable(folder)
        trained = folder if search.stage == "student" and folder.is_dir() else None
        teacher = teacher_path or trained
        first = load_first_encoder(inputs, settings.shape, settings.training, teacher)
        tuning = Tuning(study, made_of, space, searched, settings.seed, grid=grid)
        tuning.log = log = RunLog(study.with_name(f"{study.stem}-log.jsonl"), "a")
        try:
            session = Session(log, options=settings.training, dev=inputs.dev)
            to_train, left = None if teacher else folder, tuning.done < (trials := search.count(grid))
            of_stage = search.stage, inputs, first, session, to_train, teacher_path or ""
            rows = tuning.run(make_stage(*of_stage).train if left else None, trials)
        finally:
            log.close()
    result = _result(inputs, as_dict(settings), rows, space, search.stage)
    best = apply_values(searched, result.best.values)
    config = partial(format_config, best.whole(best.teacher, best.student))
    _write(result, config, output, teacher_path)
    return result


@contextmanager
def _hold_study(study):
    """Keep other processes out, as each takes a trial that is under way for one that was broken off."""
    study.parent.mkdir(parents=True, exist_ok=True)
    in_use = f"{study}: another process searches in it; wait for its end or stop it, or take another --study"
    with hold_lock(study.with_name(f".{study.name}.lock"), in_use):
        yield


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
        **({"descriptions": digest_texts(dataset)} if (dataset := inputs.titled or inputs.described) else {}),
        **({"words": digest(inputs.words)} if inputs.words else {}),
    }


def _identity(source):
    kind = require_trainable(source)
    path = (folder := kind.folder(source)) and folder / MODEL_FILE
    return sha256(path) if path and path.is_file() else kind.fingerprint(source) if path else source


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
