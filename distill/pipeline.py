"""`distill run`: every stage in its order, and what it leaves in the run's folder."""

import gc
import time
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

from .backend import start
from .bias import described, measure_bias
from .config import UNITS, as_dict, save_settings
from .data import dataset_of
from .errors import DataError, InputError
from .evaluation import Evaluation, encode_questions, encode_units, evaluation_size, rank
from .files import require_writable, write_json
from .fixed import fixed_teacher, into_space, is_foreign, require_no_dimension, settled
from .loading import RUN_FILE, load_aligner, load_encoder, load_keras_encoder, provenance, require_keras
from .parallel import joined, pivots, read_parallel, texts_by_language
from .progress import say, task
from .provenance import versions
from .readers import find
from .report import write_report
from .resuming import DATA, LOG, METRICS, clear, require_resumable, require_same_data, resumed_log
from .runlog import RunLog
from .sentences import has_sentences, load_pool
from .significance import compare
from .texts import read_corpus
from .triplets import load_triplets


@dataclass
class Run:
    """One run: its settings, data, folder and what was measured so far."""

    settings: object
    dataset: object
    languages: tuple
    folder: Path
    log: RunLog
    pool: object = None
    teacher: object = None
    text: dict = field(default_factory=dict)
    sources: list = field(default_factory=list)
    triplets: list = field(default_factory=list)
    pairs: object = None
    answered: object = None
    resumed: bool = False
    bias: dict = field(default_factory=dict)
    evaluations: dict = field(default_factory=dict)
    timings: dict = field(default_factory=dict)
    extra: dict = field(default_factory=dict)

    @property
    def splits(self):
        return measured_splits(self.dataset)

    @property
    def other_languages(self):
        """The question languages that are not the teacher's: what a mean is over."""
        others = tuple(language for language in self.languages if language != self.settings.teacher.language)
        return others or self.languages

    def measure(self, name, encoder):
        """Evaluate on every split and time it; the documents are encoded once."""
        data, languages = self.dataset, self.languages
        size = evaluation_size(data, self.splits, languages)
        with self.timed(f"evaluate {name}"), task(f"evaluate {name}", size) as advance:
            vectors = encode_units(encoder, data, UNITS, advance)
            for split in self.splits:
                asked = encode_questions(encoder, data, split, languages, advance)
                found = Evaluation(name, split, rank(asked, vectors, data, split))
                self.evaluations.setdefault(split, {})[name] = found
                means = {unit: round(found.mean(unit, self.other_languages), 4) for unit in UNITS}
                self.log.write("evaluation", encoder=name, split=split, **means)
        if self.pool:
            self.measure_bias(name, encoder)

    def measure_bias(self, name, encoder):
        """LAReQA's analyses on the last split."""
        with self.timed(f"language bias {name}"):
            pivot = self.settings.data.document_language
            found = measure_bias(encoder, self.pool, pivot, name=name, seed=self.settings.seed)
        self.bias[name] = found
        self.log.write("lareqa", encoder=name, split=self.splits[-1], map=round(found["map"], 4))

    @contextmanager
    def timed(self, name):
        began = time.perf_counter()
        yield
        self.timings[name] = round(time.perf_counter() - began, 2)


def prepare(settings, folder, resume=False):
    """Read and check everything that can be wrong before anything is written; returns a `Run`.

    With `resume` the folder is that of a run of the same settings that was stopped.
    """
    folder = Path(folder)
    if resume:
        require_resumable(settings, folder)
    run = inputs(settings, folder)
    run.resumed = resume
    if resume:
        require_same_data(run.dataset, folder)
    else:
        require_new(folder)
    run.pool = lareqa_pool(settings, run.dataset, run.languages)
    return run


def require_new(folder):
    """Raise `InputError` where a run's folder holds something, or cannot be written."""
    if folder.exists() and any(folder.iterdir() if folder.is_dir() else [folder]):
        stopped = (folder / RUN_FILE).is_file() and not (folder / METRICS).is_file()
        hint = f"; or go on with it: --resume {folder}" if stopped else ""
        raise InputError(f"{folder} is there already; choose another --name or remove it{hint}")
    require_writable(folder)


def inputs(settings, folder):
    """A `Run` of what a teacher and a student learn from, read and checked. Raises `InputError`."""
    from .first_stage import answered_of, pairs_of, require_lines

    settings.check()
    dataset = dataset_of(settings)
    languages = chosen_languages(dataset, settings)
    require_keras(settings.teacher.base)
    text, sources = read_corpus(settings.vocabulary.text), read_sources(settings, languages)
    require_text(settings.vocabulary.add_languages, languages, {*text, *texts_by_language(sources)})
    triplets = load_triplets(settings.teacher.triplets, dataset, settings.teacher.language)
    teacher = fixed_teacher(settings.teacher.model) if settings.teacher.model else None
    require_lines(settings, sources)
    pairs = pairs_of(settings, dataset, languages)
    more = {"teacher": teacher, "text": text, "sources": sources, "triplets": triplets, "pairs": pairs}
    more["answered"] = answered_of(settings, dataset, languages, pairs)
    return Run(settings, dataset, languages, Path(folder), RunLog(), **more)


def read_sources(settings, languages):
    """The parallel text that the settings name, in the run's languages. Raises `InputError`."""
    return read_parallel(settings.student.parallel, settings.teacher.language, languages)


