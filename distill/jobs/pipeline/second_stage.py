"""Stage 2, within a run or alone: make the student's start and train it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from ...data.loading import choose_data, load_dev
from ...data.parallel import collect_texts, join_corpora
from ...encoders.catalog.loading import load_aligner, load_keras_encoder, load_teacher
from ...encoders.encoder import Encoder, KerasEncoder, take_own_pieces
from ...export.weights.precision import Precision
from ...settings.assignments import refuse_unused
from ...settings.sections import Settings, ShapeSettings, TeacherSettings
from ...system.arrays import write_arrays
from ...system.progress import say
from ...training.checkpoints import CHECKPOINT, WHITENING
from ...training.log import RunLog
from ...training.session import Session
from .fixed_teacher import centre, is_foreign, load_fixed_teacher, map_into_space, require_no_dimension
from .inputs import (
    SAMPLE_NOTE,
    Inputs,
    add_translated_questions,
    learns_sample,
    needed_question_languages,
    require_learnable,
)
from .preparing import add_texts, load_scorer, say_shared
from .resuming import STUDENT
from .run import Run

if TYPE_CHECKING:
    from ...students.shape import Shape
    from ...training.stages.lines import Lines
    from ...training.stages.student_job import StudentJob


@dataclass(frozen=True)
class StudentStart:
    """The start of a student: its shape, its encoder or else stage 1's, and if its labels are in another space."""

    shape: Shape
    encoder: KerasEncoder | None = None
    foreign: bool = False


def determine_start(inputs: Inputs, base: KerasEncoder, cut: ShapeSettings) -> StudentStart:
    """Determine the start of a run's student; `base` is the encoder that stage 1 trains otherwise."""
    from ...students.shape import Shape
    from ...students.vocabulary.new_pieces import load_unigram_proto
    from ...students.vocabulary.pruning import collect_lines
    from ...training.stages.targets import require_prefixes

    source, teacher = inputs.student.start, inputs.fixed or base
    named = load_keras_encoder(source) if source else None
    first = named or base
    if inputs.vocabulary.add_languages:
        load_unigram_proto(first.tokenizer)
    # A student becomes a bundle, so texts that its pieces would read otherwise are told before anything is trained.
    lines = collect_lines(inputs.dataset, inputs.languages, {})[0]
    take_own_pieces(first, (line.text for line in lines))
    shape = Shape.of(cut).check(first.model)
    foreign = teacher is not first and is_foreign(teacher, first, inputs.dataset, inputs.teacher.language, inputs.lines)
    if foreign:
        require_no_dimension(shape, teacher)
    require_prefixes(inputs.student.nested, teacher.dimension if foreign else shape.dimension or first.dimension)
    return StudentStart(shape, named, foreign)


def student_job(inputs: Inputs) -> StudentJob:
    """Return the job that trains the student of these inputs, and how it is rounded."""
    from ...training.stages.student_job import StudentJob

    return StudentJob(
        dataset=inputs.described or inputs.dataset,
        language=inputs.teacher.language,
        languages=inputs.learned,
        settings=inputs.student,
        precision=inputs.precision,
        seed=inputs.seed,
        sources=inputs.student_lines,
        scorer=inputs.scorer_of("student"),
        table_of=inputs.student.start or inputs.teacher.base,
    )


def make_student(run: Run, beginning: StudentStart, teacher: Encoder, first: KerasEncoder) -> KerasEncoder:
    """Train the student of a run towards its teacher, and save it: stage 2."""
    from ...training.stages.transfer_stage import require_trainable

    start = make_untrained(run, first, teacher, beginning)
    require_trainable(teacher, start, run.training)
    job = student_job(run.inputs)
    job.require_codewords(start)
    student = job.train(job.targets(teacher), start, first, run.session(STUDENT))
    if matrices := run.checkpoint(STUDENT).read_kept(WHITENING):
        write_arrays(run.folder / f"{WHITENING}.npz", {str(len(matrix)): matrix for matrix in matrices})
    student.save(run.folder / STUDENT)
    run.checkpoint(STUDENT).remove()
    return student


def make_untrained(run: Run, first: KerasEncoder, teacher: Encoder, beginning: StudentStart) -> KerasEncoder:
    """Make the untrained student of a run, once, however often the run is stopped."""
    folder = run.folder / CHECKPOINT / "start"
    if folder.is_dir():
        return load_keras_encoder(folder)
    first = take_own_pieces(first)
    start = shape_student(run.inputs, first, teacher, beginning.shape, beginning.foreign)
    if start is not first:
        start.save(folder)
    return start


