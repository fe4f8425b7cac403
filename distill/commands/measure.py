"""The commands that measure the quality of encoders: `evaluate` and `compare`."""

from __future__ import annotations

import re
from dataclasses import replace
from typing import TYPE_CHECKING

import click
from click.core import ParameterSource

from ..encoders.catalog.kinds import READER_HELP
from ..errors import InputError
from ..settings.choices import ALL_UNITS, COMPARED_UNIT, EVALUATED_UNITS, EVERY, SPLITS, TASKS, TYPED
from ..settings.sections import Value
from .shared.command import command
from .shared.help import option
from .shared.options import (
    beam_option,
    corpus_option,
    document_option,
    json_option,
    require_writable_path,
    settings_options,
    split_names,
    take_settings,
    translator_option,
    write_figures,
)
from .shared.setting_options import ASSIGNED, make_parameter_name

if TYPE_CHECKING:
    from collections.abc import Callable

# By which `distill compare` compares mteb's predictions by default.
MTEB_METRIC = "ndcg@10"
# The form of a metric.
METRIC_FORM = re.compile(r"(p|mrr|ndcg)@[1-9]\d{0,5}|map|r@[1-9]\d{0,2}kt|em|f1")
# A comma before the name of a task; any other is of a path.
ANOTHER = re.compile(rf",(?=\s*(?:{'|'.join(TASKS)})\s*(?:[=,]|$))")
# The task whose metrics are its own, and those.
READING, READ_METRICS = "reading", ("em", "f1")


def units_option(default: str) -> Callable[[click.decorators.FC], click.decorators.FC]:
    """Return a decorator that adds the option `--unit`, whose help names the units that are measured by default."""
    help = (
        "What is ranked and how it is scored, as one name in place of --ranked and --score. May be repeated. "
        f"[default: {default}]"
    )
    kind = click.Choice(ALL_UNITS)
    return option("--unit", "units", panel="evaluation", main=True, multiple=True, type=kind, help=help)


# Parameters of the options that say what is retrieved.
RETRIEVED = ("units", "evaluation__ranked", "evaluation__score")
# Options of `distill evaluate` that some tasks take.
OF_TASKS = (
    *(*RETRIEVED, "metrics", "split", "corpus", "lir_ranks", "lir_rescaled", "label_column"),
    *("translations", "translators", "typed", "report", "reader", "trec"),
)
split_option = option(
    "--split",
    panel="data",
    main=True,
    default="dev",
    type=click.Choice([*SPLITS, EVERY]),
    help="Which questions to measure on.",
)


def _tasks(context, parameter, values):
    """Return `[(name, data or None)]` from `NAME[=DATA]`, comma-separated or repeated."""
    parts = [part.strip().partition("=") for value in values or TASKS[:1] for part in ANOTHER.split(value)]
    for name, _, _ in parts:
        click.Choice(TASKS).convert(name, parameter, context)
    names = [name for name, _, _ in parts]
    if len(set(names)) < len(names):
        raise click.BadParameter(f"{', '.join(names)}: a task can be given once; ask for other data in another command")
    return [(name, source or None) for name, _, source in parts]


def _metrics(default):
    def choose_metrics(context, parameter, values):
        names = tuple(dict.fromkeys(split_names(",".join(values)))) or default
        for name in names:
            if not METRIC_FORM.fullmatch(name):
                raise click.BadParameter(
                    f"expected p@k, mrr@k, ndcg@k, map, r@nkt, em or f1, such as p@1 or r@2kt, got {name!r}"
                )
        return names

    return choose_metrics


def metrics_option(
    default: tuple[str, ...] = (), described: str = ""
) -> Callable[[click.decorators.FC], click.decorators.FC]:
    """Return a decorator that adds the option `--metric`. `default` are the metrics that are measured by default."""
    help = (
        "Metrics, comma-separated or repeated: p@k, mrr@k, ndcg@k, map, and r@nkt, the share of questions with an "
        f"answer in the first n thousand words. [default: {described or ','.join(default)}]"
    )
    return option(
        "--metric", "metrics", panel="evaluation", main=True, multiple=True, callback=_metrics(default), help=help
    )


task_option = option(
    "--task",
    "tasks",
    panel="evaluation",
    main=True,
    multiple=True,
    metavar="NAME[=DATA]",
    callback=_tasks,
    help=f"Task to measure: {', '.join(TASKS)}; with data of its own in place of --dataset. May be repeated. "
    f"[default: {TASKS[0]}]",
)


def _kinds(context, parameter, values):
    """Return names of `choices.TYPED` from values that are comma-separated or repeated."""
    names = list(dict.fromkeys(split_names(",".join(values))))
    if names == [EVERY]:
        return TYPED
    return tuple(click.Choice([*TYPED, EVERY]).convert(name, parameter, context) for name in names)


typed_option = option(
    "--typed",
    panel="evaluation",
    main=True,
    multiple=True,
    metavar="KIND",
    callback=_kinds,
    help=f"Also measure with questions as people type them: {', '.join(TYPED)} or {EVERY}; comma-separated.",
)


