"""`distill run`: every stage in its order, and what it leaves in the run's folder."""

import gc
import shutil

from .backend import start
from .bias import described
from .checkpoints import CHECKPOINT
from .collapse import warnings_of
from .config import UNITS, as_dict, save_settings
from .files import read_json, write_json
from .fixed import into_space, is_foreign, require_no_dimension, settled
from .loading import CARD_FILE, RUN_FILE, is_artefact, load_aligner, load_encoder, load_keras_encoder, provenance
from .locking import locked
from .parallel import joined, pivots, texts_by_language
from .preparing import require_empty, unseen_languages
from .progress import say, task
from .provenance import versions
from .report import write_report
from .resuming import DATA, LOG, METRICS, clear, require_resumable, resumed_log, sources_of
from .runlog import RunLog
from .significance import compare
from .weakness import require_gain


def execute(run):
    """All stages, in a folder that no other process works in meanwhile; returns the metrics that it leaves there.

    Of a run that was stopped what is finished is not made again; `prepare` says which run that may be.
    """
    if run.resumed and (run.folder / METRICS).is_file():
        shutil.rmtree(run.folder / CHECKPOINT, ignore_errors=True)
        return read_json(run.folder / METRICS)
    start()
    from .students.shape import Shape

    settings = run.settings
    seeded(run)
    with run.timed("load base"):
        base = load_keras_encoder(settings.teacher.base)
    shape = Shape.of(settings.shape).check(base.model)
    foreign = run.teacher is not None and is_foreign(run.teacher, base, run.dataset, settings.teacher.language)
    if foreign:
        require_no_dimension(shape, run.teacher)
    run.folder.mkdir(parents=True, exist_ok=True)
    with locked(run.folder):
        try:
            begin(run)
            return stages(run, base, shape, foreign)
        finally:
            run.log.close()


def seeded(run):
    """Every stage begins with the seed, so that it is the same whether those before it were made now or earlier."""
    import keras

    keras.utils.set_random_seed(run.settings.seed)


def begin(run):
    """Write what says which run this is, and take over what one that was stopped had counted."""
    # Again: another command of that name may have come and gone since `prepare`.
    if run.resumed:
        require_resumable(run.settings, run.folder)
    else:
        require_empty(run.folder)
    clear(run.folder, fixed=run.teacher is not None)
    # First: without it a run cannot be gone on with.
    save_settings(run.settings, run.folder / RUN_FILE)
    run.log = resumed_log(run.folder) if run.resumed else RunLog(run.folder / LOG)
    if not run.log.of(DATA):
        run.log.write(DATA, files=dict(run.dataset.files), sources=sources_of(run.settings, run.teacher))
    (run.folder / CHECKPOINT).mkdir(exist_ok=True)
    say(
        f"{run.dataset.name}: {len(run.dataset.titles)} documents, {len(run.dataset.passages)} passages, "
        f"questions in {', '.join(run.languages)}"
    )
    unseen = unseen_languages(run.settings.teacher.base, run.languages)
    if unseen:
        say(f"{run.settings.teacher.base} never saw {', '.join(unseen)}: expect little there")


def stages(run, base, shape, foreign):
    run.measure("base", base)
    seeded(run)
    with run.timed("teacher"):
        teacher, first = taught(run, base)
    del base
    gc.collect()
    run.measure("teacher", teacher)
    require_gain(run)
    seeded(run)
    with run.timed("student"):
        student = stage_two(run, teacher, first, shape, foreign)
    del teacher, first
    run.teacher = None
    gc.collect()
    run.measure("student", student)
    seeded(run)
    finish(run, student)
    return close(run)


def taught(run, base):
    """The teacher, saved, and the encoder that the student starts from.

    Stage 1's is both, of a dual one that of questions; with a fixed one it is the base.
    """
    from .dual import parameters

    settings, folder = run.settings, run.folder / "teacher"
    if run.teacher is None:
        teacher = stage_one(run, base, folder)
        size = parameters(teacher)
        run.extra["size"] = {"teacher": size}
        say(f"teacher: {size['parameters'] / 1e6:.1f} M parameters, {size['bytes'] / 1e6:.0f} MB in float32")
        return teacher, getattr(teacher, "question", teacher)
    teacher, run.extra["teacher"] = settled(run.teacher, settings.teacher, run.dataset, folder)
    say(f"teacher: {teacher.name}, fixed: {teacher.dimension} dimensions")
    return teacher, base


def stage_one(run, base, folder):
    """Stage 1's encoder, saved to `folder`, or what a run that was stopped has there."""
    from .first_stage import first_stage

    there = folder.is_dir()
    # Of self-training there are stages to report; they are not trained again either.
    if there and not run.settings.pairs.self_train:
        return load_encoder(folder)
    checkpoint = run.checkpoint(folder.name)
    teacher = first_stage(run, base, checkpoint=checkpoint)
    if not there:
        teacher.save(folder)
    checkpoint.remove()
    return teacher


def stage_two(run, teacher, first, shape, foreign):
    """The student, saved, or what a run that was stopped has there."""
    folder = run.folder / "student"
    if folder.is_dir():
        return load_encoder(folder)
    student = study(run, teacher, first, shape, foreign)
    student.save(folder)
    run.checkpoint(folder.name).remove()
    return student


