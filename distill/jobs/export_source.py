"""Find what an export begins with: a bundle, its precision and bytes, the questions of its run, a whitening."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np

from ..data.corpus import sample_texts
from ..data.dataset import Dataset
from ..data.loading import load_dataset, load_settings_data
from ..encoders.catalog.bundle import is_artefact
from ..encoders.catalog.kinds import RUN_FILE, find_folder
from ..encoders.encoder import Encoder, KerasEncoder
from ..encoders.health import require_finite
from ..errors import InputError
from ..export.form import Form
from ..export.formats.format import format_of, read_label
from ..export.languages import CARD_KEY, TokenLanguages, read_languages
from ..export.student import read_checked_card
from ..export.weights.precision import Precision
from ..settings.sections import ExportSettings, Settings
from ..settings.store import load_settings
from ..system.progress import say, task
from ..system.types import Role

BUNDLE, STUDENT = "bundle", "student"
SAMPLE = Settings().data.dataset


def find_run(folder: Path | None) -> Path | None:
    """Return the folder of the run that an encoder's folder lies in, or None."""
    above = folder.resolve().parents[:2] if folder else ()
    return next((parent for parent in above if (parent / RUN_FILE).is_file()), None)


def find_bundle(model: str) -> Path | None:
    """Return the bundle that an encoder is, or that its run made of it, or None for an encoder without a bundle."""
    folder = find_folder(model)
    if folder and folder.name == STUDENT and (run := find_run(folder)):
        folder = run / BUNDLE
    there = folder and is_artefact(folder) and read_label(folder).format == BUNDLE
    return folder if there else None


def name_source(model: str, bundle: Path | None) -> str:
    """Return the name of the encoder whose weights are written: the bundle's folder in a run, else `model`."""
    return model if bundle is None or find_folder(model) == bundle else str(bundle)


def choose_precision(name: str, bundle: Path | None, dense: str | None, table: str | None) -> Precision:
    """Choose the precision of an artefact: what is stated, or else what the encoder's bundle has.

    int4 becomes int8 in a format whose dense layers cannot be int4.
    """
    format_, usual = format_of(name), Precision()
    if format_.library:
        usual = Precision("float32", "float32")
    elif bundle:
        stored = Precision(**read_checked_card(bundle)["precision"])
        narrow = stored.dense == "int4" and not (format_.keeps or name == BUNDLE)
        usual = replace(stored, dense=usual.dense) if narrow else stored
    return Precision(dense or usual.dense, table or usual.table)


def state_precision(settings: ExportSettings) -> tuple[str | None, str | None]:
    """Return the precision of dense layers and of the table that settings state, each None if it is the default."""
    usual, pair = ExportSettings(), (settings.precision, settings.table)
    stated = zip(pair, (usual.precision, usual.table), strict=True)
    dense, table = (None if name == default else name for name, default in stated)
    return dense, table


def states_limits(settings: ExportSettings) -> bool:
    """Return True if settings state limits of the gate that are not the default."""
    usual = ExportSettings()
    return (settings.min_cosine, settings.max_drop) != (usual.min_cosine, usual.max_drop)


def read_token_languages(bundle: Path | None, form: Form) -> TokenLanguages | None:
    """Read which languages use each token of a bundle whose weights are taken as they are, None if unknown."""
    if bundle is None or not form.precision.content:
        return None
    card = read_checked_card(bundle)
    known = read_languages(bundle, card) if CARD_KEY in card else None
    return known if known is None or form.spelled else replace(known, spelled=None)


def load_questions(model: str) -> tuple[Dataset, tuple[str, ...]]:
    """Load the data and languages of an encoder's run, or of the sample, whose dev questions it is checked on."""
    if run := find_run(find_folder(model)):
        try:
            return _load_questions_of_run(run)
        except InputError as error:  # its config may be another program's
            say(
                f"the data of the run {run.name} cannot be read: {error}; the questions of the sample are asked instead"
            )
    dataset = load_dataset(SAMPLE)
    return dataset, dataset.languages


def _load_questions_of_run(run):
    from .pipeline.inputs import add_translated_questions
    from .pipeline.preparing import choose_languages

    settings = load_settings(run / RUN_FILE)
    data, teacher, translation = settings.data, settings.teacher, settings.translation
    dataset = load_settings_data(data, settings.seed, (teacher.language,), with_lines=settings.learns_lines)
    languages = choose_languages(dataset, teacher.language, data.languages, translation)
    return add_translated_questions(translation, dataset, teacher.language, languages), languages


# The greatest number of texts per language, and of passages, that whitening is fitted on.
SAMPLED = 1000


def whiten_encoder(
    encoder: KerasEncoder,
    texts: Mapping[str, Sequence[str]],
    passages: Sequence[str],
    power: float,
    vectors_by: Encoder | None = None,
    seed: int = 0,
) -> KerasEncoder:
    """Copy an encoder and whiten its vectors, see `students.linear.compute_whitening`. The copy has another space.

    `texts`, less the passages among them, are like later questions. `vectors_by` is another encoder of the
    space, such as the teacher, or a faster one with the same weights, such as their bundle.
    """
    from ..students.project import whiten

    vectors_by = vectors_by or encoder
    known = set(passages)
    others = ([text for text in lines if text not in known] for lines in texts.values())
    questions = [text for lines in others for text in sample_texts(lines, SAMPLED, seed)]
    of_roles: dict[Role, list[str]] = {"question": questions, "document": sample_texts(list(passages), SAMPLED, seed)}
    with task("vectors to whiten", sum(map(len, of_roles.values()))) as advance:
        vectors = np.concatenate([vectors_by.encode(lines, role, advance) for role, lines in of_roles.items() if lines])
    require_finite(vectors, encoder)
    return KerasEncoder(whiten(encoder.model, vectors, power), encoder.tokenizer, encoder.name)
