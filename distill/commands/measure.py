"""The commands that say how good an encoder is: `evaluate` and `compare`."""

from __future__ import annotations

import re
from dataclasses import replace
from typing import TYPE_CHECKING

import click
from click.core import ParameterSource

from ..catalog.kinds import READER_HELP
from ..errors import InputError
from ..settings.choices import ALL_UNITS, EVERY, SPLITS, TASKS, TYPED
from ..settings.sections import Value
from .shared.options import (
    beam_option,
    corpus_option,
    document_option,
    json_option,
    settings_from,
    settings_options,
    split_names,
    translator_option,
    writable,
)
from .shared.panels import PanelCommand
from .shared.setting_options import ASSIGNED, SettingsCommand, parameter_of

if TYPE_CHECKING:
    from collections.abc import Callable

# Metrics that `distill compare` compares unless told otherwise, and the form of others.
COMPARED_METRICS = ("p@1", "mrr@10", "map", "ndcg@10")
METRIC_FORM = re.compile(r"(p|mrr|ndcg)@[1-9]\d{0,5}|map|r@[1-9]\d{0,2}kt|em|f1")
# A comma before the name of a task; any other is of a path.
ANOTHER = re.compile(rf",(?=\s*(?:{'|'.join(TASKS)})\s*(?:[=,]|$))")
# The task whose metrics are its own, and those.
READING, READ_METRICS = "reading", ("em", "f1")
units_option = click.option(
    "--unit",
    "units",
    multiple=True,
    type=click.Choice(ALL_UNITS),
    help="what is retrieved and how, by one name, in place of --ranked and --score [default: document, passage, maxp]",
)
# Parameters of the options that say what is retrieved.
RETRIEVED = ("units", "evaluation__ranked", "evaluation__score")
# Options of `distill evaluate` that some tasks take.
OF_TASKS = (
    *(*RETRIEVED, "metrics", "split", "corpus", "lir_ranks", "lir_rescaled", "label_column"),
    *("translations", "translators", "typed", "report", "reader", "trec"),
)
split_option = click.option(
    "--split", default="dev", show_default=True, type=click.Choice([*SPLITS, EVERY]), help="of the questions"
)


def _tasks(context, parameter, values):
    """`[(name, data or None)]` of `NAME[=DATA]`, comma-separated or repeated."""
    parts = [part.strip().partition("=") for value in values or TASKS[:1] for part in ANOTHER.split(value)]
    for name, _, _ in parts:
        click.Choice(TASKS).convert(name, parameter, context)
    names = [name for name, _, _ in parts]
    if len(set(names)) < len(names):
        raise click.BadParameter(f"{', '.join(names)}: a task can be given once; ask for other data in another command")
    return [(name, source or None) for name, _, source in parts]


def _metrics(default):
    def chosen(context, parameter, values):
        names = tuple(dict.fromkeys(split_names(",".join(values)))) or default
        for name in names:
            if not METRIC_FORM.fullmatch(name):
                raise click.BadParameter(
                    f"expected p@k, mrr@k, ndcg@k, map, r@nkt, em or f1, such as p@1 or r@2kt, got {name!r}"
                )
        return names

    return chosen


def metrics_option(default: tuple[str, ...]) -> Callable[[click.decorators.FC], click.decorators.FC]:
    """The option `--metric`."""
    meaning = f"p@k, mrr@k, ndcg@k, map, r@nkt; comma-separated or repeated [default: {','.join(default)}]"
    return click.option("--metric", "metrics", multiple=True, callback=_metrics(default), help=meaning)


task_option = click.option(
    "--task",
    "tasks",
    multiple=True,
    metavar="NAME[=DATA]",
    callback=_tasks,
    help=f"{', '.join(TASKS)}, with data of its own in place of --dataset; may be given again [default: {TASKS[0]}]",
)


def _kinds(context, parameter, values):
    """Names of `choices.TYPED`, comma-separated or repeated; `all` of them."""
    names = list(dict.fromkeys(split_names(",".join(values))))
    if names == [EVERY]:
        return TYPED
    return tuple(click.Choice([*TYPED, EVERY]).convert(name, parameter, context) for name in names)


