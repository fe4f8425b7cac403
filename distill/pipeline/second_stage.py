"""Stage 2, of a run and alone: the student that starts, and what it learns."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, fields, replace
from typing import TYPE_CHECKING

from ..catalog.loading import load_aligner, load_keras_encoder, load_teacher
from ..data.loading import chosen_data, load_dev
from ..data.parallel import joined, texts_by_language
from ..encoders.encoder import Encoder, KerasEncoder
from ..errors import ConfigError
from ..export.weights.precision import Precision
from ..settings.sections import Settings, ShapeSettings, VocabularySettings
from ..settings.units import steered
from ..system.progress import say
from ..training.checkpoints import CHECKPOINT
from ..training.session import Session
from .fixed_teacher import centre, fixed_teacher, into_space, is_foreign, require_no_dimension
from .inputs import Inputs
from .preparing import say_shared, student_inputs
from .run import Run
from .twins import needed_questions, with_twins

if TYPE_CHECKING:
    from ..stages.lines import Lines
    from ..stages.student_job import StudentJob
    from ..students.shape import Shape


@dataclass(frozen=True)
class Beginning:
    """The `shape` that the student is cut to, and what it starts from: `encoder`, None for what stage 1 leaves.

    It is `foreign` where the vectors that it learns are in another space than its own.
    """

    shape: Shape
    encoder: KerasEncoder | None = None
    foreign: bool = False


def beginning_of(inputs: Inputs, base: KerasEncoder) -> Beginning:
    """The beginning of a run's student, whose teacher is fixed or is to be trained of the `base`.

    Raises `ConfigError` for a shape that is no cut of what it starts from.
    """
    from ..students.shape import Shape

    settings, teacher = inputs.settings, inputs.teacher or base
    named = load_keras_encoder(settings.student.start) if settings.student.start else None
    first = named or base
    shape = Shape.of(settings.shape).check(first.model)
    foreign = teacher is not first and is_foreign(teacher, first, inputs.dataset, settings.teacher.language)
    if foreign:
        require_no_dimension(shape, teacher)
    return Beginning(shape, named, foreign)


def student_job(inputs: Inputs) -> StudentJob:
    """The job of these inputs: all that the student learns, and how it is rounded."""
    from ..stages.student_job import StudentJob

    settings = inputs.settings
    return StudentJob(
        dataset=inputs.described or inputs.dataset,
        language=settings.teacher.language,
        languages=inputs.learned,
        settings=settings.student,
        precision=Precision(settings.export.precision, settings.export.table),
        seed=settings.seed,
        sources=inputs.learned_lines,
        scorer=inputs.scorer("student"),
        table_of=settings.student.start or settings.teacher.base,
    )


def study(run: Run, teacher: Encoder, first: KerasEncoder, beginning: Beginning) -> KerasEncoder:
    """Stage 2: `student_of` these, trained towards the teacher."""
    from ..stages.transfer_stage import require_trainable

    start = untrained(run, first, teacher, beginning)
    require_trainable(teacher, start, run.settings.training)
    return student_job(run.inputs).run(teacher, start, first, run.session("student"))


def untrained(run: Run, first: KerasEncoder, teacher: Encoder, beginning: Beginning) -> KerasEncoder:
    """`student_of` these; one with other pieces or of another shape is made once, however often the run is stopped."""
    folder = run.folder / CHECKPOINT / "start"
    if folder.is_dir():
        return load_keras_encoder(folder)
    start = student_of(run.inputs, first, teacher, beginning.shape, beginning.foreign)
    if start is not first:
        start.save(folder)
    return start


def student_of(
    inputs: Inputs, first: KerasEncoder, teacher: Encoder, shape: Shape, foreign: bool = False
) -> KerasEncoder:
    """The encoder `first` with the pieces and in the shape that the settings ask for, not yet trained.

    The axes of a smaller dimension are those of the teacher's vectors. Where their space is `foreign` to `first` the
    student has a map into it.
    """
    from ..students.vocabulary.vocabularies import NEW, Additions, Vocabularies

    settings, dataset = inputs.settings, inputs.dataset
    options = settings.vocabulary
    text = joined(inputs.text, texts_by_language(inputs.lines))
    aligner, new = load_aligner(options.aligner or None), options.add_languages
    pieces = Additions(options.add_pieces, inputs.words), aligner, options.aligner_below
    words = Vocabularies(first, dataset, inputs.languages, text, new, *pieces)
    encoder = words.vocabulary(options.keep + (NEW if new else ""), options.most_pieces)
    for piece, anchors in words.nearest.items():
        say(f"{piece}: " + ", ".join(f"{anchor} {weight:.2f}" for anchor, weight in anchors))
    if len(encoder.tokenizer) != len(first.tokenizer):
        name = "teacher" if first is teacher else settings.student.start or "base"
        say(f"{len(encoder.tokenizer)} pieces, the {name} has {len(first.tokenizer)}")
    vectors = teacher.encode(dataset.passage_texts, "document") if shape.dimension else None
    start = words.start(encoder, shape, vectors, settings.seed)
    if not foreign:
        return start
    return into_space(start, teacher, dataset, settings.teacher.language, inputs.lines, settings.seed)


@dataclass(frozen=True)
class Teaching:
    """Who teaches a student outside a run: the encoder that `source` names, asked in `language`.

    The student starts from the encoder `start`, by default the teacher itself. With `centred` the teacher's vectors
    lose their mean. The texts of `corpus`, `{language: [text]}`, are learned as the encoder `labels` gives them.
    """

    source: str
    language: str = "en"
    start: str = ""
    centred: bool = False
    corpus: Mapping[str, Sequence[str]] = field(default_factory=dict)
    labels: str = ""


def transfer_alone(settings: Settings, teaching: Teaching) -> KerasEncoder:
    """The student that learns what `teaching` says, as the settings of stage 2 ask for it.

    One that starts in another space than the teacher's gets a map into that. Raises `InputError` for what cannot be
    read, `EncoderError` for what cannot be trained.
    """
    from ..stages.transfer_stage import require_trainable

    require_defaults("vocabulary", settings.vocabulary)
    require_defaults("shape", settings.shape)
    source, language, start = teaching.source, teaching.language, teaching.start or teaching.source
    settings = steered(settings)
    settings = replace(
        settings,
        teacher=replace(settings.teacher, language=language, model=source),
        student=replace(settings.student, start=start),
    )
    dataset, languages = chosen_data(settings, needed_questions(settings.translation, language))
    dataset = with_twins(settings.translation, dataset, language, languages)
    inputs = student_inputs(settings, dataset, languages)
    dev, job = say_shared(load_dev(settings, inputs.learned), dataset), student_job(inputs)
    first, teacher = load_keras_encoder(start), fixed_teacher(source)
    foreign = is_foreign(teacher, first, dataset, language)
    teacher = centre(teacher, dataset, language) if teaching.centred else teacher
    if foreign:
        first = into_space(first, teacher, dataset, language, inputs.lines, settings.seed)
    require_trainable(teacher, first, settings.training)
    targets = job.targets(teacher, _labelled(teaching, teacher))
    return job.train(targets, first, first, Session(options=settings.training, dev=dev))


def require_defaults(name: str, section: VocabularySettings | ShapeSettings) -> None:
    """Raise `ConfigError` for a setting, as of a recipe, that changes what the student starts from."""
    for item in fields(section):
        if getattr(section, item.name) != item.default:
            raise ConfigError(
                f"{name}.{item.name}: distill transfer starts from an encoder with its pieces and in its shape; change "
                "these with distill prune or reduce before, or take distill run"
            )


def _labelled(teaching: Teaching, teacher: Encoder) -> Lines | None:
    """The corpus as the encoder that labels it gives it; None without one."""
    from ..stages.lines import labelled

    if not teaching.labels:
        return None
    return labelled(teaching.corpus, teacher if teaching.labels == teaching.source else load_teacher(teaching.labels))
