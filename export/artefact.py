"""An artefact: a folder with one encoder in one format and its card, there only when it passed the gate."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path

from ..encoders.encoder import KerasEncoder
from ..errors import EncoderError, ExportError, first_line
from ..evaluation.bias.removal import LanguageRemoval
from ..settings.choices import FORMATS
from ..system.files import write_aside, write_text
from ..system.types import File, Json, Progress
from . import encode
from .card import README, Card, JudgedCard, card_of, write_card, write_judged
from .cost import spelling_cost
from .form import Form
from .formats.registry import format_of
from .gate import Gate, Reference, measure, require_passed
from .hub_page import hub_page
from .languages import PieceLanguages, piece_languages, write_languages
from .removal import write_removal
from .runtime import load_artefact
from .web.site import PageText, add_index, write_page


def export_artefact(
    student: KerasEncoder,
    folder: File,
    gate: Gate | None,
    form: Form | None = None,
    notes: Mapping[str, Json] | None = None,
    removal: LanguageRemoval | None = None,
    progress: Progress | None = None,
    texts: Mapping[str, Sequence[str]] | PieceLanguages | None = None,
) -> JudgedCard:
    """Convert a student, write the artefact to `folder` and return its card with the gate's figures.

    `notes` go into the card; `removal` is put in with all its directions; `texts`, by language, say which languages use
    a piece, where that is not known. Without a `gate` nothing is measured: of what is stored as it is in a bundle that
    was. Raises `GateError`, leaving nothing under `folder`, when the gate refuses the artefact (see `gate.verdict`);
    with its `force` the artefact is kept and its card says why it was refused. Raises `ExportError` for one that cannot
    be run, and `InputError` for a `removal` of another space.
    """
    form = form or Form()
    form.require()
    if removal:
        removal.require_own(student)
    with write_aside(folder) as aside:
        card = write_artefact(student, aside, form, Path(folder).resolve().name, notes, removal, texts)
        judged = _judged(student, aside, card, gate, progress) if gate else JudgedCard(card, None)
        write_judged(aside, judged)
        if format_of(form.format).library:
            write_text(aside / README, hub_page(judged))
    return judged


def _judged(student, folder, card, gate, progress):
    form = card.form
    format_, whole = format_of(form.format), gate.model or student
    read = as_read(student, form)
    tokenizer = read.tokenizer if format_.expanded else read.tokenizer.unexpanded
    with _runnable():
        artefact = load_artefact(folder, gate.settings.threads)
        reference = Reference(whole if form.spelled else read, tokenizer)
        figures = measure(reference, artefact, gate.dataset, gate.languages, progress, format_.others)
        costs = {} if form.spelled else spelling_cost(whole, artefact, gate)
    reasons = require_passed(figures, gate.settings, form.precision.table, gate.force, format_.others)
    return JudgedCard(card, figures, reasons, costs)


def write_artefact(
    student: KerasEncoder,
    folder: Path,
    form: Form,
    name: str,
    notes: Mapping[str, Json] | None = None,
    removal: LanguageRemoval | None = None,
    texts: Mapping[str, Sequence[str]] | PieceLanguages | None = None,
) -> Card:
    """Write the artefact to a folder that it makes, not yet measured against the student, and return its card."""
    student = as_read(student, form)
    _require_readable(student, form)
    folder.mkdir()
    format_of(form.format).write(student, folder, form.precision, form.lengths)
    if notes and encode.ANSWERABLE in notes:
        format_of(form.format).add_answerable(folder, notes[encode.ANSWERABLE])
    if removal:
        write_removal(folder, removal)
    if form.index:
        add_index(folder, form.index, form.page or PageText(), form.clusters)
    elif form.page:
        write_page(folder, form.page)
    # A format of one file has the tokenizer in it.
    known = None
    if texts and (folder / encode.TOKENIZER).is_file():
        known = texts if isinstance(texts, PieceLanguages) else piece_languages(student.tokenizer, texts)
        write_languages(folder, known)
    card = card_of(name, student, form, folder, notes, removal, known.languages if known else ())
    write_card(folder, card)
    return card


def as_read(student: KerasEncoder, form: Form) -> KerasEncoder:
    """Return the student as an artefact reads text: with its spellings, or without."""
    return student if form.spelled else student.without_spellings()


def _require_readable(student: KerasEncoder, form: Form) -> None:
    """Raise `EncoderError` where the student's tokenizer reads texts in a way that the form's format does not."""
    both = (student, getattr(student, "documents", student))
    if not format_of(form.format).reads and any(one.tokenizer.reading.content() for one in both):
        readers = " and ".join(name for name in FORMATS if format_of(name).reads)
        raise EncoderError(
            f"{student.name}: the format {form.format} puts no prompt before a text and cuts no long one, as this "
            f"encoder does; export it as {readers}"
        )


@contextmanager
def _runnable():
    try:
        yield
    except (EncoderError, encode.BundleError, RuntimeError, ValueError) as error:
        raise ExportError(f"the exported encoder cannot be run: {first_line(error)}") from error
