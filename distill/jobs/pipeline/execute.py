"""The steps of `distill run` up to the student, and the files that they leave in the run's folder."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import asdict
from pathlib import Path

from ...data.contexts import DESCRIPTIONS
from ...encoders.catalog.kinds import RUN_FILE
from ...encoders.dual_encoder import DualEncoder, count_parameters
from ...encoders.encoder import Encoder, KerasEncoder
from ...errors import TrainingError
from ...settings.sections import TeacherSettings
from ...system.backend import describe_programs
from ...system.device import describe_device, device_line, missed_gpu, unordered_sums
from ...system.files import lock_folder, write_text
from ...system.input_files import read_json
from ...system.progress import say
from ...system.types import Json
from ...training.checkpoints import CHECKPOINT
from ...training.log import RunLog, read_outcome
from .fixed_teacher import freeze_teacher, load_fixed_teacher
from .inputs import SAMPLE_NOTE, learns_sample
from .preparing import find_unseen_languages, require_empty
from .resuming import DATA, LOG, METRICS, STUDENT, TEACHER, clear_unfinished, require_resumable, resume_log
from .run import Run
from .second_stage import StudentStart

# The stages by the names of what they leave.
STAGES = {TEACHER: "stage 1", STUDENT: "stage 2"}
# The backend that exports need, and how a command's error begins.
EXPORTING, ERROR = "tensorflow", "error: "


def read_finished(folder: Path) -> Json:
    """Return the metrics of a run that was stopped after it had written them, and remove its checkpoints."""
    shutil.rmtree(folder / CHECKPOINT, ignore_errors=True)
    return read_json(folder / METRICS)


@contextmanager
def hold_folder(run: Run) -> Iterator[None]:
    """Make the folder of a run, begin the run in it, and keep other processes out meanwhile."""
    run.folder.mkdir(parents=True, exist_ok=True)
    with lock_folder(run.folder):
        try:
            begin_run(run)
            yield
        finally:
            run.log.close()


def finish_on_tensorflow(folder: Path) -> Json:
    """Finish, in a process on TensorFlow, a run whose student another backend trained, and return the metrics.

    Keras has one backend per process, and exports need TensorFlow. If the process fails, the same command resumes the
    run.
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


def begin_run(run: Run) -> None:
    """Write the files that identify the run, and restore the figures of one that was stopped."""
    # Again: another command of that name may have come and gone since `prepare`.
    if run.resumed:
        require_resumable(run.provenance.config, run.folder)
    else:
        require_empty(run.folder, run.inputs.without_questions)
    clear_unfinished(run.folder, fixed=run.inputs.fixed is not None)
    # First: without it a run cannot be gone on with.
    write_text(run.folder / RUN_FILE, run.provenance.config)
    device = describe_device(run.training.precision)
    run.log = resume_log(run.folder) if run.resumed else RunLog(run.folder / LOG)
    if not run.log.of(DATA):
        run.log.write(DATA, files=dict(run.dataset.files), sources=dict(run.provenance.sources), device=device)
    (run.folder / CHECKPOINT).mkdir(exist_ok=True)
    say(device_line(device))
    for line in (missed_gpu(), unordered_sums(), describe_programs(), SAMPLE_NOTE if learns_sample(run.inputs) else ""):
        if line:
            say(line)
    say(
        f"{run.dataset.name}: {len(run.dataset.titles)} documents, {len(run.dataset.passages)} passages, "
        f"questions in {', '.join(run.languages)}"
    )
    if run.inputs.described is run.dataset:
        say(f"{run.dataset.name} has no {DESCRIPTIONS}: a line on each passage in your users' languages brings most")
    base = run.inputs.teacher.base
    if unseen := find_unseen_languages(base, run.languages):
        say(f"{base} never saw {', '.join(unseen)}: expect little there")


def is_base(teacher: TeacherSettings) -> bool:
    """Return True if the teacher is the unchanged base: no fixed teacher is named, and no epoch trains one."""
    return not (teacher.model or teacher.bm25_epochs + teacher.online_epochs)


def measure_peers(run: Run) -> None:
    """Measure the other encoders, and record which of the run's languages they know."""
    peers = {}
    for name in run.evaluation.peers:
        run.measure(name, load_fixed_teacher(name))
        unseen = find_unseen_languages(name, run.languages)
        peers[name] = {"languages": [language for language in run.languages if language not in unseen]}
    if peers:
        run.record("peers", peers)


def is_trained(run: Run) -> bool:
    """Return True if stage 1 is done. Self-training is never taken as done, because its stages are reported again."""
    return (run.folder / TEACHER).is_dir() and not run.inputs.pairing.self_train


def make_teacher(run: Run, base: KerasEncoder) -> Encoder | DualEncoder:
    """Train the teacher from the base and save it, or save the fixed one, which the run then releases."""
    from .first_stage import teacher_job
    from .self_training import self_train

    folder, fixed = run.folder / TEACHER, run.release_teacher()
    if fixed is not None:
        teacher, note = freeze_teacher(fixed, run.inputs.teacher, run.dataset, folder, run.inputs.lines)
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
    """Record and print the size of a teacher that the run trained."""
    if run.inputs.teacher.model or not isinstance(teacher, KerasEncoder | DualEncoder):
        return
    size = count_parameters(teacher)
    run.record("size", {"teacher": size})
    say(f"teacher: {size['parameters'] / 1e6:.1f} M parameters, {size['bytes'] / 1e6:.0f} MB in float32")


def choose_start(run: Run, beginning: StudentStart, base: KerasEncoder, teacher: Encoder | DualEncoder) -> KerasEncoder:
    """Choose the encoder that the student is made of."""
    if beginning.encoder:
        return beginning.encoder
    trained = teacher.question if isinstance(teacher, DualEncoder) else teacher
    return trained if isinstance(trained, KerasEncoder) and not run.inputs.teacher.model else base


def say_outcome(run: Run, stage: str) -> None:
    """Print and record what a stage, "teacher" or "student", brought on dev; without a step there is nothing."""
    outcome = read_outcome(run.log.of(stage))
    if outcome is None:
        return
    line = outcome.describe(STAGES[stage])
    run.record("stages", {**run.figures.get("stages", {}), stage: {**asdict(outcome), "line": line}})
    say(line)


def measure_teacher(run: Run, teacher: Encoder) -> None:
    """Add the teacher's figures, which are the base's if nothing trained it or dev kept its start."""
    say_outcome(run, TEACHER)
    kept = run.figures.get("stages", {}).get(TEACHER, {}).get("kept_start", False)
    if is_base(run.inputs.teacher) or kept:
        run.measure_as(TEACHER, "base")
    else:
        run.measure(TEACHER, teacher)


def measure_student(run: Run, student: KerasEncoder) -> None:
    """Add the student's figures."""
    say_outcome(run, STUDENT)
    run.measure(STUDENT, student)
