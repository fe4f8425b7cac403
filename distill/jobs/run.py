"""The whole job of `distill run`: a teacher and a student are trained, measured, exported, timed and reported.

`distill compress ENCODER` is a run that trains nothing, and a search.
"""

from __future__ import annotations

from collections.abc import Callable, Collection
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING

from ..data.corpus import read_corpus
from ..encoders.catalog.kinds import METRICS, RUN_FILE, require_trainable
from ..encoders.catalog.loading import load_keras_encoder, load_trained
from ..errors import InputError
from ..settings.choices import CHECKPOINT_SECONDS
from ..settings.sections import BudgetSettings, DataSettings, Settings, TeacherSettings
from ..settings.store import check_settings, load_settings
from ..system.backend import chosen_backend, require_export_backend, start
from ..system.types import File, Json
from .adapting.without_questions import hold_lines
from .compression.compress import compress, is_limited, is_run, read_budget
from .pipeline.execute import (
    EXPORTING,
    choose_start,
    count_weights,
    finish_on_tensorflow,
    hold_folder,
    is_trained,
    make_teacher,
    measure_peers,
    measure_student,
    measure_teacher,
    read_finished,
)
from .pipeline.first_stage import record_closeness, require_gain
from .pipeline.preparing import prepare
from .pipeline.resuming import STUDENT, TEACHER
from .pipeline.run import Run
from .pipeline.second_stage import StudentStart, determine_start, make_student
from .pipeline.shipping import export_bundle, list_shipping_steps
from .pipeline.steps import Engine, Step

if TYPE_CHECKING:
    from .compression.rows import SearchResult


def run(
    settings: Settings,
    folder: File,
    resume: bool = False,
    checkpoint_seconds: float = CHECKPOINT_SECONDS,
    show: Callable[[Json], None] | None = None,
) -> Json:
    """Train a teacher and a student, measure both, and export and time the bundle.

    With a limit in `settings.budget` a smaller bundle is searched too. No other process may use the folder meanwhile.
    On a backend other than TensorFlow, a second process on TensorFlow runs the steps that come after the student.

    Args:
        settings: The settings.
        folder: Folder for teacher, student, bundle, log, metrics and report.
        resume: True to continue a stopped run of the same settings in the folder. Finished steps are not repeated.
        checkpoint_seconds: The time between checkpoints within an epoch.
        show: Called with the metrics before a smaller bundle is searched.

    Returns:
        The content of `metrics.json`.

    Raises:
        InputError: If the settings or inputs are wrong, before anything is written.
        TrainingError: If a fixed teacher is worse than the base, or a training fails.
        ExportError: If the bundle differs from the student.

    Example:
        >>> import distill
        >>> settings = distill.Settings()
        >>> settings.data.dataset, settings.data.languages = "my-data", ("de",)
        >>> settings.teacher.base = settings.teacher.model = "my-encoder"
        >>> settings.student.epochs, settings.evaluation.lareqa = 1, False
        >>> metrics = distill.run(settings, "my-run")
        >>> metrics["languages"]
        ['en', 'de']
    """
    searched = check_budget(settings.budget)
    job = prepare(settings, folder, resume, checkpoint_seconds)
    if resume and (job.folder / METRICS).is_file():
        metrics = read_finished(job.folder)
    else:
        start()
        engine, base = Engine(job.inputs.seed, job.timed), partial(load_keras_encoder, job.inputs.teacher.base)
        results = {"base": engine.do(Step("base", base, timed="load base"))}
        beginning = determine_start(job.inputs, results["base"], job.shape)
        with hold_folder(job):
            metrics = engine.go(list_steps(job, beginning), results)
        if chosen_backend() != EXPORTING:
            metrics = finish_on_tensorflow(job.folder)
    if show:
        show(metrics)
    if searched:
        compress(job.folder, settings)
    return metrics


def check_budget(budget: BudgetSettings) -> bool:
    """Return whether a smaller bundle is to be searched, which needs TensorFlow and a corpus that can be read."""
    read_corpus(budget.corpus)
    searched = is_limited(budget)
    if searched:
        require_export_backend("distill run with a budget")
    return searched


def list_steps(job: Run, beginning: StudentStart) -> list[Step]:
    """List the steps of `distill run`, from teacher to report, or to the student if the backend cannot export."""
    teacher, student, foreign = job.folder / TEACHER, job.folder / STUDENT, beginning.foreign or bool(beginning.encoder)
    training: list[Step] = [
        Step("peers", partial(measure_peers, job)),
        Step("evaluate base", partial(job.measure, "base"), ["base"]),
        Step(
            "teacher",
            partial(make_teacher, job),
            ["base"],
            is_there=partial(is_trained, job),
            load=partial(load_trained, teacher),
            timed="teacher",
        ),
        Step("size", partial(count_weights, job), ["teacher"]),
        Step("first", partial(choose_start, job, beginning), ["base", "teacher"]),
        Step("evaluate teacher", partial(measure_teacher, job), ["teacher"]),
        Step("gain", partial(require_gain, job)),
        Step(
            "student",
            partial(make_student, job, beginning),
            ["teacher", "first"],
            is_there=student.is_dir,
            load=partial(load_keras_encoder, student),
            timed="student",
        ),
    ]
    if chosen_backend() != EXPORTING:
        return training
    return [
        *training,
        Step("evaluate student", partial(measure_student, job), ["student"]),
        Step("closeness", partial(record_closeness, job, foreign), ["base", "teacher", "student"]),
        # The bundle is exported, measured, calibrated, weighed and timed; metrics and report come last.
        *list_shipping_steps(job, partial(export_bundle, job)),
    ]


