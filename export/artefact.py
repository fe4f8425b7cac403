"""An artefact: a folder with one encoder in one format and its card, there only when it passed the gate."""

from pathlib import Path

from ..errors import EncoderError, ExportError, first_line
from ..system.files import write_aside
from . import encode
from .card import card_of, write_card
from .form import Form
from .formats.registry import format_of
from .gate import measure, require_passed
from .removal import write_removal
from .runtime import load_artefact


def export_artefact(
    student, folder, dataset, languages, settings, form=None, notes=None, force=False, progress=None, removal=None
):
    """Convert a `KerasEncoder`, write the artefact to `folder` and return its card, a dict.

    `notes`, a dict, goes into the card; `removal`, a `LanguageRemoval`, is put in with all its directions.
    Raises `ExportError`, leaving nothing under `folder`, when the gate refuses the artefact (see `gate.verdict`); with
    `force` it is kept and its card says why it was refused. Raises `InputError` for a `removal` of another space.
    """
    form = form or Form()
    form.require()
    if removal:
        removal.require_own(student)
    with write_aside(folder) as aside:
        card = write_artefact(student, aside, form, Path(folder).resolve().name, notes, removal)
        measured = _measured(student, aside, settings.threads, dataset, languages, progress)
        reasons = require_passed(measured, settings, form.precision.table, force)
        card |= {"dev": measured, "refused": reasons}
        write_card(aside, card)
    return card


def write_artefact(student, folder, form, name, notes=None, removal=None):
    """The artefact in a folder that it makes, not yet measured against the student; returns its card."""
    folder.mkdir()
    format_of(form.format).write(student, folder, form.precision, form.lengths)
    if removal:
        notes = {**(notes or {}), **write_removal(folder, removal)}
    card = card_of(name, student, form, folder, notes)
    write_card(folder, card)
    return card


def _measured(student, folder, threads, *arguments):
    try:
        return measure(student, load_artefact(folder, threads), *arguments)
    except (EncoderError, encode.BundleError, RuntimeError, ValueError) as error:
        raise ExportError(f"the exported encoder cannot be run: {first_line(error)}") from error
