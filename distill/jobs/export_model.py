"""Export an encoder that a user names as an artefact that passed the gate: `distill export` as a function."""

from __future__ import annotations

import tempfile
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from itertools import chain
from pathlib import Path

from ..data.dataset import Dataset
from ..data.loading import load_dev
from ..encoders.catalog.bundle import SCORING, find_artefact, is_artefact, read_scoring, shipped_name
from ..encoders.catalog.identity import describe_origin, weights_fingerprint
from ..encoders.catalog.kinds import find_folder
from ..encoders.catalog.loading import combine_encoders, load_encoder, load_keras_encoder, load_stored_table
from ..encoders.encoder import Encoder, KerasEncoder, take_own_pieces
from ..encoders.language_removal import LanguageRemoval
from ..errors import InputError
from ..evaluation.mcnemar import require_significance
from ..export.artefact import copy_bundle, export_artefact, require_readable
from ..export.card import JudgedCard, read_removal
from ..export.form import Form
from ..export.formats.format import format_of
from ..export.gate import Gate, count_gate_texts
from ..export.hub_page import read_origin_notes
from ..export.student import StoredEncoder, form_of_bundle
from ..export.web.site import CLUSTERS, PageText
from ..settings.choices import MOST_WHITENING
from ..settings.sections import ExportSettings
from ..system.extras import require_guest
from ..system.files import require_writable
from ..system.progress import say, task
from ..system.types import File, Json
from .export_source import (
    BUNDLE,
    choose_precision,
    find_bundle,
    load_questions,
    name_source,
    read_token_languages,
    state_precision,
    states_limits,
    whiten_encoder,
)