typed_option = click.option(
    "--typed",
    multiple=True,
    metavar="KIND",
    callback=_kinds,
    help=f"also with questions as people type them: {', '.join(TYPED)}, comma-separated or repeated, or {EVERY}",
)


def _ranks(context, parameter, value):
    """Whole numbers above 0, comma-separated, each once, in their order."""
    parts = split_names(value or "")
    if wrong := [part for part in parts if not re.fullmatch(r"[1-9]\d{0,4}", part)]:
        raise click.BadParameter(f"expected whole numbers above 0, such as 1,2,3, got {wrong[0]!r}")
    return tuple(sorted({int(part) for part in parts}))


reader_option = click.option("--reader", help=f"of the task reading: {READER_HELP}")


def _metrics_of(tasks, metrics):
    """Those that are given, else of the task reading alone its own."""
    given = click.get_current_context().get_parameter_source("metrics") is ParameterSource.COMMANDLINE
    return metrics if given or set(dict(tasks)) != {READING} else READ_METRICS


def _reader(source):
    if not source:
        return None
    from ..catalog.readers import load_reader

    return load_reader(source)


def _require_use(tasks, options):
    """Raise `InputError` for one of the options, which some tasks take, that is given and that none of these takes."""
    from ..evaluation.tasks.registry import takers

    context = click.get_current_context()
    assigned = [parameter_of(name) for name in context.params[ASSIGNED]]
    for name in options:
        given = context.get_parameter_source(name) is ParameterSource.COMMANDLINE or name in assigned
        if given and not set(known := takers(name)) & dict(tasks).keys():
            flag = next(option.opts[0] for option in context.command.params if option.name == name)
            raise InputError(f"{flag} is of the task {' and '.join(known)}, which is not asked for; leave it out")


@click.command(cls=PanelCommand)
@click.argument("models", nargs=-1, required=True)
@task_option
@settings_options("evaluate")
@split_option
@units_option
@metrics_option(("p@1", "p@5", "p@10", "mrr@10"))
@corpus_option("text by language that LIR is fitted on, as lir fit takes it [default: the task's own]")
@click.option(
    "--lir-ranks",
    callback=_ranks,
    help="numbers of directions that LIR removes [default: 1,2,3,4; in classification 1,2,3,5,8,10,12]",
)
@click.option(
    "--lir-rescaled/--no-lir-rescaled",
    default=True,
    help="scale what LIR leaves to unit length again; the paper does not [default: rescaled]",
)
@click.option("--label-column", default="", help="heading of classification's labels [default: label, or intent]")
@document_option
@click.option(
    "--translations",
    help="also with the questions of other languages than the documents' as FILE has them in that language, "
    '{"id", "text"} lines or a .tsv; or "parallel": as the data itself has them',
)
@translator_option("also with these questions")
@beam_option
@typed_option
@reader_option
@json_option
@click.option(
    "--report",
    type=click.Path(dir_okay=False),
    callback=writable,
    help="also a page of lareqa, bitext and answerable",
)
@click.option(
    "--trec",
    type=click.Path(file_okay=False),
    callback=writable,
    help="also write retrieval's rankings to this folder, as TREC's run files with their qrels",
)
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
    **values: Value | None,
) -> None:
    """How good MODELS are, by language, on one or more tasks.

    retrieval: documents and passages (--ranked), by vectors of their own or of parts of them (--score) and --metric.
    r@2kt, r@5kt: an answer within the first 2,000 or 5,000 words of the passages. lareqa: sentences of all languages in
    one pool (XQuAD-R, MLQA-R), with what tells of language bias, and with language information removed. bitext: a
    folder of translations, {lang}.txt, or a .tsv. answerable: half of the questions with their documents taken out, and
    how well the encoder tells which. classification: a .tsv of texts by language with their labels, learned in the
    documents' language and found in all, with and without LIR. reading: what comes first, read by --reader. bm25 and
    bm25-morphology are models of retrieval.
    """
    from ..evaluation.bias.fitting import Removed
    from ..evaluation.translation import translation_of
    from ..jobs.measuring import measure_models, read_samples
    from ..system.extras import require_training

    _require_use(tasks, OF_TASKS)
    require_training(*(("jinja2", "matplotlib") if report else ()))
    settings = settings_from(values)
    options = replace(
        _options(settings.data, settings.evaluation, settings.seed),
        split=split,
        units=units,
        metrics=_metrics_of(tasks, metrics),
        samples=read_samples(corpus),
        typed=typed,
        removed=Removed(lir_ranks, lir_rescaled),
        label_column=label_column,
        reader=_reader(reader),
    )
    translation = translation_of(translations, translators, beam, settings.data.document_language)
    measured = measure_models(models, options, tasks, document_model, translation, trec)
    for one in measured:
        one.print()
    if json_path or report:
        _write(json_path, report, measured)


