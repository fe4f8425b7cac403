"""`distill export` as a function: an encoder that a user names, as an artefact that passed the gate."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from pathlib import Path

from ..catalog.bundle import find_shipped, is_artefact, read_answerable
from ..catalog.identity import describe_origin, weights_fingerprint
from ..catalog.kinds import find_folder
from ..catalog.loading import combine_encoders, load_encoder, load_keras_encoder, load_stored_table
from ..data.dataset import Dataset
from ..data.loading import load_dataset
from ..encoders.encoder import Encoder, KerasEncoder
from ..errors import InputError
from ..evaluation.bias.removal import LanguageRemoval
from ..evaluation.mcnemar import require_significance
from ..export.artefact import export_artefact
from ..export.card import JudgedCard
from ..export.encode import ANSWERABLE
from ..export.form import Form
from ..export.formats.folder import read_label
from ..export.formats.registry import format_of
from ..export.gate import Gate, count_gate_texts
from ..export.hub_page import read_origin_notes
from ..export.removal import read_removal
from ..export.student import StoredEncoder, form_of_bundle
from ..export.web.site import CLUSTERS, PageText
from ..export.weights.precision import Precision
from ..indexing.clusters.writing import write_clusters
from ..indexing.stored import Index
from ..settings.choices import MOST_WHITENING
from ..settings.sections import ExportSettings, Settings
from ..system.files import require_writable
from ..system.progress import say, task
from ..system.types import File, Json
from .whitening import whiten_encoder

SAMPLE = Settings().data.dataset


@dataclass(frozen=True)
class ExportOptions:
    """How an encoder is exported.

    Args:
        format: a name of `choices.FORMATS`.
        precision: of the dense layers. None: as `ExportSettings` say, or as the format or the bundle has it.
        table: precision of the embedding table; None as for `precision`.
        max_length: fixed length of the input in tokens, None for any length.
        signatures: lengths in tokens that get a signature each, growing.
        spelled: False leaves out the words and spellings that the encoder reads.
        removal: the file of `fit_removal` whose directions are put in, and how many a language.
        removal_rank: directions a language of `removal`, 1 where it is None.
        index: of the format web, the folder of the index that the page searches.
        by_ranges: of the format web with an index, a page that loads what a question needs.
        title, about: of the format web, what the page says of itself; empty for what pages say.
        document_model: the encoder of the documents, of the same space, that the card names.
        corpus: more texts by language that kernels of 4 bits are rounded to, and that `whitening` sees, beside the data
            set's. The more they are like what will be asked and searched, questions as well as passages, the better.
        whitening: the power by which vectors are whitened, see `students.linear.compute_whitening`, 0 for none. It
            changes the space: an index is made anew.
        force: keep an artefact that the gate refuses, and say so in its card.
    """

    format: str = "bundle"
    precision: str | None = None
    table: str | None = None
    max_length: int | None = None
    signatures: tuple[int, ...] = ()
    spelled: bool = True
    removal: File | None = None
    removal_rank: int | None = None
    index: File | None = None
    by_ranges: bool = False
    title: str = ""
    about: str = ""
    document_model: str | None = None
    corpus: Mapping[str, Sequence[str]] | None = None
    whitening: float = 0.0
    force: bool = False


def export_model(
    model: str,
    output: File,
    options: ExportOptions | None = None,
    settings: ExportSettings | None = None,
    dataset: Dataset | None = None,
    languages: Sequence[str] = (),
) -> JudgedCard:
    """Write the encoder that `model` names as an artefact, checked against it on dev questions.

    Released codewords are kept, a format that takes a bundle as it is stored takes it so, without Keras, and what a
    card says of answers goes into the new one.

    Args:
        model: a run folder, a bundle, a saved encoder, or a name such as `released`.
        output: the folder that is made; nothing is there where the gate refuses.
        options: the format and what goes in; None for a bundle.
        settings: precision where `options` name none, the least that the gate takes, and its threads.
        dataset: whose dev questions the gate asks. None: the sample, and what distill comes with is not measured again
            where its bytes are taken as they are.
        languages: those of the questions; empty for all.

    Returns:
        The card of the artefact, with the gate's figures where it was measured.

    Raises:
        ExportError: where the gate refuses the artefact.
        EncoderError: where `model` names no encoder that can be exported.
        InputError: for options that do not go together, or a folder that cannot be written.
        DataError: for a language that the data set lacks.

    Example:
        >>> import distill
        >>> options = distill.ExportOptions(format="c")
        >>> judged = distill.export_model("released-small", "encoder-c", options)
        >>> judged.card.form.format, judged.card.dimension
        ('c', 512)
    """
    options, settings = options or ExportOptions(), settings or ExportSettings()
    require_writable(output)
    form = _form(model, options, settings)
    components = _components(options, form)
    chosen = (dataset, languages) if dataset is not None or languages else None
    gate = _gate(model, form, chosen, (settings, options.force))
    texts = _texts(gate, options.corpus) if gate and not form.precision.content else None
    encoder, notes = _student(model, form, settings.threads), {**describe_origin(model), **_answerable(model, form)}
    form = _with_codewords(form, model, encoder)
    used = _loaded(model, options.document_model, settings.threads, form)
    if options.whitening:
        passages = gate.dataset.passage_texts
        encoder, used = whiten_encoder(encoder, texts or {}, passages, options.whitening, used), None
        notes = _note_whitening(notes, options.whitening)
    # What rounding costs is measured against what is not rounded.
    whole, encoder = encoder, _rounded(encoder, form, texts)
    form, notes = _described(form, notes, model)
    if options.document_model:
        combine_encoders(encoder, options.document_model)
        notes["documents"] = describe_origin(options.document_model)["source"]
        whole = encoder = _with_route(encoder, options.document_model, form)
    gate = gate and replace(gate, model=used or whole)
    with _laid_out(options, form) as form:
        return _exported(encoder, output, gate, form, notes, components, texts)


@contextmanager
def _laid_out(options: ExportOptions, form: Form) -> Iterator[Form]:
    """The form with the index laid out for ranges, where that is asked for."""
    if options.index is None or not options.by_ranges:
        yield form
        return
    with tempfile.TemporaryDirectory() as folder:
        clusters = Path(folder) / CLUSTERS
        write_clusters(options.index, clusters)
        yield replace(form, clusters=clusters)


def _form(model: str, options: ExportOptions, settings: ExportSettings) -> Form:
    usual = ExportSettings()
    stated = (settings.precision, settings.table) != (usual.precision, usual.table)
    is_stated = bool(options.precision or options.table or stated)
    precision = Precision(options.precision or settings.precision, options.table or settings.table)
    if format_of(options.format).library and not is_stated:
        precision = Precision("float32", "float32")
    form = Form(options.format, precision, options.max_length, options.signatures, spelled=options.spelled)
    if options.corpus and precision.dense != "int4" and not options.whitening:
        raise InputError(f"--corpus is for --precision int4, or for --whiten, got {precision.dense}; leave it out")
    if options.by_ranges and options.index is None:
        raise InputError("--by-ranges: only for a page with an index; give its folder as --index")
    page = PageText(options.title, options.about) if options.title or options.about else None
    form = replace(form, index=_index_file(options.index, model), page=page)
    form = _kept(form, model, is_stated)
    if options.whitening and (options.document_model or options.removal):
        raise InputError(
            "--whiten makes another space than that of --document-model or --removal; leave one of them out"
        )
    if not 0 <= options.whitening <= MOST_WHITENING:
        raise InputError(f"--whiten: expected a power from 0 to {MOST_WHITENING}, got {options.whitening}")
    if options.whitening and form.precision.content:
        raise InputError(
            f"--whiten: the format {form.format} keeps the weights of the bundle {model}; "
            "export a bundle with --whiten and --precision first"
        )
    form.require()
    return form


def _index_file(folder: File | None, model: str) -> Path | None:
    """The file of a whole index that `model` made or asks, None for None."""
    if folder is None:
        return None
    index, fingerprint = Index(folder), weights_fingerprint(model)
    if not index.is_asked_by(fingerprint):
        index.require(fingerprint, model)
    return index.path


def _kept(form: Form, model: str, is_stated: bool) -> Form:
    """The form with what a bundle stores, where the format keeps that as it is."""
    folder = find_folder(model) if format_of(form.format).keeps else None
    if folder is None or not is_artefact(folder) or read_label(folder).format != "bundle":
        return form
    if is_stated:
        raise InputError(
            f"--precision, --table: the format {form.format} keeps those of the bundle {model}; leave them out, "
            "or export a bundle with others first"
        )
    return form_of_bundle(folder, form)


def _components(options: ExportOptions, form: Form) -> LanguageRemoval | None:
    if options.removal_rank and not options.removal:
        raise InputError("--removal-rank is of --removal, which is not given")
    return read_removal(options.removal, options.removal_rank or 1, form) if options.removal else None


def _gate(model, form, chosen, limits):
    """The gate with its data; None where that is not chosen, and what distill comes with is taken as it is."""
    if form.precision.content and form.spelled and find_shipped(model) and chosen is None:
        return None
    if form.precision.content:
        # Without the training stack this is what may be missing; with it statsmodels is there.
        require_significance()
    dataset, languages = chosen or (None, ())
    dataset = dataset or load_dataset(SAMPLE)
    languages = tuple(languages) or dataset.languages
    dataset.require(languages)
    return Gate(dataset, languages, *limits)


def _rounded(encoder: KerasEncoder, form: Form, texts: dict[str, list[str]] | None) -> KerasEncoder:
    """The encoder with dense layers as a coarse precision needs them, judged by the texts."""
    if form.precision.content or form.precision.dense != "int4":
        return encoder
    from ..export.rounding import round_dense

    return round_dense(encoder, form.precision, texts or {})


def _texts(gate: Gate, corpus: Mapping[str, Sequence[str]] | None) -> dict[str, list[str]]:
    """Texts by language, which say which languages use a piece, and what kernels of 4 bits are rounded to."""
    from ..students.vocabulary.pruning import lines_of, texts_of

    return texts_of(lines_of(gate.dataset, gate.languages, corpus)[0])


def _student(model: str, form: Form, threads: int) -> KerasEncoder:
    """The encoder that is written; of a bundle that a format takes as it is, without Keras."""
    folder = find_folder(model)
    if form.precision.content and form.spelled and folder is not None:
        say(f"{model}: its weights are taken as they are stored")
        return StoredEncoder(folder, threads)
    say(f"{model}: reading its weights")
    encoder = load_keras_encoder(model)
    if not form.spelled and encoder.tokenizer.spellings is None:
        raise InputError(f"--without-spellings: {model} has no words or spellings; leave it out")
    return encoder


def _note_whitening(notes: Mapping[str, Json], power: float) -> dict[str, Json]:
    """The notes of what was whitened by a power. What they say of answers is said of other scores."""
    return {**{name: note for name, note in notes.items() if name != ANSWERABLE}, "whitening": power}


def _answerable(model: str, form: Form) -> dict[str, Json]:
    """The entry on answers of the card of `model`, where the artefact has its vectors."""
    entry = read_answerable(model) if form.spelled else None
    return {ANSWERABLE: entry} if entry else {}


def _with_codewords(form: Form, model: str, encoder: KerasEncoder) -> Form:
    """The form with the table of what is exported, whose codewords chosen anew would lose as much again."""
    if form.precision.content:
        return form
    stored = load_stored_table(model, form.precision.table, encoder)
    return replace(form, precision=replace(form.precision, stored=stored))


def _described(form: Form, notes: Mapping[str, Json], model: str) -> tuple[Form, dict[str, Json]]:
    """The form and the notes of a folder for the hub with what the bundle that it is made from says of itself."""
    folder = find_folder(model) if format_of(form.format).library else None
    if folder is None or not is_artefact(folder):
        return form, dict(notes)
    known, about = read_origin_notes(folder)
    return replace(form, about=about), {**known, **notes}


def _with_route(encoder, document_model, form):
    """The encoder, for Sentence-Transformers with a route of its own for documents."""
    if format_of(form.format).library != "sentence-transformers":
        return encoder
    from ..export.hub.students import EncoderPair

    return EncoderPair(encoder, load_keras_encoder(document_model))


def _loaded(model: str, document_model: str | None, threads: int, form: Form) -> Encoder | None:
    """`model` as it is used, where that is not the student: a bundle. None for one that cuts texts."""
    folder = find_folder(model)
    if folder is None or not is_artefact(folder) or form.precision.content:
        return None
    encoder = load_encoder(model, threads)
    return None if getattr(encoder, "max_length", None) else combine_encoders(encoder, document_model)


def _exported(encoder, output, gate, form, notes, components, texts) -> JudgedCard:
    """The `JudgedCard` of what is written, with progress."""
    if gate is None:
        say(f"{form.format}: writing; what distill comes with is not measured again")
        return export_artefact(encoder, output, None, form, notes, components)
    total = count_gate_texts(gate.dataset, gate.languages, form.longest)
    say(f"{form.format}: writing, and measuring on the dev questions of {gate.dataset.name}")
    with task("export", total) as advance:
        return export_artefact(encoder, output, gate, form, notes, components, advance, texts)
