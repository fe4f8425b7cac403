"""`distill run`: every stage in its order, and what it leaves in the run's folder."""

from __future__ import annotations

import gc
import shutil
from pathlib import Path

from ..catalog.kinds import RUN_FILE
from ..catalog.loading import load_keras_encoder, load_teacher, load_trained
from ..data.descriptions import DESCRIPTIONS
from ..encoders.by_role import DualEncoder, parameters
from ..encoders.encoder import Encoder, KerasEncoder
from ..settings.sections import Settings
from ..settings.store import save_settings
from ..system.backend import start
from ..system.locking import locked
from ..system.progress import say
from ..system.reading import read_json
from ..system.types import Json
from ..training.checkpoints import CHECKPOINT
from ..training.log import RunLog
from .fixed_teacher import settled
from .gain import require_gain
from .preparing import require_empty, unseen_languages
from .resuming import DATA, LOG, METRICS, clear, require_resumable, resumed_log, sources_of
from .run import Run
from .second_stage import Beginning, beginning_of, study
from .shipping import close, finish


def execute(run: Run) -> Json:
    """All stages, in a folder that no other process works in meanwhile; returns the metrics that it leaves there.

    Of a run that was stopped what is finished is not made again; `prepare` says which run that may be.
    """
    if run.resumed and (run.folder / METRICS).is_file():
        shutil.rmtree(run.folder / CHECKPOINT, ignore_errors=True)
        return read_json(run.folder / METRICS)
    start()
    seeded(run)
    with run.timed("load base"):
        base = load_keras_encoder(run.settings.teacher.base)
    beginning = beginning_of(run.inputs, base)
    run.folder.mkdir(parents=True, exist_ok=True)
    with locked(run.folder):
        try:
            begin(run)
            return stages(run, base, beginning)
        finally:
            run.log.close()


def seeded(run: Run) -> None:
    """Begin a stage with the run's seed, so that it is the same whether those before it were made now or earlier."""
    import keras

    keras.utils.set_random_seed(run.settings.seed)


def begin(run: Run) -> None:
    """Write what says which run this is, and take over what one that was stopped had counted."""
    # Again: another command of that name may have come and gone since `prepare`.
    if run.resumed:
        require_resumable(run.settings, run.folder)
    else:
        require_empty(run.folder)
    clear(run.folder, fixed=run.inputs.teacher is not None)
    # First: without it a run cannot be gone on with.
    save_settings(run.settings, run.folder / RUN_FILE)
    run.log = resumed_log(run.folder) if run.resumed else RunLog(run.folder / LOG)
    if not run.log.of(DATA):
        run.log.write(DATA, files=dict(run.dataset.files), sources=sources_of(run.settings, run.inputs.teacher))
    (run.folder / CHECKPOINT).mkdir(exist_ok=True)
    say(
        f"{run.dataset.name}: {len(run.dataset.titles)} documents, {len(run.dataset.passages)} passages, "
        f"questions in {', '.join(run.languages)}"
    )
    if run.inputs.described is run.dataset:
        say(f"{run.dataset.name} has no {DESCRIPTIONS}: a line on each passage in your users' languages brings most")
    unseen = unseen_languages(run.settings.teacher.base, run.languages)
    if unseen:
        say(f"{run.settings.teacher.base} never saw {', '.join(unseen)}: expect little there")


def stages(run: Run, base: KerasEncoder, beginning: Beginning) -> Json:
    """Teacher, student and bundle, each measured; returns the metrics."""
    measure_peers(run)
    run.measure("base", base)
    seeded(run)
    with run.timed("teacher"):
        teacher, first = taught(run, base)
    first = beginning.encoder or first
    del base
    gc.collect()
    if is_base(run.settings):
        run.measure_as("teacher", "base")
    else:
        run.measure("teacher", teacher)
    require_gain(run)
    seeded(run)
    with run.timed("student"):
        student = stage_two(run, teacher, first, beginning)
    del teacher, first
    run.release_teacher()
    gc.collect()
    run.measure("student", student)
    seeded(run)
    return close(run, finish(run, student))


def is_base(settings: Settings) -> bool:
    """True where the teacher is the base as it is: none is fixed, and no epoch trains it."""
    return not (settings.teacher.model or settings.teacher.bm25_epochs + settings.teacher.online_epochs)


def measure_peers(run: Run) -> None:
    """Measure other encoders, and record which of the run's languages they know."""
    peers = {}
    for name in run.settings.evaluation.peers:
        run.measure(name, load_teacher(name))
        unseen = unseen_languages(name, run.languages)
        peers[name] = {"languages": [language for language in run.languages if language not in unseen]}
    if peers:
        run.record("peers", peers)


def taught(run: Run, base: KerasEncoder) -> tuple[Encoder, KerasEncoder]:
    """The teacher, saved, and the encoder that the student starts from.

    Stage 1's is both, of a dual one that of questions; with a fixed one it is the base.
    """
    fixed, folder = run.inputs.teacher, run.folder / "teacher"
    if fixed is None:
        trained = stage_one(run, base, folder)
        size = parameters(trained)
        run.record("size", {"teacher": size})
        say(f"teacher: {size['parameters'] / 1e6:.1f} M parameters, {size['bytes'] / 1e6:.0f} MB in float32")
        return trained, trained.question if isinstance(trained, DualEncoder) else trained
    teacher, note = settled(fixed, run.settings.teacher, run.dataset, folder)
    run.record("teacher", note)
    say(f"teacher: {teacher.name}, fixed: {teacher.dimension} dimensions")
    return teacher, base


def stage_one(run: Run, base: KerasEncoder, folder: Path) -> KerasEncoder | DualEncoder:
    """Stage 1's encoder, saved to `folder`, or what a run that was stopped has there."""
    from .first_stage import first_stage
    from .self_training import self_train

    there, self_trained = folder.is_dir(), bool(run.settings.pairs.self_train)
    # Of self-training there are stages to report; they are not trained again either.
    if there and not self_trained:
        return load_trained(folder)
    session = run.session(folder.name)
    teacher = self_train(run, base) if self_trained else first_stage(run.inputs, base, session)
    if not there:
        teacher.save(folder)
    run.checkpoint(folder.name).remove()
    return teacher


def stage_two(run: Run, teacher: Encoder, first: KerasEncoder, beginning: Beginning) -> KerasEncoder:
    """The student, saved, or what a run that was stopped has there."""
    folder = run.folder / "student"
    if folder.is_dir():
        return load_keras_encoder(folder)
    student = study(run, teacher, first, beginning)
    student.save(folder)
    run.checkpoint(folder.name).remove()
    return student