def _options(data, evaluation, seed):
    """The options of tasks that are settings."""
    from ..evaluation.tasks.task import TaskOptions

    return TaskOptions(data, seed=seed, ranked=evaluation.ranked, score=evaluation.score)


def _write(json_path, report, measured):
    from ..system.files import write_json

    parts = {one.task.name: one.as_dict() for one in measured}
    if json_path:
        write_json(json_path, parts)
    if report:
        from ..report.run_page import write_evaluation

        sections = [one.task.section(parts[one.task.name]) for one in measured]
        write_evaluation(report, [section for section in sections if section])


@click.command(cls=SettingsCommand)
@click.argument("a")
@click.argument("b")
@task_option
@settings_options("compare")
@split_option
@units_option
@metrics_option(COMPARED_METRICS)
@click.option(
    "--draws",
    type=click.IntRange(1000, 10**6),
    default=10_000,
    show_default=True,
    help="of a sign-flip test and of an interval",
)
@click.option("--any-dimension", is_flag=True, help="compare encoders of different dimensions too")
@click.option(
    "--relevant",
    type=click.Path(exists=True, file_okay=False),
    help="where A and B are folders of mteb's predictions: the folder that distill.mteb.save_relevant wrote to",
)
@click.option(
    "--differences",
    type=click.Path(dir_okay=False),
    callback=writable,
    help="also write the questions that one of both alone finds, with what each finds first, as JSON Lines",
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
    """Encoder A against B, question by question: by language and over all, Holm-corrected over languages and tasks.

    McNemar's test for p@1 within a language, else random signs by question; differences and effect sizes with 95 %
    intervals; and the smallest difference that the test set would have shown in 80 of 100 cases. Either may be bm25 or
    bm25-morphology, in retrieval. A and B may be folders of mteb's predictions instead, of any two models on the same
    tasks.
    """
    from ..evaluation.mcnemar import require_significance
    from ..evaluation.mteb_predictions import compare_predictions, is_predictions
    from ..evaluation.paired import as_dict
    from ..jobs.measuring import compare_models
    from ..report.score_tables import print_scores
    from ..system.files import write_json

    require_significance()
    settings, of, metrics = settings_from(values), split, _metrics_of(tasks, metrics)
    if relevant or is_predictions(a) or is_predictions(b):
        _require_of_predictions(relevant)
        compared, of = compare_predictions(a, b, str(relevant), metrics, draws, settings.seed), "mteb"
    else:
        _require_use(tasks, ("reader", *RETRIEVED, "split", "differences"))
        options = _options(settings.data, settings.evaluation, settings.seed)
        options = replace(options, split=split, units=units, metrics=metrics, reader=_reader(reader))
        compared = compare_models((a, b), options, tasks, document_model, draws, any_dimension, differences)
    for metric, comparisons in compared.items():
        print_scores(a, b, of, metric, comparisons)
    if json_path:
        figures = {metric: as_dict(comparisons) for metric, comparisons in compared.items()}
        write_json(json_path, {"a": a, "b": b, "split": of, "metrics": figures})


# Options of `compare` that folders of mteb's predictions take.
OF_PREDICTIONS = ("a", "b", "metrics", "draws", "relevant", "seed", "json_path")


def _require_of_predictions(relevant):
    """Raise `InputError` for an option that is given and that folders of predictions do not take."""
    context = click.get_current_context()
    for option in context.command.params:
        given = context.get_parameter_source(option.name) is ParameterSource.COMMANDLINE
        if given and option.name not in OF_PREDICTIONS:
            raise InputError(f"{option.opts[0]} is not of mteb's predictions, which are made already; leave it out")
    if not relevant:
        raise InputError("--relevant is missing: mteb keeps rankings alone; give what distill.mteb.save_relevant wrote")
