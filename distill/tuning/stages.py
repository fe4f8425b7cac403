"""What a trial of `distill tune` trains: a teacher, a student of one teacher, or both."""

from dataclasses import replace

from ..catalog.loading import load_keras_encoder
from ..data.parallel import shares, weighted
from ..errors import ConfigError
from ..pipeline.second_stage import parallel_lines, student_of
from ..system.backend import start
from ..system.progress import task
from ..training.session import Session


class Teachers:
    """Stage 1 of a `run.Run`: each trial trains the base."""

    def __init__(self, run, base):
        self.run, self.base = run, base

    def train(self, settings, watch=None):
        from ..pipeline.first_stage import first_stage

        return first_stage(self.run, self.base, settings, watch)


class Students:
    """Stage 2 of a `run.Run` towards one teacher: its vectors, and the student untrained, are made once."""

    def __init__(self, run, teacher):
        from ..stages.transfer_stage import Targets, require_space
        from ..students.shape import Shape

        self.run, self.start = run, student_of(run, teacher, teacher, Shape.of(run.settings.shape))
        require_space(teacher.dimension, self.start)
        lines = parallel_lines(run, teacher)
        settings, labels = run.settings, len(run.dataset.select(run.settings.teacher.language, "train"))
        documents = sum(len(run.dataset.texts(unit)) for unit in settings.student.units)
        with task("teacher's vectors of questions and documents", labels + documents) as advance:
            language, units = settings.teacher.language, settings.student.units
            self.targets = Targets.of(teacher, run.dataset, language, units, lines, advance)

    def train(self, settings, watch=None):
        from ..export.weights.precision import Precision
        from ..stages.transfer_stage import learn

        precision = Precision(settings.export.precision, settings.export.table)
        run, lines = self.run, self.targets.lines
        chances = self._chances(settings.student) if lines else None
        targets = replace(self.targets, lines=lines and replace(lines, chances=chances))
        session = Session(run.log, watch, options=settings.training)
        learn(targets, self.start, run.dataset, run.languages, settings.student, settings.seed, session, precision)

    def _chances(self, settings):
        weights = [weight for _, weight in map(weighted, settings.parallel)]
        sources = [replace(one, weight=weight) for one, weight in zip(self.run.sources, weights, strict=True)]
        return shares(sources, settings.parallel_temperature)


class Both:
    """Each trial trains a teacher and its student, whose dev scores are watched."""

    def __init__(self, run, base):
        self.run, self.teachers = run, Teachers(run, base)

    def train(self, settings, watch=None):
        teacher = self.teachers.train(settings)
        Students(replace(self.run, settings=settings), teacher).train(settings, watch)


def first_encoder(run, teacher_path=None):
    """The teacher in `teacher_path`; without one the base.

    Raises `EncoderError` for what cannot be trained, and `ConfigError` where the settings' shape is no cut of it, or
    name a teacher that is fixed.
    """
    if run.teacher:
        raise ConfigError("teacher.model: students of a fixed teacher are not searched; give one with --teacher-path")
    start()
    import keras

    from ..students.shape import Shape
    from ..training.devices import require_devices

    require_devices(run.settings.training)
    keras.utils.set_random_seed(run.settings.seed)
    encoder = load_keras_encoder(teacher_path or run.settings.teacher.base)
    Shape.of(run.settings.shape).check(encoder.model)
    return encoder


def stage_of(name, run, encoder, taught):
    """`Teachers`, `Students` or `Both`, ready to train from `first_encoder`, which is the teacher where `taught`.

    Else `Students` have it trained now, and put in the run's folder.
    """
    if name != "student":
        return (Teachers if name == "teacher" else Both)(run, encoder)
    if not taught:
        encoder = Teachers(run, encoder).train(run.settings)
        encoder.save(run.folder)
    return Students(run, encoder)