@dataclass(frozen=True)
class ExportOptions:
    """Options of an export.

    Args:
        format: The format, a name of `choices.FORMATS`.
        precision: The precision of the dense layers. None takes that of `ExportSettings`, of the encoder's bundle or of
            the format.
        table: The precision of the embedding table; None as for `precision`.
        max_length: The fixed length of the input in tokens; None for any length.
        signatures: The lengths in tokens that get a signature each, in ascending order.
        spelled: If False, the added words and spellings of the encoder are left out.
        removal: The file of `fit_removal` whose directions the artefact removes.
        removal_rank: The number of directions per language of `removal`; None for 1.
        index: The folder of the index that the page searches, for the format web.
        by_ranges: If True, a page with an index loads only the parts that a question needs.
        title: The title of the page; empty for the default.
        about: The line under the title of the page; empty for the default.
        document_model: The encoder of the documents in the same space, which the card names.
        corpus: More texts by language, beside those of the data set. Kernels of 4 bits are rounded by them and
            `whitening` is fitted on them. They should be like the questions and passages of later use.
        whitening: The power of the whitening, see `students.linear.compute_whitening`; 0 for none. It changes the
            space, so an index has to be built again.
        whiten_by: The encoder whose vectors fit the whitening, such as the teacher; empty for the encoder itself. What
            is whitened by the vectors of one encoder, of the same texts, shares a space.
        dev_dataset: The data set whose dev questions the gate asks, none of whose text rounds or whitens the encoder.
        force: If True, an artefact that the gate refuses is kept, and its card says so.

    Example:
        >>> import distill
        >>> options = distill.ExportOptions(format="c", table="int4")
        >>> options.format, options.whitening
        ('c', 0.0)
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
    whiten_by: str = ""
    dev_dataset: str = ""
    force: bool = False


def export_model(
    model: str,
    output: File,
    options: ExportOptions | None = None,
    settings: ExportSettings | None = None,
    dataset: Dataset | None = None,
    languages: Sequence[str] = (),
) -> JudgedCard:
    """Write an encoder as an artefact and check it against the encoder on dev questions.

    An encoder with a bundle, such as a run, has the bundle's precision in the artefact too, and where the format can,
    its bytes, which needs no Keras. Codewords of its table are kept, and what its card says on answers is copied.

    Args:
        model: A run folder, a bundle, a saved encoder, or a name such as `multi12-ngram`.
        output: The folder to make. It does not exist if the gate refuses.
        options: The format and the contents; None for a bundle.
        settings: The precision if `options` name none, the limits of the gate, and its number of threads.
        dataset: The data set whose dev questions the gate uses. None takes that of the encoder's run, or the sample;
            then a bundle that is copied is not measured again, nor is an encoder that distill comes with if its bytes
            are taken as they are.
        languages: The languages of the questions; empty for all.

    Returns:
        The card of the artefact, with the figures of the gate if it was measured.

    Raises:
        ExportError: If the gate refuses the artefact.
        EncoderError: If `model` names no encoder that can be exported.
        InputError: If options exclude each other, or the folder cannot be written.
        DataError: If the data set lacks a language.

    Example:
        >>> import distill
        >>> options = distill.ExportOptions(format="c")
        >>> judged = distill.export_model("multi12-static", "encoder-c", options)
        >>> judged.card.form.format, judged.card.dimension
        ('c', 512)
    """
    options, settings = options or ExportOptions(), settings or ExportSettings()
    require_writable(output)
    bundle = find_bundle(model)
    form = _make_form(model, bundle, options, settings)
    if bundle:
        require_readable(StoredEncoder(bundle), form)
    source = name_source(model, bundle if form.precision.content else None)
    form = replace(form, index=_find_index(options.index, source))
    components = _read_components(options, form)
    chosen = (dataset, languages) if dataset is not None or languages or options.dev_dataset else None
    gate = _make_gate(model, form, chosen, (settings, options.force))
    if gate is None and form.format == BUNDLE and not (components or options.document_model):
        say(f"{model}: its bundle is copied as it is, and was measured when it was made")
        return copy_bundle(find_artefact(source), output, describe_origin(source)["source"])
    other = gate and _ask_other(gate, options.dev_dataset)
    known = read_token_languages(bundle, form)
    texts = _collect_texts(gate, options.corpus) if gate and not form.precision.content else None
    encoder = _load_student(source, form, settings.threads)
    notes = {**describe_origin(source), **_copy_scoring(source, form)}
    # By its folder it would have the alias of one that ships, and every run's bundle the same.
    encoder.name = str(notes["source"])
    form = _add_codewords(form, bundle, encoder)
    used = _load_used(model, source, options.document_model, settings.threads, form) if gate else None
    if options.whitening:
        passages, by = gate.dataset.passage_texts, _load_whitener(options, encoder) or used
        encoder, used = whiten_encoder(encoder, texts or {}, passages, options.whitening, by), None
        notes = _note_whitening(notes, options)
    # The gate compares with the encoder before rounding, so that the loss by rounding counts, and by its own tokenizer.
    whole, encoder = encoder, take_own_pieces(encoder, chain.from_iterable((texts or {}).values()))
    encoder = _round_encoder(encoder, form, texts)
    form, notes = _describe_source(form, notes, source)
    if options.document_model:
        combine_encoders(encoder, options.document_model)
        notes["documents"] = describe_origin(options.document_model)["source"]
        whole = encoder = _add_route(encoder, options.document_model, form)
    gate = gate and replace(other or gate, model=used or whole)
    with _lay_out(options, form) as form:
        return _write_artefact(encoder, output, gate, form, notes, components, known or texts)


@contextmanager
def _lay_out(options: ExportOptions, form: Form) -> Iterator[Form]:
    """Provide the form, with the index laid out for ranges if the options ask for that."""
    if options.index is None or not options.by_ranges:
        yield form
        return
    with tempfile.TemporaryDirectory() as folder:
        clusters = Path(folder) / CLUSTERS
        require_guest("search_engine.indexing.clusters").write_clusters(options.index, clusters)
        yield replace(form, clusters=clusters)


def _make_form(model: str, bundle: Path | None, options: ExportOptions, settings: ExportSettings) -> Form:
    dense, table = state_precision(settings)
    precision = choose_precision(options.format, bundle, options.precision or dense, options.table or table)
    form = Form(options.format, precision, options.max_length, options.signatures, spelled=options.spelled)
    if options.by_ranges and options.index is None:
        raise InputError("--by-ranges: only for a page with an index; give its folder as --index")
    page = PageText(options.title, options.about) if options.title or options.about else None
    form = replace(form, page=page)
    if options.whitening and (options.document_model or options.removal):
        raise InputError(
            "--whiten makes another space than that of --document-model or --removal; leave one of them out"
        )
    if options.whiten_by and not options.whitening:
        raise InputError("--whiten-by is of --whiten, which is not given")
    if not 0 <= options.whitening <= MOST_WHITENING:
        raise InputError(f"--whiten: expected a power from 0 to {MOST_WHITENING}, got {options.whitening}")
    form = _keep_weights(form, model, bundle, options)
    if options.corpus and not options.whitening and (form.precision.dense != "int4" or form.precision.content):
        raise InputError(f"--corpus is for --precision int4, or for --whiten, got {precision.dense}; leave it out")
    form.require()
    return form


def _find_index(folder: File | None, model: str) -> Path | None:
    """Return the file of a complete index that `model` made or can search; None for None."""
    if folder is None:
        return None
    index = require_guest("search_engine.indexing.index_file").Index(folder)
    index.require_asker(weights_fingerprint(model), model)
    return index.path


def _keep_weights(form: Form, model: str, bundle: Path | None, options: ExportOptions) -> Form:
    """Return the form with the weights that a bundle stores, if the artefact can have them as they are."""
    keeps = format_of(form.format).keeps
    if bundle is None or not (keeps or form.format == BUNDLE):
        return form
    stored = form_of_bundle(bundle, form)
    same = stored.precision == form.precision
    if keeps and name_source(model, bundle) == model:
        _require_kept(form, model, same, options.whitening)
        return stored
    remade = options.whitening or options.corpus or (not keeps and (options.max_length or options.signatures))
    return stored if same and not remade else form


def _require_kept(form, model, same, whitening):
    """Raise `InputError` if a bundle's weights would have to change for a format that keeps them."""
    if not same:
        raise InputError(
            f"--precision, --table: the format {form.format} keeps those of the bundle {model}; leave them out, "
            "or export a bundle with others first"
        )
    if whitening:
        raise InputError(
            f"--whiten: the format {form.format} keeps the weights of the bundle {model}; "
            "export a bundle with --whiten and --precision first"
        )


