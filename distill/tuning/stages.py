"""The training of a trial of `distill tune`: of a teacher, of a student of one teacher, or of both."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from ..catalog.loading import load_keras_encoder
from ..data.parallel import shares, weighted
from ..encoders.encoder import KerasEncoder
from ..errors import ConfigError
from ..pipeline.inputs import Inputs
from ..pipeline.second_stage import parallel_lines, student_of
from ..settings.sections import Settings
from ..system.backend import start
from ..system.progress import task
from ..system.types import File
from ..training.log import RunLog
from ..training.session import Session, Watch


class Teachers:
    """Stage 1 of a trial, by triplets: each trains the base."""

    def __init__(self, inputs: Inputs, base: KerasEncoder, log: RunLog):
        self.inputs, self.base, self.log = inputs, base, log

    def train(self, settings: Settings, watch: Watch | None = None) -> KerasEncoder:
        """The teacher of a trial's settings."""
        from ..stages.triplet_stage import teach

        every = settings.teacher.questions == "all"
        data, triplets = self.inputs.taught if every else self.inputs.dataset, self.inputs.triplets
        language = settings.teacher.language
        session = Session(self.log, watch, options=settings.training, dev=self.inputs.dev)
        return teach(self.base, data, language, settings.teacher, settings.seed, session, triplets)


class Students:
    """Stage 2 of a trial towards one teacher: its vectors, and the student untrained, are made once."""

    def __init__(self, inputs: Inputs, teacher: KerasEncoder, log: RunLog):
        from ..stages.transfer_stage import Targets, require_space
        from ..students.shape import Shape

        settings, dataset = inputs.settings, inputs.dataset
        self.inputs, self.log = inputs, log
        self.start = student_of(inputs, teacher, teacher, Shape.of(settings.shape))
        require_space(teacher.dimension, self.start)
        lines = parallel_lines(inputs, teacher)
        labels = len(dataset.select(settings.teacher.language, "train"))
        documents = sum(len(dataset.texts(unit)) for unit in settings.student.units)
        with task("teacher's vectors of questions and documents", labels + documents) as advance:
            language, units = settings.teacher.language, settings.student.units
            self.targets = Targets.of(teacher, dataset, language, units, lines, advance)

    def train(self, settings: Settings, watch: Watch | None = None) -> None:
        """Train the student of a trial's settings, for its dev scores."""
        from ..export.weights.precision import Precision
        from ..stages.transfer_stage import learn

        precision = Precision(settings.export.precision, settings.export.table)
        inputs, lines = self.inputs, self.targets.lines
        chances = self._chances(settings.student) if lines else None
        targets = replace(self.targets, lines=lines and replace(lines, chances=chances))
        session = Session(self.log, watch, options=settings.training, dev=self.inputs.dev)
        data, languages = inputs.dataset, inputs.learned
        learn(targets, self.start, data, languages, settings.student, settings.seed, session, precision)

    def _chances(self, settings):
        weights = [weight for _, weight in map(weighted, settings.parallel)]
        sources = [replace(one, weight=weight) for one, weight in zip(self.inputs.sources, weights, strict=True)]
        return shares([*sources, *self.inputs.labelled], settings.parallel_temperature)


class Both:
    """Each trial trains a teacher and its student, whose dev scores are watched."""

    def __init__(self, inputs: Inputs, base: KerasEncoder, log: RunLog):
        self.inputs, self.log, self.teachers = inputs, log, Teachers(inputs, base, log)

    def train(self, settings: Settings, watch: Watch | None = None) -> None:
        """Train the teacher of a trial's settings, and its student."""
        teacher = self.teachers.train(settings)
        Students(replace(self.inputs, settings=settings), teacher, self.log).train(settings, watch)


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
    name: str, inputs: Inputs, encoder: KerasEncoder, log: RunLog, folder: Path | None = None
) -> Teachers | Students | Both:
    """`Teachers`, `Students` or `Both`, ready to train from `first_encoder`.

    `Students` take it for their teacher; with a `folder` they have one trained of it now, which is saved there.
    """
    if name != "student":
        return (Teachers if name == "teacher" else Both)(inputs, encoder, log)
    if folder:
        encoder = Teachers(inputs, encoder, log).train(inputs.settings)
        encoder.save(folder)
    return Students(inputs, encoder, log)
