"""`distill run`: every step in its order, and what it leaves in the run's folder."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from functools import partial
from pathlib import Path

from ..catalog.kinds import RUN_FILE
from ..catalog.loading import load_keras_encoder, load_teacher, load_trained
from ..data.descriptions import DESCRIPTIONS
from ..encoders.by_role import DualEncoder, parameters
from ..encoders.encoder import Encoder, KerasEncoder
from ..errors import TrainingError
from ..settings.sections import TeacherSettings
from ..system.backend import chosen_backend, start
from ..system.device import describe_device, device_line, missed_gpu, unordered_sums
from ..system.files import write_text
from ..system.locking import locked
from ..system.progress import say
from ..system.reading import read_json
from ..system.types import Json
from ..training.checkpoints import CHECKPOINT
from ..training.log import RunLog
from .fixed_teacher import settled
from .gain import require_gain
from .preparing import require_empty, unseen_languages
from .resuming import DATA, LOG, METRICS, STUDENT, TEACHER, clear, require_resumable, resumed_log
from .run import Run
from .second_stage import Beginning, beginning_of, study
from .shipping import export, shipping_steps
from .steps import Engine, Step

# The backend that exports need, and how a command's error begins.
EXPORTING, ERROR = "tensorflow", "error: "


def execute(run: Run) -> Json:
    """All steps, in a folder that no other process works in meanwhile; returns the metrics that it leaves there.

    On another backend than TensorFlow the steps behind the student are those of a process of its own.
    Of a run that was stopped what is finished is not made again; `prepare` says which run that may be.
    """
    if run.resumed and (run.folder / METRICS).is_file():
        shutil.rmtree(run.folder / CHECKPOINT, ignore_errors=True)
        return read_json(run.folder / METRICS)
    start()
    exports = chosen_backend() == EXPORTING
    engine, name = Engine(run.inputs.seed, run.timed), run.inputs.teacher.base
    results = {"base": engine.do(Step("base", partial(load_keras_encoder, name), timed="load base"))}
    beginning = beginning_of(run.inputs, results["base"], run.shape)
    run.folder.mkdir(parents=True, exist_ok=True)
    with locked(run.folder):
        try:
            begin(run)
            steps = steps_of(run, beginning)
            last = len(steps) if exports else [step.name for step in steps].index(STUDENT) + 1
            result = engine.go(steps[:last], results)
        finally:
            run.log.close()
    return result if exports else finish_on_tensorflow(run.folder)


def finish_on_tensorflow(folder: Path) -> Json:
    """Go on with a run whose student another backend trained, in a process on TensorFlow; returns the metrics.

    Keras has one backend a process, and exports need TensorFlow. Raises `TrainingError` with what that process says
    where it fails: the run stays as it is, and the same command goes on with it.
    """
    command = [sys.executable, "-m", "distill", "run", "--resume", str(folder)]
    environment, failed = {**os.environ, "KERAS_BACKEND": EXPORTING}, ""
    with subprocess.Popen(
        command, env=environment, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE, text=True
    ) as process:
        try:
            for line in process.stderr or ():
                if line.startswith(ERROR):
                    failed = line.removeprefix(ERROR).strip()
                else:
                    say(line.rstrip())
        except BaseException:
            # SIGTERM reaches this process alone, and leaving the block waits for the other.
            process.terminate()
            raise
    if process.returncode:
        raise TrainingError(failed or f"{' '.join(command)}, on TensorFlow, ended with exit code {process.returncode}")
    return read_json(folder / METRICS)


def steps_of(run: Run, beginning: Beginning) -> list[Step]:
    """`distill run` from its base to its figures: the teacher, the student and the bundle, each of them measured."""
    teacher, student = run.folder / TEACHER, run.folder / STUDENT
    return [
        Step("peers", partial(measure_peers, run)),
        Step("evaluate base", partial(run.measure, "base"), ["base"]),
        Step(
            "teacher",
            partial(make_teacher, run),
            ["base"],
            is_there=partial(is_trained, run),
            load=partial(load_trained, teacher),
            timed="teacher",
        ),
        Step("size", partial(count_weights, run), ["teacher"]),
        Step("first", partial(first_of, run, beginning), ["base", "teacher"]),
        Step("evaluate teacher", partial(measure_teacher, run), ["teacher"]),
        Step("gain", partial(require_gain, run)),
        Step(
            "student",
            partial(make_student, run, beginning),
            ["teacher", "first"],
            is_there=student.is_dir,
            load=partial(load_keras_encoder, student),
            timed="student",
        ),
        Step("evaluate student", partial(run.measure, "student"), ["student"]),
        *shipping_steps(run, partial(export, run)),
    ]


def begin(run: Run) -> None:
    """Write what says which run this is, and take over what one that was stopped had counted."""
    # Again: another command of that name may have come and gone since `prepare`.
    if run.resumed:
        require_resumable(run.provenance.config, run.folder)
    else:
        require_empty(run.folder)
    clear(run.folder, fixed=run.inputs.fixed is not None)
    # First: without it a run cannot be gone on with.
    write_text(run.folder / RUN_FILE, run.provenance.config)
    device = describe_device(run.training.precision)
    run.log = resumed_log(run.folder) if run.resumed else RunLog(run.folder / LOG)
    if not run.log.of(DATA):
        run.log.write(DATA, files=dict(run.dataset.files), sources=dict(run.provenance.sources), device=device)
    (run.folder / CHECKPOINT).mkdir(exist_ok=True)
    say(device_line(device))
    for line in (missed_gpu(), unordered_sums()):
        if line:
            say(line)
    say(
        f"{run.dataset.name}: {len(run.dataset.titles)} documents, {len(run.dataset.passages)} passages, "
        f"questions in {', '.join(run.languages)}"
    )
    if run.inputs.described is run.dataset:
        say(f"{run.dataset.name} has no {DESCRIPTIONS}: a line on each passage in your users' languages brings most")
    base = run.inputs.teacher.base
    if unseen := unseen_languages(base, run.languages):
        say(f"{base} never saw {', '.join(unseen)}: expect little there")


def is_base(teacher: TeacherSettings) -> bool:
    """True where the teacher is the base as it is: none is fixed, and no epoch trains it."""
    return not (teacher.model or teacher.bm25_epochs + teacher.online_epochs)


def measure_peers(run: Run) -> None:
    """Measure other encoders, and record which of the run's languages they know."""
    peers = {}
    for name in run.evaluation.peers:
        run.measure(name, load_teacher(name))
        unseen = unseen_languages(name, run.languages)
        peers[name] = {"languages": [language for language in run.languages if language not in unseen]}
    if peers:
        run.record("peers", peers)


