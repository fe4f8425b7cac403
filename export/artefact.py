"""An artefact: a folder with one encoder in one format and its card, there only when it passed the gate."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path

from ..encoders.encoder import KerasEncoder
from ..errors import EncoderError, ExportError, first_line
from ..evaluation.bias.removal import LanguageRemoval
from ..system.files import write_aside, write_text
from ..system.types import File, Json, Progress
from . import encode
from .card import README, Card, JudgedCard, card_of, write_card, write_judged
from .form import Form
from .formats.format import Format
from .formats.registry import format_of
from .gate import Figures, Gate, measure, require_passed
from .hub_page import hub_page
from .languages import PieceLanguages, piece_languages, write_languages
from .removal import write_removal
from .runtime import load_artefact
from .web.site import add_index


def export_artefact(
    student: KerasEncoder,
    folder: File,
    gate: Gate,
    form: Form | None = None,
    notes: Mapping[str, Json] | None = None,
    removal: LanguageRemoval | None = None,
    progress: Progress | None = None,
    texts: Mapping[str, Sequence[str]] | PieceLanguages | None = None,
) -> JudgedCard:
    """Convert a student, write the artefact to `folder` and return its card with the gate's figures.

    `notes` go into the card; `removal` is put in with all its directions; `texts`, by language, say which languages use
    a piece, where that is not known. Raises `ExportError`, leaving nothing under `folder`, when the gate refuses the
    artefact (see `gate.verdict`); with its `force` the artefact is kept and its card says why it was refused. Raises
    `InputError` for a `removal` of another space.
    """
    form = form or Form()
    form.require()
    student = as_read(student, format_of(form.format))
    if removal:
        removal.require_own(student)
    with write_aside(folder) as aside:
        card = write_artefact(student, aside, form, Path(folder).resolve().name, notes, removal, texts)
        format_ = format_of(form.format)
        figures = _measured(student, aside, gate, progress, format_.others)
        reasons = require_passed(figures, gate.settings, form.precision.table, gate.force, format_.others)
        judged = JudgedCard(card, figures, reasons)
        write_judged(aside, judged)
        if format_.library:
            write_text(aside / README, hub_page(judged))
    return judged


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
    folder.mkdir()
    format_of(form.format).write(student, folder, form.precision, form.lengths)
    if notes and encode.ANSWERABLE in notes:
        format_of(form.format).add_answerable(folder, notes[encode.ANSWERABLE])
    if removal:
        write_removal(folder, removal)
    if form.index:
        add_index(folder, form.index)
    # A format of one file has the tokenizer in it.
    known = None
    if texts and (folder / encode.TOKENIZER).is_file():
        known = texts if isinstance(texts, PieceLanguages) else piece_languages(student.tokenizer, texts)
        write_languages(folder, known)
    card = card_of(name, student, form, folder, notes, removal, known.languages if known else ())
    write_card(folder, card)
    return card


def as_read(student: KerasEncoder, format_: Format) -> KerasEncoder:
    """Return the student as a format reads text: without its spellings where the format has none."""
    return student if format_.spelled else student.without_spellings()


def _measured(student: KerasEncoder, folder: Path, gate: Gate, progress: Progress | None, others: float) -> Figures:
    try:
        artefact = load_artefact(folder, gate.settings.threads)
        return measure(student, artefact, gate.dataset, gate.languages, progress, others)
    except (EncoderError, encode.BundleError, RuntimeError, ValueError) as error:
        raise ExportError(f"the exported encoder cannot be run: {first_line(error)}") from error