def _ranks(context, parameter, value):
    """Return comma-separated whole numbers above 0, sorted, each once."""
    parts = split_names(value or "")
    if wrong := [part for part in parts if not re.fullmatch(r"[1-9]\d{0,4}", part)]:
        raise click.BadParameter(f"expected whole numbers above 0, such as 1,2,3, got {wrong[0]!r}")
    return tuple(sorted({int(part) for part in parts}))


reader_option = option("--reader", panel="evaluation", help=f"Reader for the task reading: {READER_HELP}.")


def _metrics_of(tasks, metrics):
    """Return the metrics that are given; by default those of the task reading if it is the only one."""
    given = click.get_current_context().get_parameter_source("metrics") is ParameterSource.COMMANDLINE
    return metrics if given or set(dict(tasks)) != {READING} else READ_METRICS


def _require_use(tasks, options):
    """Raise `InputError` for an option that is given and that none of the tasks, or nothing that is written, takes."""
    from ..evaluation.tasks.task import tasks_with_option

    context = click.get_current_context()
    if context.params.get("outcomes") and not context.params["json_path"]:
        raise InputError("--outcomes adds to --json, which is not given; give both, or leave it out")
    assigned = [make_parameter_name(name) for name in context.params[ASSIGNED]]
    for name in options:
        given = context.get_parameter_source(name) is ParameterSource.COMMANDLINE or name in assigned
        if given and not set(known := tasks_with_option(name)) & dict(tasks).keys():
            flag = next(option.opts[0] for option in context.command.params if option.name == name)
            raise InputError(f"{flag} is of the task {' and '.join(known)}, which is not asked for; leave it out")


@command(
    examples=[
        "distill evaluate multi12-ngram --metric p@1,mrr@10",
        "distill evaluate multi12-ngram runs/my-run --dataset my-data --split test",
        "distill evaluate multi12-ngram --task lareqa=xquad-r --report lareqa.html",
    ]
)
@click.argument("models", nargs=-1, required=True)
@task_option
@metrics_option(("p@1", "p@5", "p@10", "mrr@10"))
@settings_options("evaluate")
@split_option
@units_option(", ".join(EVALUATED_UNITS))
@typed_option
@reader_option
@corpus_option("Text of each language to fit LIR on.", default="the task's own")
@option(
    "--lir-ranks",
    panel="evaluation",
    callback=_ranks,
    help="Numbers of directions that LIR removes. [default: 1,2,3,4; for classification 1,2,3,5,8,10,12]",
)
@option(
    "--lir-rescaled/--no-lir-rescaled",
    panel="evaluation",
    default=True,
    help="Scale what LIR leaves to unit length again, which the paper does not. [default: rescaled]",
)
@option(
    "--label-column",
    panel="evaluation",
    default="",
    help="Heading of the labels for the task classification. [default: label, or intent]",
)
@document_option
@option(
    "--translations",
    panel="translation",
    help="Also ask questions that are translated into the documents' language, from a .tsv or a .jsonl file with "
    '{"id", "text"}; or from the data set itself with "parallel".',
)
@translator_option("Also ask questions that a model translates.")
@beam_option
@json_option
@option(
    "--report",
    panel="files",
    main=True,
    type=click.Path(dir_okay=False),
    callback=require_writable_path,
    help="Write a page on the tasks lareqa, bitext and answerable.",
)
@option(
    "--trec",
    panel="files",
    type=click.Path(file_okay=False),
    callback=require_writable_path,
    help="Write retrieval's rankings to this folder, as TREC's run files with their qrels.",
)
@option("--outcomes", panel="files", is_flag=True, help="Add the score of each question to --json.")
def evaluate(
    models: tuple[str, ...],
    tasks: list[tuple[str, str | None]],
    split: str,
    units: tuple[str, ...],
    metrics: tuple[str, ...],
    corpus: tuple[str, ...],
    lir_ranks: tuple[int, ...],
    lir_rescaled: bool,
    label_column: str,
    document_model: str | None,
    translations: str | None,
    translators: tuple[str, ...],
    beam: int | None,
    typed: tuple[str, ...],
    reader: str | None,
    json_path: str | None,
    report: str | None,
    trec: str | None,
    outcomes: bool,
    **values: Value | None,
) -> None:
    """Measure the quality of encoders by language.

    MODELS are encoders; bm25 and bm25-morphology rank by words. The tasks, which docs/lareqa.md describes:

    \b
    retrieval       find the document or passage that answers
    lareqa          language bias: sentences of all languages in one pool
    bitext          find translations: a folder of {lang}.txt, or a .tsv
    answerable      tell which questions have no answer
    classification  classify texts of a .tsv across languages
    reading         retrieve passages and find the answer with --reader
    """
    from ..encoders.removal_fitting import RemovalOptions
    from ..evaluation.translation import translation_of
    from ..jobs.measuring import measure_models, read_samples
    from ..system.extras import require_training

    _require_use(tasks, OF_TASKS)
    require_training(*(("jinja2", "matplotlib") if report else ()))
    settings = take_settings(values)
    options = replace(
        _options(settings.data, settings.evaluation, settings.seed),
        split=split,
        units=units,
        metrics=_metrics_of(tasks, metrics),
        samples=read_samples(corpus),
        typed=typed,
        removed=RemovalOptions(lir_ranks, lir_rescaled),
        label_column=label_column,
        reader=reader,
    )
    translation = translation_of(translations, translators, beam, settings.data.document_language)
    measured = measure_models(models, options, tasks, document_model, translation, trec, outcomes)
    parts = {one.task.name: one.as_dict() for one in measured} if json_path or report else {}
    write_figures(json_path, parts, lambda: _print_measured(measured))
    if report:
        from ..report.run_page import write_evaluation

        sections = [one.task.section(parts[one.task.name]) for one in measured]
        write_evaluation(report, [section for section in sections if section])


