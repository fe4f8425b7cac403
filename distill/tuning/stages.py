"""The training of a trial of `distill tune`: of a teacher, of a student of one teacher, or of both."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, cast

from ..catalog.loading import load_keras_encoder
from ..data.parallel import Parallel, weighted
from ..encoders.encoder import KerasEncoder
from ..pipeline.first_stage import teacher_job
from ..pipeline.inputs import Inputs
from ..pipeline.second_stage import student_job, student_of
from ..settings.sections import ShapeSettings, StudentSettings, TrainingSettings
from ..system.backend import start
from ..system.types import File
from ..training.session import Session, Watch
from .space import Searched

if TYPE_CHECKING:
    from ..students.shape import Shape


class Teachers:
    """Stage 1 of a trial, by triplets: each trains the base, in the `session` of all trials."""

    def __init__(self, inputs: Inputs, base: KerasEncoder, session: Session):
        self.inputs, self.base, self.session = inputs, base, session

    def train(self, settings: Searched, watch: Watch | None = None) -> KerasEncoder:
        """The teacher of a trial's settings."""
        job = teacher_job(replace(self.inputs, teacher=settings.teacher, student=settings.student))
        # By triplets, as a search refuses softmax, it is one encoder.
        return cast("KerasEncoder", job.train(self.base, replace(self.session, watch=watch)))


class Students:
    """Stage 2 of a trial towards one teacher: its vectors, and the student untrained, are made once."""

    def __init__(self, inputs: Inputs, teacher: KerasEncoder, session: Session, shape: Shape, table_of: str = ""):
        from ..stages.transfer_stage import require_space

        self.inputs, self.session, self.teacher = inputs, session, teacher
        job = student_job(inputs)
        self.job = replace(job, table_of=table_of or job.table_of)
        self.start = student_of(inputs, teacher, teacher, shape)
        require_space(teacher.dimension, self.start)
        self.targets = self.job.targets(teacher)

    def train(self, settings: Searched, watch: Watch | None = None) -> KerasEncoder:
        """The student of a trial's settings."""
        sources = reweighted(self.inputs.sources, settings.student)
        inputs = replace(self.inputs, student=settings.student, sources=sources)
        job = replace(self.job, settings=settings.student, sources=inputs.learned_lines)
        session = replace(self.session, watch=watch)
        return job.train(job.reweighted(self.targets), self.start, self.teacher, session)


def reweighted(sources: Sequence[Parallel], student: StudentSettings) -> list[Parallel]:
    """Sources of parallel text with the weights that the settings name them with; the data set's own stays last."""
    weights = [weight for _, weight in map(weighted, student.parallel)]
    named = zip(sources, weights, strict=False)
    return [*(replace(one, weight=weight) for one, weight in named), *sources[len(weights) :]]


class Both:
    """Each trial trains a teacher and its student, whose dev scores are watched."""

    def __init__(self, inputs: Inputs, base: KerasEncoder, session: Session, shape: Shape):
        self.inputs, self.session, self.shape = inputs, session, shape
        self.teachers = Teachers(inputs, base, session)

    def train(self, settings: Searched, watch: Watch | None = None) -> KerasEncoder:
        """The student of a trial's settings, of the teacher of the same."""
        teacher, inputs = self.teachers.train(settings), replace(self.inputs, student=settings.student)
        return Students(inputs, teacher, self.session, self.shape).train(settings, watch)


def first_encoder(
    inputs: Inputs, shape: ShapeSettings, training: TrainingSettings, teacher_path: File | None = None
) -> tuple[KerasEncoder, Shape]:
    """The teacher in `teacher_path`, without one the base, and the shape that students are cut to.

    Raises `EncoderError` for what cannot be trained, and `ConfigError` for a shape that is no cut of it.
    """
    start()
    import keras

    from ..students.shape import Shape
    from ..training.devices import require_devices

    require_devices(training)
    keras.utils.set_random_seed(inputs.seed)
    encoder = load_keras_encoder(teacher_path or inputs.teacher.base)
    return encoder, Shape.of(shape).check(encoder.model)


def stage_of(
    name: str,
    inputs: Inputs,
    first: tuple[KerasEncoder, Shape],
    session: Session,
    folder: Path | None = None,
    table_of: str = "",
) -> Teachers | Students | Both:
    """`Teachers`, `Students` or `Both`, ready to train from `first_encoder`, in the `session` of all trials.

    `Students` take it for their teacher; with a `folder` they have one trained of it now, which is saved there.
    `table_of` names the encoder that their table comes from, by default the base.
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
