"""`distill run --teacher-model` on text without questions: its lines are held out, written as data, and learned."""

from __future__ import annotations

import shutil
from collections.abc import Collection, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import replace
from pathlib import Path

from ...data.corpus import parse_named_file, read_corpus
from ...data.parallel import Parallel, list_pivots, make_labelled_text, parse_weight, read_parallel, select_languages
from ...encoders.catalog.kinds import RUN_FILE
from ...errors import ConfigError, DataError
from ...settings.sections import DataSettings, StudentSettings, TeacherSettings, VocabularySettings
from ...system.files import write_aside
from ...system.progress import say
from ...system.types import File
from ..pipeline.fixed_teacher import PROBES, load_fixed_teacher, require_apart
from ..pipeline.inputs import OF_LINES
from ..pipeline.preparing import LINES, require_new
from .lines import HeldLines, hold_out_lines, named_lines, write_lines

# Texts of a mean cosine above it lie in a narrow cone: a student would learn the cone's axis first.
CONE = 0.5


@contextmanager
def hold_lines(
    folder: File,
    data: DataSettings,
    teacher: TeacherSettings,
    student: StudentSettings,
    vocabulary: VocabularySettings,
    seed: int,
    named: Collection[str],
) -> Iterator[tuple[DataSettings, TeacherSettings, StudentSettings, VocabularySettings]]:
    """Hold lines out, write them to the folder of a run, and give the settings of that run on them.

    The parallel text, or else the text of the vocabulary, is learned. Lines of a run that has not begun at the end of
    the block are removed.
    """
    folder = Path(folder)
    require_new(folder)
    student = _keep_line_objectives(student, named)
    text = vocabulary.text
    sources, labelled = read_texts(student, text, teacher.language, data.languages)
    teacher = replace(teacher, language=_choose_pivot(teacher.language, sources, labelled), own_text=False)
    held = hold_out_lines(sources, labelled, teacher.language, seed)
    teacher = _choose_centring(teacher, held, "teacher.centre" in named)
    # Text that is learned alone is in the folder of the lines, without those that are held out.
    vocabulary = replace(vocabulary, text=text if student.parallel or student.labelled_text else ())
    parallel, lines = named_lines(held, folder / LINES)
    student = replace(student, parallel=parallel, labelled_text=lines)
    data = replace(data, dataset=str(folder / LINES), document_language=teacher.language)
    data = replace(data, languages=held.dataset.languages)
    was_there, written = folder.is_dir(), False
    try:
        with write_aside(folder / LINES) as aside:
            write_lines(held, aside)
        written = True
        _say(held, folder / LINES)
        yield data, teacher, student, vocabulary
    finally:
        # Lines of another run that began meanwhile stay.
        if written and not (folder / RUN_FILE).is_file():
            shutil.rmtree(folder / LINES, ignore_errors=True)
        if not was_there:
            with suppress(OSError):  # of a folder that is not empty
                folder.rmdir()


def first_text(student: StudentSettings, text: Sequence[str]) -> Path:
    """Return the path of the first text, of stage 2 or the vocabulary, by which a run is named."""
    if student.parallel:
        return parse_weight(student.parallel[0])[0]
    return parse_named_file((*student.labelled_text, *text)[0])[1]


def read_texts(
    student: StudentSettings, text: Sequence[str], language: str, languages: Sequence[str]
) -> tuple[list[Parallel], list[Parallel]]:
    """Read the parallel text, and the text that the teacher labels, in the run's languages only."""
    sources = read_parallel(student.parallel, language, (language, *languages) if languages else ())
    labelled = make_labelled_text(read_corpus(student.labelled_text or (() if sources else text)))
    if languages:
        labelled = [part for part in (select_languages(one, languages) for one in labelled) if part.texts]
    written = {name for source in (*sources, *labelled) for name in source.languages}
    if missing := [name for name in languages if name not in written]:
        raise DataError(f"no text in {', '.join(missing)}; give some with --parallel, --labelled-text or --text")
    return sources, labelled


def _choose_pivot(language, sources, labelled) -> str:
    """Return the teacher's language, or the first language of the text if there is none in that."""
    return language if sources or language in labelled[0].languages else labelled[0].languages[0]


def _keep_line_objectives(student, named) -> StudentSettings:
    """Drop objectives that need questions, which a recipe may have. Raises `ConfigError` if the user named one."""
    kept = tuple(name for name in student.objectives if name in OF_LINES)
    if "student.objectives" in named and kept != student.objectives:
        other = ", ".join(name for name in student.objectives if name not in OF_LINES)
        raise ConfigError(
            f"student.objectives: {other} learns from questions, and there are none; "
            f"expected some of {', '.join(OF_LINES)}"
        )
    return replace(student, objectives=kept or OF_LINES[:1], own_text=False, lines_a_step=student.lines_a_step or 1)


def _choose_centring(teacher, held, is_named) -> TeacherSettings:
    """Centre a teacher whose vectors lie in a narrow cone, unless the user decided it."""
    encoder = load_fixed_teacher(teacher.model)
    cosine = require_apart(encoder, list_pivots([*held.sources, *held.labelled])[:PROBES])
    if is_named or cosine <= CONE:
        return teacher
    say(
        f"{encoder.name}: different lines have a mean cosine of {cosine:.2f}, so its vectors are learned "
        "without their mean (--set teacher.centre=false leaves them as they are)"
    )
    return replace(teacher, centre=True)


def _say(held: HeldLines, place: Path):
    learned, pivot = held.learned, held.dataset.document_language
    counts = [(name, lines - learned.get(name, 0), lines) for name, lines in sorted(held.given.items())]
    shares = ", ".join(f"{out:,} of {lines:,} ({100 * out / lines:.0f} %) in {name}" for name, out, lines in counts)
    say(
        f"no questions: of the lines {shares} are held out in {place}, for dev and test, and not learned; a line asks "
        f"for its translation, and in {pivot} its first half for its second"
    )
