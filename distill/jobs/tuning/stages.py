"""The training of a trial of `distill tune`: a teacher, a student of one teacher, or both."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, cast

from ...data.parallel import Parallel, parse_weight
from ...encoders.catalog.loading import load_keras_encoder
from ...encoders.encoder import KerasEncoder
from ...settings.sections import ShapeSettings, StudentSettings, TrainingSettings
from ...system.backend import start
from ...system.types import File
from ...training.session import Session, Watch
from ..pipeline.first_stage import teacher_job
from ..pipeline.inputs import Inputs
from ..pipeline.second_stage import shape_student, student_job
from .space import SearchedSettings

if TYPE_CHECKING:
    from ...students.shape import Shape


class Teachers:
    """Stage 1 of a trial, by triplets: each trial trains the base in the `session` of all trials."""

    def __init__(self, inputs: Inputs, base: KerasEncoder, session: Session):
        self.inputs, self.base, self.session = inputs, base, session

    def train(self, settings: SearchedSettings, watch: Watch | None = None) -> KerasEncoder:
        """Train the teacher of a trial's settings."""
        job = teacher_job(replace(self.inputs, teacher=settings.teacher, student=settings.student))
        # By triplets, as a search refuses softmax, it is one encoder.
        return cast("KerasEncoder", job.train(self.base, replace(self.session, watch=watch)))


class Students:
    """Stage 2 of a trial towards one teacher.

    The teacher's vectors are computed once, and the untrained student is made once.
    """

    def __init__(self, inputs: Inputs, teacher: KerasEncoder, session: Session, shape: Shape, table_of: str = ""):
        from ...training.stages.transfer_stage import require_space

        self.inputs, self.session, self.teacher = inputs, session, teacher
        job = student_job(inputs)
        self.job = replace(job, table_of=table_of or job.table_of)
        self.start = shape_student(inputs, teacher, teacher, shape)
        require_space(teacher.dimension, self.start)
        self.targets = self.job.targets(teacher)

    def train(self, settings: SearchedSettings, watch: Watch | None = None) -> KerasEncoder:
        """Train the student of a trial's settings."""
        sources = reweight_sources(self.inputs.sources, settings.student)
        inputs = replace(self.inputs, student=settings.student, sources=sources)
        job = replace(self.job, settings=settings.student, sources=inputs.student_lines)
        session = replace(self.session, watch=watch)
        return job.train(job.reweight(self.targets), self.start, self.teacher, session)


def reweight_sources(sources: Sequence[Parallel], student: StudentSettings) -> list[Parallel]:
    """Return sources of parallel text with the weights that the settings give them. The data set's own stays last.

    Args:
        student: The settings of stage 2.
    """
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
    """Load the encoder that trials start from.

    Raises:
        EncoderError: If it cannot be trained.
        ConfigError: If it cannot be cut to the shape.
    """
    start()
    import keras

    from ...students.shape import Shape
    from ...training.session import require_devices

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
    """Make the training of a stage.

    Args:
        name: "teacher", "student" or "both".
        first: The encoder and shape of `load_first_encoder`. Students take the encoder for their teacher.
        folder: A folder, in which students have a teacher trained and saved now.
        table_of: The name of the encoder that the students' table comes from, by default the base.
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