def study(run, teacher, first, shape, foreign=False):
    """Stage 2: `student_of` these, trained towards the teacher."""
    from .export.form import Precision
    from .transfer import transfer

    settings, lines = run.settings, parallel_lines(run, teacher)
    return transfer(
        teacher,
        untrained(run, first, teacher, shape, foreign),
        run.dataset,
        settings.teacher.language,
        run.languages,
        settings.student,
        settings.seed,
        run.log,
        precision=Precision(settings.export.precision, settings.export.table),
        lines=lines,
        checkpoint=run.checkpoint("student"),
        training=settings.training,
    )


def untrained(run, first, teacher, shape, foreign):
    """`student_of` these; one with other pieces or of another shape is made once, however often the run is stopped."""
    folder = run.folder / CHECKPOINT / "start"
    if folder.is_dir():
        return load_keras_encoder(folder)
    made = student_of(run, first, teacher, shape, foreign)
    if made is not first:
        made.save(folder)
    return made


def parallel_lines(run, teacher):
    """The `transfer.Lines` of the run's parallel text; None without."""
    from .transfer import translations

    if not run.sources:
        return None
    with task("teacher's vectors of the parallel text", pivots(run.sources)) as advance:
        return translations(run.sources, teacher, run.settings.student.parallel_temperature, advance)


def student_of(run, first, teacher, shape, foreign=False):
    """The encoder `first` with the pieces and in the shape that the settings ask for, not yet trained.

    The axes of a smaller dimension are those of the teacher's vectors. Where their space is `foreign` to `first` the
    student has a map into it.
    """
    from .candidates import NEW
    from .vocabularies import Vocabularies

    asked = run.settings.vocabulary
    text = joined(run.text, texts_by_language(run.sources))
    aligner = load_aligner(asked.aligner or None)
    words = Vocabularies(first, run.dataset, run.languages, text, asked.add_languages, asked.add_pieces, aligner)
    encoder = words.vocabulary(asked.keep + (NEW if asked.add_languages else ""))
    for piece, anchors in words.nearest.items():
        say(f"{piece}: " + ", ".join(f"{anchor} {weight:.2f}" for anchor, weight in anchors))
    if len(encoder.tokenizer) != len(first.tokenizer):
        name = "teacher" if first is teacher else "base"
        say(f"{len(encoder.tokenizer)} pieces, the {name} has {len(first.tokenizer)}")
    vectors = teacher.encode(run.dataset.passage_texts, "document") if shape.dimension else None
    start, settings = words.start(encoder, shape, vectors, run.settings.seed), run.settings
    if not foreign:
        return start
    return into_space(start, teacher, run.dataset, settings.teacher.language, run.sources, settings.seed)


def finish(run, student):
    """Export, evaluate the artefact itself, and time it."""
    from .export.artefact import export_artefact
    from .export.benchmark import bench, select_questions, steps
    from .export.form import Form, Precision
    from .export.gate import require_passed, size
    from .export.machine import machine
    from .export.process import Spec
    from .export.runtime import load_artefact, size_of

    settings, folder = run.settings, run.folder / "bundle"
    form = Form(precision=Precision(settings.export.precision, settings.export.table))
    if is_artefact(folder):
        require_passed(read_json(folder / CARD_FILE)["dev"], settings.export, form.precision.table)
    else:
        with run.timed("export"), task("export", size(run.dataset, run.languages)) as advance:
            notes = {**provenance(settings), "source": run.folder.resolve().name, "languages": list(run.languages)}
            export_artefact(student, folder, run.dataset, run.languages, settings.export, form, notes, progress=advance)
    run.extra["gate"] = read_json(folder / CARD_FILE)["dev"]
    run.measure("bundle", load_artefact(folder, settings.export.threads))
    run.extra["bundle_bytes"] = size_of(folder)
    questions, threads = select_questions(run.dataset, run.languages), settings.export.threads
    with task("benchmark", steps(1)) as advance:
        found = bench({"bundle": Spec("bundle", folder)}, questions, threads=threads, progress=advance)
    run.timings["query"] = {**found["bundle"], "threads": threads, "queries": len(questions), "machine": machine()}


def close(run):
    """Write `report.html` and `metrics.json`; returns the metrics."""
    metrics = {
        "settings": as_dict(run.settings),
        "dataset": {
            "name": run.dataset.name,
            "documents": len(run.dataset.titles),
            "passages": len(run.dataset.passages),
            "splits": {split: len(ids) for split, ids in run.dataset.splits.items()},
            "files": dict(run.dataset.files),
        },
        "versions": versions(),
        "languages": list(run.languages),
        "mean_over": list(run.other_languages),
        "splits": {split: split_metrics(run, found) for split, found in run.evaluations.items()},
        **({"lareqa": described(run.pool, run.splits[-1], run.bias)} if run.bias else {}),
        **({"warnings": found} if (found := warnings_of(run.log.rows)) else {}),
        **run.extra,
        "timings": run.timings,
    }
    write_report(run.folder / "report.html", metrics, run.log.rows)
    run.log.write("done")
    run.log.close()
    # The last thing: a run that has its metrics is finished.
    write_json(run.folder / METRICS, metrics)
    shutil.rmtree(run.folder / CHECKPOINT, ignore_errors=True)
    return metrics


def split_metrics(run, found):
    """What one split showed: figures by encoder, means, and McNemar's tests of the student."""
    student = found["student"].ranks
    return {
        "encoders": {name: evaluation.table() for name, evaluation in found.items()},
        "mean_p@1": {
            name: {unit: evaluation.mean(unit, run.other_languages) for unit in UNITS}
            for name, evaluation in found.items()
        },
        "mcnemar": {
            f"student against {name}": {unit: compare(student[unit], found[name].ranks[unit]) for unit in UNITS}
            for name in ("base", "teacher")
        },
    }