def require_text(added, languages, written):
    """Raise `InputError` for a language that gets pieces and that is not asked in, or has no text."""
    for language in added:
        if language not in languages:
            raise InputError(f"--add-languages: no questions in {language}; the run has {', '.join(languages)}")
        if language not in written:
            raise InputError(f"--add-languages: no text in {language}; give some with --text or --parallel")


def measured_splits(dataset):
    """What a run is measured on: dev, which steered it, and test where the data has it."""
    return [split for split in ("dev", "test") if split in dataset.splits]


def lareqa_pool(settings, dataset, languages):
    """The `Pool` of a run whose data gives sentence boundaries, unless --no-lareqa; else None. Raises `DataError`."""
    folder = find(settings.data.dataset)
    if not settings.evaluation.lareqa or (folder / "documents.jsonl").is_file() or not has_sentences(folder, languages):
        return None
    data, split = settings.data, measured_splits(dataset)[-1]
    try:
        return load_pool(folder, languages, split, data.document_language, data.split_by, settings.seed)
    except DataError as error:
        raise DataError(f"{error}; mend it, or leave language bias out with --no-lareqa") from error


def chosen_languages(dataset, settings):
    """The teacher's language first, then those asked for, or all. Raises `DataError` for one that the data lacks."""
    asked = settings.data.languages or dataset.languages
    dataset.require([settings.teacher.language, *asked])
    return tuple(dict.fromkeys([settings.teacher.language, *sorted(asked)]))


def unseen_languages(base, languages):
    """Which of `languages` the base of that name was not trained on; none is known of a saved encoder."""
    from .teachers.muse import LANGUAGES

    return [language for language in languages if language not in LANGUAGES] if base == "muse" else []


def execute(run):
    """All stages; returns the metrics that `metrics.json` holds."""
    start()
    import keras

    from .students.shape import Shape

    settings = run.settings
    keras.utils.set_random_seed(settings.seed)
    with run.timed("load base"):
        base = load_keras_encoder(settings.teacher.base)
    shape = Shape.of(settings.shape).check(base.model)
    foreign = run.teacher is not None and is_foreign(run.teacher, base, run.dataset, settings.teacher.language)
    if foreign:
        require_no_dimension(shape, run.teacher)
    run.folder.mkdir(parents=True, exist_ok=True)
    if run.resumed:
        clear(run.folder, fixed=run.teacher is not None)
    run.log = resumed_log(run.folder) if run.resumed else RunLog(run.folder / LOG)
    run.log.write(DATA, files=dict(run.dataset.files))
    save_settings(settings, run.folder / "config.toml")
    say(
        f"{run.dataset.name}: {len(run.dataset.titles)} documents, {len(run.dataset.passages)} passages, "
        f"questions in {', '.join(run.languages)}"
    )
    unseen = unseen_languages(settings.teacher.base, run.languages)
    if unseen:
        say(f"{settings.teacher.base} never saw {', '.join(unseen)}: expect little there")
    run.measure("base", base)
    with run.timed("teacher"):
        teacher, first = taught(run, base)
    del base
    gc.collect()
    run.measure("teacher", teacher)
    with run.timed("student"):
        student = study(run, teacher, first, shape, foreign)
        student.save(run.folder / "student")
    del teacher, first
    run.teacher = None
    gc.collect()
    run.measure("student", student)
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

    there = run.resumed and folder.is_dir()
    # Of self-training there are stages to report; they are not trained again either.
    if there and not run.settings.pairs.self_train:
        return load_encoder(folder)
    teacher = first_stage(run, base)
    if not there:
        teacher.save(folder)
    return teacher


def study(run, teacher, first, shape, foreign=False):
    """Stage 2: `student_of` these, trained towards the teacher."""
    from .export.form import Precision
    from .transfer import transfer

    settings, lines = run.settings, parallel_lines(run, teacher)
    return transfer(
        teacher,
        student_of(run, first, teacher, shape, foreign),
        run.dataset,
        settings.teacher.language,
        run.languages,
        settings.student,
        settings.seed,
        run.log,
        precision=Precision(settings.export.precision, settings.export.table),
        lines=lines,
    )


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
    from .export.gate import size
    from .export.machine import machine
    from .export.process import Spec
    from .export.runtime import load_artefact, size_of

    settings, folder = run.settings, run.folder / "bundle"
    form = Form(precision=Precision(settings.export.precision, settings.export.table))
    with run.timed("export"), task("export", size(run.dataset, run.languages)) as advance:
        notes = {**provenance(settings), "source": run.folder.resolve().name, "languages": list(run.languages)}
        card = export_artefact(
            student, folder, run.dataset, run.languages, settings.export, form, notes, progress=advance
        )
    run.extra["gate"] = card["dev"]
    run.measure("bundle", load_artefact(folder, settings.export.threads))
    run.extra["bundle_bytes"] = size_of(folder)
    questions, threads = select_questions(run.dataset, run.languages), settings.export.threads
    with task("benchmark", steps(1)) as advance:
        found = bench({"bundle": Spec("bundle", folder)}, questions, threads=threads, progress=advance)
    run.timings["query"] = {**found["bundle"], "threads": threads, "queries": len(questions), "machine": machine()}


def close(run):
    """Write `metrics.json` and `report.html`; returns the metrics."""
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
        **run.extra,
        "timings": run.timings,
    }
    write_json(run.folder / "metrics.json", metrics)
    write_report(run.folder / "report.html", metrics, run.log.rows)
    run.log.write("done")
    run.log.close()
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
