"""An artefact: a folder with one encoder in one format and its card, there only when it passed the gate."""

import shutil
from pathlib import Path

from ..errors import EncoderError, ExportError, first_line
from ..system.files import write_aside
from . import encode
from .card import card_of, write_card
from .form import Form
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
    WRITERS[form.format](student, folder, form)
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


def _write_bundle(student, folder, form):
    from .tflite.convert import convert

    content = convert(student.model, form.precision, form.max_length, form.signatures)
    (folder / encode.MODELS["bundle"]).write_bytes(content)
    _write_tokenizer(student, folder)


def _write_onnx(student, folder, form):
    from .onnx.ngram import onnx_model

    content = onnx_model(student.model, form.precision.dense, form.precision.table)
    (folder / encode.MODELS["onnx"]).write_bytes(content)
    _write_tokenizer(student, folder)


def _write_tokenizer(student, folder):
    (folder / encode.TOKENIZER).write_bytes(student.tokenizer.proto)
    shutil.copyfile(encode.__file__, folder / "encode.py")


def _write_string(student, folder, form):
    from .tflite.strings import convert_string

    (folder / "encoder.tflite").write_bytes(convert_string(student.model, student.tokenizer, form.precision))


def _write_mediapipe(student, folder, form):
    from .tflite.mediapipe import for_mediapipe
    from .tflite.strings import convert_string

    content = convert_string(student.model, student.tokenizer, form.precision)
    (folder / "encoder.tflite").write_bytes(for_mediapipe(content))


def _write_mediapipe_zip(student, folder, form):
    from .tflite.convert import convert
    from .tflite.mediapipe import write_zip

    content = convert(student.model, form.precision, form.longest, sliced=True)
    write_zip(folder / "encoder.task", content, student.tokenizer.proto)


WRITERS = {
    "bundle": _write_bundle,
    "onnx": _write_onnx,
    "string": _write_string,
    "mediapipe": _write_mediapipe,
    "mediapipe-zip": _write_mediapipe_zip,
}