def _read_components(options: ExportOptions, form: Form) -> LanguageRemoval | None:
    if options.removal_rank and not options.removal:
        raise InputError("--removal-rank is of --removal, which is not given")
    return read_removal(options.removal, options.removal_rank or 1, form) if options.removal else None


def _make_gate(model, form, chosen, limits):
    """Make the gate with its data. Return None where nothing was chosen to measure and the bytes stay the same."""
    wanted = chosen is not None or states_limits(limits[0])
    content = form.precision.content
    if content and form.spelled and not wanted and (form.format == BUNDLE or shipped_name(weights_fingerprint(model))):
        return None
    if content:
        # Only an installation without the training stack may lack statsmodels.
        require_significance()
    dataset, languages = chosen or (None, ())
    dataset, known = (dataset, dataset.languages) if dataset else load_questions(model)
    languages = tuple(languages) or known
    dataset.require(languages)
    return Gate(dataset, languages, *limits)


def _ask_other(gate: Gate, source: str) -> Gate | None:
    """Return the gate that asks the dev questions of the data set `source`, None if that is empty."""
    dev = load_dev(source, gate.dataset.document_language, gate.languages)
    return (
        replace(gate, dataset=dev, languages=[one for one in gate.languages if one in dev.questions]) if dev else None
    )


def _round_encoder(encoder: KerasEncoder, form: Form, texts: dict[str, list[str]] | None) -> KerasEncoder:
    """Return the encoder with dense layers that are rounded for a coarse precision with the help of texts."""
    if form.precision.content or form.precision.dense != "int4":
        return encoder
    from ..export.rounding import round_dense

    return round_dense(encoder, form.precision, texts or {})


def _collect_texts(gate: Gate, corpus: Mapping[str, Sequence[str]] | None) -> dict[str, list[str]]:
    """Collect texts by language. They show which languages use a token, and kernels of 4 bits are rounded by them."""
    from ..students.vocabulary.pruning import collect_lines, group_texts

    return group_texts(collect_lines(gate.dataset, gate.languages, corpus)[0])