def _print_measured(measured):
    for one in measured:
        one.print()


def _options(data, evaluation, seed):
    """Return the options of tasks that come from settings."""
    from ..evaluation.tasks.task import TaskOptions

    return TaskOptions(data, seed=seed, ranked=evaluation.ranked, score=evaluation.score)


@command(
    examples=[
        "distill compare multi12-ngram multi12-static",
        "distill compare runs/new runs/old --split test --differences won-and-lost.jsonl",
        "distill compare multi12-ngram bm25 --metric p@1,mrr@10 --json compared.json",
    ]
)
@click.argument("a")
@click.argument("b")
@task_option
@metrics_option(described=f"p@1; map for lareqa, f1 for reading, {MTEB_METRIC} for mteb's predictions")
@settings_options("compare")
@split_option
@units_option(COMPARED_UNIT)
@option(
    "--draws",
    panel="evaluation",
    type=click.IntRange(1000, 10**6),
    default=10_000,
    help="Number of draws for each sign-flip test and interval.",
)
@option("--any-dimension", panel="encoder", is_flag=True, help="Allow encoders of different dimensions.")
@option(
    "--relevant",
    panel="input",
    type=click.Path(exists=True, file_okay=False),
    help="If A and B are folders of mteb's predictions: the folder that distill.papers.mteb.save_relevant wrote.",
)
@option(
    "--differences",
    panel="files",
    type=click.Path(dir_okay=False),
    callback=require_writable_path,
    help="Write the questions that only one of both answers, with what each ranks first, as JSON Lines.",
)
@document_option
@reader_option
@json_option
def compare(
    a: str,
    b: str,
    tasks: list[tuple[str, str | None]],
    split: str,
    units: tuple[str, ...],
    metrics: tuple[str, ...],
    draws: int,
    any_dimension: bool,
    relevant: str | None,
    differences: str | None,
    document_model: str | None,
    reader: str | None,
    json_path: str | None,
    **values: Value | None,
) -> None:
    """Test if one encoder is significantly better than another.

    A and B are compared question by question, in each language and over all: by McNemar's test for p@1 within a
    language, else by random sign flips of questions, with Holm's correction over languages and tasks. By default this
    is for one metric and one unit; --metric and --unit name others. The table has differences and effect sizes with
    95 % intervals, and the smallest difference that the test would detect in 80 of 100 cases.

    Either can be bm25 or bm25-morphology. Both can be folders of mteb's predictions, by any two models on the same
    tasks.
    """
    from ..evaluation.mcnemar import require_significance
    from ..evaluation.paired_comparison import as_dict
    from ..jobs.measuring import compare_models
    from ..papers.mteb_predictions import compare_predictions, is_predictions

    require_significance()
    settings, of = take_settings(values), split
    if relevant or is_predictions(a) or is_predictions(b):
        _require_of_predictions(relevant)
        metrics = metrics or (MTEB_METRIC,)
        compared, of = compare_predictions(a, b, str(relevant), metrics, draws, settings.seed), "mteb"
    else:
        _require_use(tasks, ("reader", *RETRIEVED, "split", "differences"))
        options = _options(settings.data, settings.evaluation, settings.seed)
        options = replace(options, split=split, units=units, metrics=metrics, reader=reader)
        compared = compare_models((a, b), options, tasks, document_model, draws, any_dimension, differences)
    figures = {metric: as_dict(comparisons) for metric, comparisons in compared.items()}
    write_figures(
        json_path, {"a": a, "b": b, "split": of, "metrics": figures}, lambda: _print_compared(a, b, of, compared)
    )


def _print_compared(a, b, split, compared):
    from ..report.score_tables import print_scores

    for metric, comparisons in compared.items():
        print_scores(a, b, split, metric, comparisons)


# Options of `compare` that folders of mteb's predictions take.
OF_PREDICTIONS = ("a", "b", "metrics", "draws", "relevant", "seed", "json_path")


def _require_of_predictions(relevant):
    """Raise `InputError` for an option that is given and that does not go with folders of predictions."""
    context = click.get_current_context()
    for one in context.command.params:
        given = context.get_parameter_source(one.name) is ParameterSource.COMMANDLINE
        if given and one.name not in OF_PREDICTIONS:
            raise InputError(f"{one.opts[0]} is not of mteb's predictions, which are made already; leave it out")
    if not relevant:
        raise InputError(
            "--relevant is missing: mteb keeps rankings alone; give what distill.papers.mteb.save_relevant wrote"
        )
