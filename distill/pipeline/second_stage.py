"""Stage 2 of a run: the student that starts, and what it learns."""

from ..catalog.loading import load_aligner, load_keras_encoder
from ..data.parallel import joined, pivots, texts_by_language
from ..system.progress import say, task
from ..training.checkpoints import CHECKPOINT
from ..training.session import Session
from .fixed_teacher import into_space


def study(run, teacher, first, shape, foreign=False):
    """Stage 2: `student_of` these, trained towards the teacher."""
    from ..export.weights.precision import Precision
    from ..stages.transfer_stage import Targets, learn, require_trainable

    settings, data = run.settings, run.dataset
    lines = parallel_lines(run, teacher)
    start = untrained(run, first, teacher, shape, foreign)
    require_trainable(teacher, start, settings.training)
    targets = Targets.of(teacher, data, settings.teacher.language, settings.student.units, lines)
    session = Session(run.log, checkpoint=run.checkpoint("student"), options=settings.training)
    precision = Precision(settings.export.precision, settings.export.table)
    return learn(targets, start, data, run.languages, settings.student, settings.seed, session, precision)


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
    from ..stages.lines import translations

    if not run.sources:
        return None
    with task("teacher's vectors of the parallel text", pivots(run.sources)) as advance:
        return translations(run.sources, teacher, run.settings.student.parallel_temperature, advance)


def student_of(run, first, teacher, shape, foreign=False):
    """The encoder `first` with the pieces and in the shape that the settings ask for, not yet trained.

    The axes of a smaller dimension are those of the teacher's vectors. Where their space is `foreign` to `first` the
    student has a map into it.
    """
    from ..students.vocabulary.vocabularies import NEW, Vocabularies

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
