"""The training of a trial of `distill tune`: of a teacher, of a student of one teacher, or of both."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import cast

from ..catalog.loading import load_keras_encoder
from ..data.parallel import Parallel, weighted
from ..encoders.encoder import KerasEncoder
from ..errors import ConfigError
from ..pipeline.first_stage import teacher_job
from ..pipeline.inputs import Inputs
from ..pipeline.second_stage import student_job, student_of
from ..settings.sections import Settings, StudentSettings
from ..system.backend import start
from ..system.types import File
from ..training.log import RunLog
from ..training.session import Session, Watch


class Teachers:
    """Stage 1 of a trial, by triplets: each trains the base."""

    def __init__(self, inputs: Inputs, base: KerasEncoder, log: RunLog):
        self.inputs, self.base, self.log = inputs, base, log

    def train(self, settings: Settings, watch: Watch | None = None) -> KerasEncoder:
        """The teacher of a trial's settings."""
        session = Session(self.log, watch, options=settings.training, dev=self.inputs.dev)
        teacher = teacher_job(replace(self.inputs, settings=settings)).train(self.base, session)
        # By triplets, which `require_triplets` sees to, it is one encoder.
        return cast("KerasEncoder", teacher)


class Students:
    """Stage 2 of a trial towards one teacher: its vectors, and the student untrained, are made once."""

    def __init__(self, inputs: Inputs, teacher: KerasEncoder, log: RunLog, table_of: str = ""):
        from ..stages.transfer_stage import require_space
        from ..students.shape import Shape

        self.inputs, self.log, self.teacher = inputs, log, teacher
        job = student_job(inputs)
        self.job = replace(job, table_of=table_of or job.table_of)
        self.start = student_of(inputs, teacher, teacher, Shape.of(inputs.settings.shape))
        require_space(teacher.dimension, self.start)
        self.targets = self.job.targets(teacher)

    def train(self, settings: Settings, watch: Watch | None = None) -> KerasEncoder:
        """The student of a trial's settings."""
        inputs = replace(self.inputs, settings=settings, sources=reweighted(self.inputs.sources, settings.student))
        job = replace(self.job, settings=settings.student, sources=inputs.learned_lines)
        session = Session(self.log, watch, options=settings.training, dev=inputs.dev)
        return job.train(job.reweighted(self.targets), self.start, self.teacher, session)


def reweighted(sources: Sequence[Parallel], student: StudentSettings) -> list[Parallel]:
    """Sources of parallel text with the weights that the settings name them with; the data set's own stays last."""
    weights = [weight for _, weight in map(weighted, student.parallel)]
    named = zip(sources, weights, strict=False)
    return [*(replace(one, weight=weight) for one, weight in named), *sources[len(weights) :]]


class Both:
    """Each trial trains a teacher and its student, whose dev scores are watched."""

    def __init__(self, inputs: Inputs, base: KerasEncoder, log: RunLog):
        self.inputs, self.log, self.teachers = inputs, log, Teachers(inputs, base, log)

    def train(self, settings: Settings, watch: Watch | None = None) -> KerasEncoder:
        """The student of a trial's settings, of the teacher of the same."""
        teacher = self.teachers.train(settings)
        return Students(replace(self.inputs, settings=settings), teacher, self.log).train(settings, watch)


def first_encoder(inputs: Inputs, teacher_path: File | None = None) -> KerasEncoder:
    """The teacher in `teacher_path`; without one the base.

    Raises `EncoderError` for what cannot be trained, and `ConfigError` where the settings' shape is no cut of it, or
    name a teacher that is fixed.
    """
    if inputs.teacher:
        raise ConfigError("teacher.model: students of a fixed teacher are not searched; give one with --teacher-path")
    start()
    import keras

    from ..students.shape import Shape
    from ..training.devices import require_devices

    settings = inputs.settings
    require_devices(settings.training)
    keras.utils.set_random_seed(settings.seed)
    encoder = load_keras_encoder(teacher_path or settings.teacher.base)
    Shape.of(settings.shape).check(encoder.model)
    return encoder


def stage_of(
    name: str, inputs: Inputs, encoder: KerasEncoder, log: RunLog, folder: Path | None = None, table_of: str = ""
) -> Teachers | Students | Both:
    """`Teachers`, `Students` or `Both`, ready to train from `first_encoder`.

    `Students` take it for their teacher; with a `folder` they have one trained of it now, which is saved there.
    `table_of` names the encoder that their table comes from, by default the base.
    """
    if name != "student":
        return (Teachers if name == "teacher" else Both)(inputs, encoder, log)
    if folder:
        encoder = Teachers(inputs, encoder, log).train(inputs.settings)
        encoder.save(folder)
    return Students(inputs, encoder, log, table_of)