def learn_text(
    settings: Settings,
    folder: File,
    named: Collection[str] = (),
    checkpoint_seconds: float = CHECKPOINT_SECONDS,
    show: Callable[[Json], None] | None = None,
) -> Json:
    """Train a student on the vectors that a fixed teacher gives to lines of text, without questions.

    Some lines are held out to choose the epoch and to measure; on the others `run` does its work.
    `distill.run(settings, folder, resume=True)`, with the settings in the folder, goes on with a run that was stopped.

    Args:
        settings: The settings, such as `recipe_settings("own-teacher")` with `teacher.model` and `student.parallel`,
            `student.labelled_text` or `vocabulary.text`.
        folder: The folder of the run, which is made.
        named: Names of settings that are not to be adapted to text: `student.objectives` and `teacher.centre`.
        checkpoint_seconds: The time between checkpoints within an epoch.
        show: Called with the metrics before a smaller bundle is searched.

    Returns:
        The content of `metrics.json`.

    Raises:
        InputError: If the text or the settings cannot be learned. No folder is left then.
        EncoderError: If the teacher cannot be loaded, or gives all texts nearly the same vector.
        TrainingError: If the teacher is clearly worse than the base.

    Example:
        >>> import distill
        >>> settings = distill.recipe_settings("own-teacher")
        >>> settings.teacher.model, settings.student.parallel = "my-encoder", ("en-de.tsv",)
        >>> metrics = distill.learn_text(settings, "my-run")
    """
    check_budget(settings.budget)
    data, teacher, student, vocabulary = settings.data, settings.teacher, settings.student, settings.vocabulary
    with hold_lines(folder, data, teacher, student, vocabulary, settings.seed, named) as held:
        data, teacher, student, vocabulary = held
        settings = replace(settings, data=data, teacher=teacher, student=student, vocabulary=vocabulary)
        return run(check_settings(settings), folder, checkpoint_seconds=checkpoint_seconds, show=show)


# The name of a family and of its recipe.
RECIPE = "transformer"


def compress_encoder(source: File, folder: File, settings: Settings) -> SearchResult:
    """Measure an encoder as it is, and search for smaller ones within a budget.

    Args:
        source: An encoder with weights of ours, such as `st:FOLDER`, a saved encoder or a bundle.
        folder: Folder for the run that leaves the encoder as it is, and in `small` for the search. What is already
            there is not made again.
        settings: The data set and its languages, the limits in `budget` and `export.max_drop`, and how students of
            other shapes are trained.

    Returns:
        The search's rows and the name of the chosen one.

    Raises:
        InputError: If the folder holds something else, or another encoder's search.
        ConfigError: If the size cannot be read.
        EncoderError: If `source` names no encoder that can be trained.

    Example:
        >>> import distill
        >>> settings = distill.recipe_settings("transformer")
        >>> settings.data.dataset, settings.budget.max_size = "my-data", "30MB"
        >>> result = distill.compress_encoder("my-encoder", "smaller", settings)
    """
    require_export_backend("distill compress")
    require_trainable(source)
    read_budget(settings.budget, settings.export.max_drop)
    # A run whose base, teacher and student are the encoder as it is.
    student = replace(settings.student, epochs=0)
    teacher = replace(settings.teacher, base=str(source), model=str(source))
    untrained = replace(settings, teacher=teacher, student=student, budget=BudgetSettings())
    if (Path(folder) / METRICS).is_file():
        require_same_run(untrained.teacher, untrained.data, Path(folder))
    else:
        run(untrained, folder, resume=is_run(folder))
    return compress(folder, replace(untrained, student=settings.student, budget=settings.budget))


def require_same_run(teacher: TeacherSettings, data: DataSettings, folder: Path) -> None:
    """Raise `InputError` if a finished run is of another teacher or of other data."""
    before = load_settings(folder / RUN_FILE)
    if (before.teacher.model, before.data) != (teacher.model, data):
        other = before.teacher.model or before.teacher.base
        raise InputError(f"{folder} holds a run of {other} on {before.data.dataset}; choose another --output")


def recipe_of(source: File) -> str:
    """Return the name of the recipe that students of an encoder are trained with; empty for the default settings."""
    return RECIPE if load_keras_encoder(source).model.family == RECIPE else ""
