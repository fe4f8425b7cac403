"""Export a student as an artefact: a folder with the encoder in one format and its card, kept if it passes the gate."""

from __future__ import annotations

import shutil
from collections.abc import Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path

from ..encoders.encoder import KerasEncoder, take_own_pieces
from ..encoders.language_removal import LanguageRemoval
from ..errors import EncoderError, ExportError, first_line
from ..settings.choices import FORMATS
from ..system.files import write_aside, write_json, write_text
from ..system.input_files import read_text
from ..system.types import File, Json, Progress
from . import encode
from .card import README, Card, JudgedCard, StoredFile, make_card, write_card, write_judged_card, write_removal
from .form import Form
from .formats.format import format_of, load_artefact, locate_file
from .gate import Gate, Reference, measure, require_passed, spelling_cost
from .hub_page import render_hub_page
from .languages import TokenLanguages, find_token_languages, write_languages
from .student import StoredEncoder, form_of_bundle, read_checked_card
from .web.site import PageText, add_index, write_page


def export_artefact(
    student: KerasEncoder,
    folder: File,
    gate: Gate | None,
    form: Form | None = None,
    notes: Mapping[str, Json] | None = None,
    removal: LanguageRemoval | None = None,
    progress: Progress | None = None,
    texts: Mapping[str, Sequence[str]] | TokenLanguages | None = None,
) -> JudgedCard:
    """Convert a student and write it to a folder, after checking it with the gate.

    Args:
        student: The encoder to export.
        folder: The folder to write.
        gate: The questions and thresholds of the check. With None nothing is measured, which is meant for weights that
            are copied from a bundle that was measured.
        form: The format, the precision and the lengths; None for a bundle with the defaults.
        notes: More entries for the card.
        removal: Language components that the artefact's `encode.py` can remove.
        progress: Called with the number of texts that the gate has encoded.
        texts: Texts by language that tell which languages use a token, or the languages of each token if they are
            known.

    Returns:
        The card with what the gate measured.

    Raises:
        GateError: If the gate refuses the artefact. Nothing is left in `folder`. With `gate.force` the artefact is kept
            instead, and its card gives the reasons.
        ExportError: If the artefact cannot be run.
        InputError: If `removal` belongs to another vector space.
        EncoderError: If distill has no pieces that read texts as the student's own library does.

    Example:
        >>> import distill
        >>> gate = distill.Gate(distill.load_dataset("my-data"), ["de", "en"], distill.ExportSettings(max_drop=10.0))
        >>> judged = distill.export_artefact(distill.load_encoder("my-encoder"), "my-bundle", gate)
        >>> judged.card.form.format, judged.card.dimension
        ('bundle', 16)
    """
    form = form or Form()
    form.require()
    student = take_own_pieces(student)
    if removal:
        removal.require_own(student)
    with write_aside(folder) as aside:
        card = write_artefact(student, aside, form, Path(folder).resolve().name, notes, removal, texts)
        judged = _judge(student, aside, card, gate, progress) if gate else JudgedCard(card, None)
        write_judged_card(aside, judged)
        if format_of(form.format).library:
            write_text(aside / README, render_hub_page(judged))
    return judged


def copy_bundle(folder: Path, output: File, source: str) -> JudgedCard:
    """Copy a bundle with its page under another name and source; its card has no figures, as nothing was measured."""
    card, name = read_checked_card(folder), Path(output).resolve().name
    with write_aside(output) as aside:
        aside.mkdir()
        for file in card["files"]:
            shutil.copyfile(locate_file(folder, file), aside / file)
        if (folder / README).is_file():
            _, _, page = read_text(folder / README).partition("\n")
            write_text(aside / README, f"# {name}\n{page}")
        write_json(aside / encode.CARD, {**card, "name": name, "source": source})
    files = {file: StoredFile(said["bytes"], said["sha256"]) for file, said in card["files"].items()}
    form, notes = form_of_bundle(folder, Form()), {"source": source}
    return JudgedCard(Card(name, form, card["dimension"], card["vocabulary"], files, notes), None)


def _judge(student, folder, card, gate, progress):
    form = card.form
    format_, whole = format_of(form.format), gate.model or student
    read = student_for_form(student, form)
    tokenizer = read.tokenizer if format_.expanded else read.tokenizer.unexpanded
    with _as_export_error():
        artefact = load_artefact(folder, gate.settings.threads)
        reference = Reference(whole if form.spelled else read, tokenizer)
        figures = measure(reference, artefact, gate.dataset, gate.languages, progress, format_.others)
        costs = {} if form.spelled else spelling_cost(whole, artefact, gate)
    reasons = require_passed(figures, gate.settings, form.precision.table, gate.force, format_.others)
    trained = isinstance(whole, KerasEncoder) and not isinstance(whole, StoredEncoder)
    compared = "the student" if trained else "its source"
    return JudgedCard(card, figures, reasons, costs, compared)


def write_artefact(
    student: KerasEncoder,
    folder: Path,
    form: Form,
    name: str,
    notes: Mapping[str, Json] | None = None,
    removal: LanguageRemoval | None = None,
    texts: Mapping[str, Sequence[str]] | TokenLanguages | None = None,
) -> Card:
    """Write an artefact that has not yet been measured."""
    student = student_for_form(student, form)
    require_readable(student, form)
    folder.mkdir()
    format_of(form.format).write(student, folder, form.precision, form.lengths)
    if notes and encode.ANSWERABLE in notes:
        weight = notes.get(encode.PASSAGE_WEIGHT, 1.0)
        format_of(form.format).add_answerable(folder, notes[encode.ANSWERABLE], weight)
    if removal:
        write_removal(folder, removal)
    if form.index:
        add_index(folder, form.index, form.page or PageText(), form.clusters)
    elif form.page:
        write_page(folder, form.page)
    # A format that consists of one file contains the tokenizer, so no languages are recorded for it.
    known = None
    if texts and (folder / encode.TOKENIZER).is_file():
        known = texts if isinstance(texts, TokenLanguages) else find_token_languages(student.tokenizer, texts)
        write_languages(folder, known)
    card = make_card(name, student, form, folder, notes, removal, known.languages if known else ())
    write_card(folder, card)
    return card


def student_for_form(student: KerasEncoder, form: Form) -> KerasEncoder:
    """Return the student as an artefact reads text: with or without its spellings."""
    return student if form.spelled else student.without_spellings()


def require_readable(student: KerasEncoder, form: Form) -> None:
    """Raise `EncoderError` if the student's tokenizer reads text in a way that the format does not support."""
    both = (student, getattr(student, "documents", student))
    if not format_of(form.format).reads and any(one.tokenizer.reading.content() for one in both):
        readers = ", ".join(name for name in FORMATS if format_of(name).reads)
        raise EncoderError(
            f"{student.name}: this encoder puts a prompt before a text or truncates long texts, which the format "
            f"{form.format} does not support; take one of {readers}"
        )


@contextmanager
def _as_export_error():
    try:
        yield
    except (EncoderError, encode.BundleError, RuntimeError, ValueError) as error:
        raise ExportError(f"the exported encoder cannot be run: {first_line(error)}") from error