def _load_student(model: str, form: Form, threads: int) -> KerasEncoder:
    """Load the encoder that is written. For a format that takes a bundle as it is, this needs no Keras."""
    folder = find_folder(model)
    if form.precision.content and form.spelled and folder is not None:
        return StoredEncoder(folder, threads)
    say(f"{model}: reading its weights")
    encoder = load_keras_encoder(model)
    if encoder.takes_context:
        raise InputError(f"{model}: it reads contexts as segments, which no format has; train without pairs.context")
    if not form.spelled and encoder.tokenizer.spellings is None:
        raise InputError(f"--without-spellings: {model} has no words or spellings; leave it out")
    return encoder


def _load_whitener(options: ExportOptions, encoder: KerasEncoder) -> Encoder | None:
    """Load the encoder that `whiten_by` names, if any. Raises `InputError` if its vectors are not as long."""
    if not options.whiten_by:
        return None
    whitener = load_encoder(options.whiten_by)
    if whitener.dimension != encoder.dimension:
        raise InputError(
            f"--whiten-by {options.whiten_by}: expected an encoder of the same space, with vectors of "
            f"{encoder.dimension} numbers, got {whitener.dimension}; name the teacher, or leave it out"
        )
    return whitener


def _note_whitening(notes: Mapping[str, Json], options: ExportOptions) -> dict[str, Json]:
    """Return the notes of a whitened encoder. What was fitted to other scores is dropped."""
    kept = {name: note for name, note in notes.items() if name not in SCORING}
    by = {"whitened_by": describe_origin(options.whiten_by)["source"]} if options.whiten_by else {}
    return {**kept, "whitening": options.whitening, **by}


def _copy_scoring(model: str, form: Form) -> dict[str, Json]:
    """Return the entries about scores of the card of `model`, if the artefact has the same vectors."""
    return read_scoring(model) if form.spelled else {}


def _add_codewords(form: Form, bundle: Path | None, encoder: KerasEncoder) -> Form:
    """Return the form with the table of the encoder's bundle: new codewords would lose quality once more."""
    if form.precision.content or bundle is None:
        return form
    stored = load_stored_table(str(bundle), form.precision.table, encoder)
    return replace(form, precision=replace(form.precision, stored=stored))


def _describe_source(form: Form, notes: Mapping[str, Json], model: str) -> tuple[Form, dict[str, Json]]:
    """Return the form and the notes of a folder for the hub, with what the card of its bundle says."""
    folder = find_folder(model) if format_of(form.format).library else None
    if folder is None or not is_artefact(folder):
        return form, dict(notes)
    known, about = read_origin_notes(folder)
    return replace(form, about=about), {**known, **notes}


def _add_route(encoder, document_model, form):
    """Return the encoder, for Sentence-Transformers with a separate route for documents."""
    if format_of(form.format).library != "sentence-transformers":
        return encoder
    from ..export.hub.modules import EncoderPair

    return EncoderPair(encoder, take_own_pieces(load_keras_encoder(document_model)))


def _load_used(model: str, source: str, document_model: str | None, threads: int, form: Form) -> Encoder | None:
    """Load the encoder that the gate compares with, if it is not the one that is written.

    That is the student of a run whose bundle is written, so that the loss of the bundle counts, or the bundle whose
    weights are written anew, unless it cuts texts.
    """
    folder = find_folder(model)
    if form.precision.content:
        return combine_encoders(load_encoder(model, threads), document_model) if source != model else None
    if folder is None or not is_artefact(folder):
        return None
    encoder = load_encoder(model, threads)
    return None if getattr(encoder, "max_length", None) else combine_encoders(encoder, document_model)


def _write_artefact(encoder, output, gate, form, notes, components, texts) -> JudgedCard:
    if gate is None:
        return export_artefact(encoder, output, None, form, notes, components, texts=texts)
    total = count_gate_texts(gate.dataset, gate.languages, form.longest)
    say(f"{form.format}: writing, and measuring on the dev questions of {gate.dataset.name}")
    with task("export", total) as advance:
        return export_artefact(encoder, output, gate, form, notes, components, advance, texts)