def is_trained(run: Run) -> bool:
    """True where stage 1 is done. Of self-training there are stages to report; they are not trained again either."""
    return (run.folder / TEACHER).is_dir() and not run.inputs.pairing.self_train


def make_teacher(run: Run, base: KerasEncoder) -> Encoder | DualEncoder:
    """The teacher, saved: stage 1's, or the fixed one, which the run holds on to no longer."""
    from .first_stage import teacher_job
    from .self_training import self_train

    folder, fixed = run.folder / TEACHER, run.release_teacher()
    if fixed is not None:
        teacher, note = settled(fixed, run.inputs.teacher, run.dataset, folder, run.inputs.lines)
        run.record("teacher", note)
        say(f"teacher: {teacher.name}, fixed: {teacher.dimension} dimensions")
        return teacher
    session, self_trained = run.session(TEACHER), bool(run.inputs.pairing.self_train)
    trained = self_train(run, base) if self_trained else teacher_job(run.inputs).train(base, session)
    if not folder.is_dir():
        trained.save(folder)
    run.checkpoint(TEACHER).remove()
    return trained


def count_weights(run: Run, teacher: Encoder | KerasEncoder | DualEncoder) -> None:
    """Record the size of a teacher that the run trained, and say it."""
    if run.inputs.teacher.model or not isinstance(teacher, KerasEncoder | DualEncoder):
        return
    size = parameters(teacher)
    run.record("size", {"teacher": size})
    say(f"teacher: {size['parameters'] / 1e6:.1f} M parameters, {size['bytes'] / 1e6:.0f} MB in float32")


def first_of(run: Run, beginning: Beginning, base: KerasEncoder, teacher: Encoder | DualEncoder) -> KerasEncoder:
    """The encoder that the student is made of: one that is named, the teacher's, or of a fixed teacher the base.

    Of a dual teacher it is that of the questions.
    """
    if beginning.encoder:
        return beginning.encoder
    trained = teacher.question if isinstance(teacher, DualEncoder) else teacher
    return trained if isinstance(trained, KerasEncoder) and not run.inputs.teacher.model else base


def measure_teacher(run: Run, teacher: Encoder) -> None:
    """Add the teacher's figures, which are the base's where nothing trains it."""
    if is_base(run.inputs.teacher):
        run.measure_as(TEACHER, "base")
    else:
        run.measure(TEACHER, teacher)


def make_student(run: Run, beginning: Beginning, teacher: Encoder, first: KerasEncoder) -> KerasEncoder:
    """The student, trained and saved."""
    student = study(run, teacher, first, beginning)
    student.save(run.folder / STUDENT)
    run.checkpoint(STUDENT).remove()
    return student
