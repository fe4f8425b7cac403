"""Stage 2 of a run: the student that starts, and what it learns."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

import numpy as np

from ..catalog.loading import load_aligner, load_keras_encoder, load_stored_table
from ..data.parallel import joined, pivots, texts_by_language
from ..encoders.encoder import Encoder, KerasEncoder
from ..system.progress import say, task
from ..training.checkpoints import CHECKPOINT
from .fixed_teacher import into_space, is_foreign, require_no_dimension
from .inputs import Inputs
from .run import Run

if TYPE_CHECKING:
    from ..export.weights.stored import StoredTable
    from ..settings.sections import Settings
    from ..stages.lines import Lines
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


def study(run: Run, teacher: Encoder, first: KerasEncoder, beginning: Beginning) -> KerasEncoder:
    """Stage 2: `student_of` these, trained towards the teacher."""
    from ..export.weights.precision import Precision
    from ..stages.transfer_stage import Targets, learn, require_trainable, with_scores
    from ..students.vocabulary.pieces import added_pieces

    settings, data = run.settings, run.inputs.described or run.dataset
    lines = parallel_lines(run.inputs, teacher)
    start = untrained(run, first, teacher, beginning)
    require_trainable(teacher, start, settings.training)
    targets = Targets.of(teacher, data, settings.teacher.language, settings.student.units, lines)
    scorer, language = run.inputs.scorer("student"), settings.teacher.language
    targets = with_scores(targets, scorer, data, language, settings.student.units)
    if settings.student.trained_weights in ("table", "new-rows"):
        alone = settings.student.trained_weights == "new-rows"
        rows = added_pieces(first.tokenizer, start.tokenizer) if alone else np.arange(len(start.tokenizer))
        targets = replace(targets, trained=rows)
    precision = Precision(settings.export.precision, settings.export.table, stored_of(settings, start))
    learned, session = run.inputs.learned, run.session("student")
    return learn(targets, start, data, learned, settings.student, settings.seed, session, precision)


def stored_of(settings: Settings, student: KerasEncoder) -> StoredTable | None:
    """The table of what the student started from, where it is an artefact with its pieces and its kind of table."""
    return load_stored_table(settings.student.start or settings.teacher.base, settings.export.table, student)


def untrained(run: Run, first: KerasEncoder, teacher: Encoder, beginning: Beginning) -> KerasEncoder:
    """`student_of` these; one with other pieces or of another shape is made once, however often the run is stopped."""
    folder = run.folder / CHECKPOINT / "start"
    if folder.is_dir():
        return load_keras_encoder(folder)
    start = student_of(run.inputs, first, teacher, beginning.shape, beginning.foreign)
    if start is not first:
        start.save(folder)
    return start


def parallel_lines(inputs: Inputs, teacher: Encoder) -> Lines | None:
    """The parallel and the labelled text with its labels; None without."""
    from ..stages.lines import translations

    sources = inputs.learned_lines
    if not sources:
        return None
    with task("teacher's vectors of lines of text", pivots(sources)) as advance:
        return translations(sources, teacher, inputs.settings.student.parallel_temperature, advance)


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
