"""`distill run --teacher-model` on text without questions: its lines are held out, written as data, and learned."""

from __future__ import annotations

import shutil
from collections.abc import Collection
from dataclasses import replace
from pathlib import Path

from ..data.corpus import named_file, read_corpus
from ..data.parallel import Parallel, in_languages, labelled_text, pivots_of, read_parallel, weighted
from ..errors import ConfigError, DataError
from ..pipeline.fixed_teacher import PROBES, fixed_teacher, require_apart
from ..pipeline.preparing import LINES, prepare, require_new
from ..pipeline.run import Run
from ..settings.sections import Settings, StudentSettings
from ..settings.store import check
from ..system.files import write_aside
from ..system.progress import say
from ..system.types import File
from .lines import HeldLines, hold_out_lines, named_lines, write_lines

# Objectives that need no question and no document.
OF_LINES = ("qq", "list", "translation")
# Texts of a mean cosine above it lie in a narrow cone: a student would learn the cone's axis first.
CONE = 0.5


def prepare_lines(settings: Settings, folder: File, named: Collection[str], seconds: float) -> Run:
    """Hold lines out, write them to the folder of a run, and prepare that run on them.

    Args:
        settings: of the run; its parallel text, or else its text, is what is learned.
        folder: of the run, which is made.
        named: the settings that were given by the user, who is told where they cannot be had.
        seconds: between checkpoints.

    Returns:
        The run, which goes on and is measured as any other.

    Raises:
        InputError: before anything is trained, leaving no folder, for text or a teacher that cannot teach.
    """
    folder = Path(folder)
    require_new(folder)
    settings = _of_lines(settings, named)
    sources, labelled = read_texts(settings)
    settings = replace(settings, teacher=replace(settings.teacher, language=_pivot(settings, sources, labelled)))
    held = hold_out_lines(sources, labelled, settings.teacher.language, settings.seed)
    settings = _centred(settings, held, "teacher.centre" in named)
    was_there = folder.is_dir()
    try:
        with write_aside(folder / LINES) as aside:
            write_lines(held, aside)
        run = prepare(_on(settings, held, folder / LINES), folder, seconds=seconds)
    except BaseException:
        shutil.rmtree(folder / LINES if was_there else folder, ignore_errors=True)
        raise
    _say(held, folder / LINES)
    return run


def first_text(settings: Settings) -> Path:
    """Return the path of the first text that the settings name: it gives a run its name."""
    if settings.student.parallel:
        return weighted(settings.student.parallel[0])[0]
    return named_file((*settings.student.labelled_text, *settings.vocabulary.text)[0])[1]


def read_texts(settings: Settings) -> tuple[list[Parallel], list[Parallel]]:
    """Return the parallel text and the text that the teacher labels itself, in the run's languages alone.

    Where neither is named `--text` is what it labels. Raises `DataError`.
    """
    student, languages = settings.student, settings.data.languages
    sources = read_parallel(student.parallel, settings.teacher.language, _with(settings, languages))
    files = student.labelled_text or (() if sources else settings.vocabulary.text)
    labelled = labelled_text(read_corpus(files))
    if languages:
        labelled = [part for part in (in_languages(one, languages) for one in labelled) if part.texts]
    written = {language for source in (*sources, *labelled) for language in source.languages}
    if missing := [language for language in languages if language not in written]:
        raise DataError(f"no text in {', '.join(missing)}; give some with --parallel, --labelled-text or --text")
    return sources, labelled


def _with(settings, languages):
    """The languages with the teacher's; none where all are taken."""
    return (settings.teacher.language, *languages) if languages else ()


def _pivot(settings, sources, labelled) -> str:
    """The teacher's language, or the first that there is text in where there is none in that."""
    language = settings.teacher.language
    return language if sources or language in labelled[0].languages else labelled[0].languages[0]


def _of_lines(settings, named):
    """The settings without objectives of questions, which a recipe may have. Raises `ConfigError` for named ones."""
    asked: StudentSettings = settings.student
    kept = tuple(name for name in asked.objectives if name in OF_LINES)
    if "student.objectives" in named and kept != asked.objectives:
        other = ", ".join(name for name in asked.objectives if name not in OF_LINES)
        raise ConfigError(
            f"student.objectives: {other} learns from questions, and there are none; "
            f"expected some of {', '.join(OF_LINES)}"
        )
    student = replace(asked, objectives=kept or OF_LINES[:1], own_text=False, lines_a_step=asked.lines_a_step or 1)
    return replace(settings, student=student)


def _centred(settings, held, is_named):
    """The settings of a teacher that is centred where its vectors lie in a narrow cone, unless they name it.

    Raises `EncoderError` for one that tells texts hardly apart.
    """
    teacher = fixed_teacher(settings.teacher.model)
    texts = pivots_of([*held.sources, *held.labelled])[:PROBES]
    cosine = require_apart(teacher, texts)
    if is_named or cosine <= CONE:
        return settings
    say(
        f"{teacher.name}: two texts have a mean cosine of {cosine:.2f}, so its vectors are learned without their mean "
        "(--set teacher.centre=false leaves them as they are)"
    )
    return replace(settings, teacher=replace(settings.teacher, centre=True))


def _on(settings, held: HeldLines, place: Path) -> Settings:
    """The settings with the lines at their place for data."""
    parallel, labelled = named_lines(held, place)
    student = replace(settings.student, parallel=parallel, labelled_text=labelled)
    text = settings.vocabulary.text if settings.student.parallel or settings.student.labelled_text else ()
    data = replace(
        settings.data,
        dataset=str(place),
        document_language=settings.teacher.language,
        languages=held.dataset.languages,
    )
    vocabulary = replace(settings.vocabulary, text=text)
    return check(replace(settings, data=data, student=student, vocabulary=vocabulary))


def _say(held: HeldLines, place: Path):
    data = held.dataset
    counts = ", ".join(f"{len(data.splits[split])} in {split}" for split in ("dev", "test"))
    say(
        f"no questions: {held.learned} lines of text are learned; {counts} are held out in {place}, where a line asks "
        f"for its translation, and in {data.document_language} its first half for its second"
    )