def shape_student(
    inputs: Inputs, first: KerasEncoder, teacher: Encoder, shape: Shape, foreign: bool = False
) -> KerasEncoder:
    """Give an encoder the tokens and the shape of the settings, untrained, with a map into a foreign space."""
    from ...students.vocabulary.vocabularies import NEW, Additions, Vocabularies

    dataset, options = inputs.dataset, inputs.vocabulary
    text = join_corpora(inputs.text, collect_texts(inputs.lines))
    aligner, new = load_aligner(options.aligner or None), options.add_languages
    pieces = Additions(options.add_pieces, inputs.words), aligner, options.aligner_below
    words = Vocabularies(first, dataset, inputs.languages, text, new, *pieces)
    encoder = words.vocabulary(options.keep + (NEW if new else ""), options.most_pieces)
    for piece, anchors in words.nearest.items():
        say(f"{piece}: " + ", ".join(f"{anchor} {weight:.2f}" for anchor, weight in anchors))
    if len(encoder.tokenizer) != len(first.tokenizer):
        name = "teacher" if first is teacher else inputs.student.start or "base"
        say(f"{len(encoder.tokenizer)} pieces, the {name} has {len(first.tokenizer)}")
    vectors = teacher.encode(dataset.passage_texts, "document") if shape.dimension else None
    start = words.start(encoder, shape, vectors, inputs.seed)
    if not foreign:
        return start
    return map_into_space(start, teacher, dataset, inputs.teacher.language, inputs.lines, inputs.seed)


@dataclass(frozen=True)
class TeacherSource:
    """The teacher of a student outside a run.

    Attributes:
        start: The name of the encoder that the student starts from; by default the teacher.
        centred: Whether the mean of the teacher's vectors is removed.
        corpus: Texts by language that the student learns besides the questions.
        labels: The name of the encoder whose vectors of these texts are learned.
    """

    source: str
    language: str = "en"
    start: str = ""
    centred: bool = False
    corpus: Mapping[str, Sequence[str]] = field(default_factory=dict)
    labels: str = ""


def transfer_alone(settings: Settings, teaching: TeacherSource, log: RunLog | None = None) -> KerasEncoder:
    """Train a student outside a run, as the settings of stage 2 ask for it.

    A student that starts in another space than the teacher's gets a map into it. Raises `InputError` if an input cannot
    be read and `EncoderError` if an encoder cannot be trained.
    """
    from ...training.stages.transfer_stage import require_trainable

    refuse_unused(settings, "transfer")
    source, language, start = teaching.source, teaching.language, teaching.start or teaching.source
    settings = settings.with_dev_units()
    translation, training, seed = settings.translation, settings.training, settings.seed
    needed = needed_question_languages(translation, language)
    lines = settings.student.parallel or settings.student.labelled_text or teaching.corpus
    dataset, languages = choose_data(settings.data, seed, needed, with_lines=bool(lines))
    dataset = add_translated_questions(translation, dataset, language, languages)
    of_teacher, precision = (
        TeacherSettings(language, model=source),
        Precision(settings.export.precision, settings.export.table),
    )
    inputs = Inputs(dataset, languages, seed, teacher=of_teacher, student=settings.student, precision=precision)
    inputs = require_learnable(add_texts(inputs, settings.data.dataset), with_corpus=bool(teaching.corpus))
    inputs = replace(inputs, scorer=load_scorer(settings.scorer))
    dev_dataset = load_dev(settings.evaluation.dev_dataset, settings.data.document_language, inputs.learned)
    dev, job = say_shared(dev_dataset, dataset), replace(student_job(inputs), table_of=start)
    first, teacher = load_keras_encoder(start), load_fixed_teacher(source)
    if learns_sample(inputs, teaching.corpus):
        say(SAMPLE_NOTE)
    foreign = is_foreign(teacher, first, dataset, language, inputs.lines)
    teacher = centre(teacher, dataset, language, inputs.lines) if teaching.centred else teacher
    if foreign:
        first = map_into_space(first, teacher, dataset, language, inputs.lines, seed)
    require_trainable(teacher, first, training)
    job.require_codewords(first)
    targets = job.targets(teacher, _label_corpus(teaching, teacher))
    session = Session(log=log or RunLog(), options=training, dev=dev)
    return job.train(targets, first, first, session)


def _label_corpus(teaching: TeacherSource, teacher: Encoder) -> Lines | None:
    """Label the corpus by the encoder that is named for it; return None without one."""
    from ...training.stages.lines import label_corpus

    if not teaching.labels:
        return None
    return label_corpus(
        teaching.corpus, teacher if teaching.labels == teaching.source else load_teacher(teaching.labels)
    )
