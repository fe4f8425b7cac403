"""The commands that say how good an encoder is: `evaluate` and `compare`."""

import re
from pathlib import Path

import click
from click.core import ParameterSource

from ..errors import InputError
from ..settings.choices import EVERY, METRIC_FORM, METRICS, SPLITS, TASKS, UNITS
from .options import (
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

# A comma before the name of a task; any other is of a path.
ANOTHER = re.compile(rf",(?=\s*(?:{'|'.join(TASKS)})\s*(?:[=,]|$))")
# What only some tasks take.
NEEDS = {
    "units": ("retrieval",),
    "metrics": ("retrieval",),
    "corpus": ("lareqa",),
    "split": ("retrieval", "lareqa"),
    "translations": ("retrieval", "lareqa"),
    "translators": ("retrieval", "lareqa"),
}
units_option = click.option(
    "--unit",
    "units",
    multiple=True,
    type=click.Choice(UNITS),
    help="what is retrieved (default: all three)",
)
split_option = click.option(
    "--split", default="dev", show_default=True, type=click.Choice([*SPLITS, EVERY]), help="of the questions"
)


def _tasks(context, parameter, values):
    """`[(name, data or None)]` of `NAME[=DATA]`, comma-separated or repeated."""
    asked = [part.strip().partition("=") for value in values or TASKS[:1] for part in ANOTHER.split(value)]
    for name, _, _ in asked:
        click.Choice(TASKS).convert(name, parameter, context)
    names = [name for name, _, _ in asked]
    if len(set(names)) < len(names):
        raise click.BadParameter(f"{', '.join(names)}: a task can be given once; ask for other data in another command")
    return [(name, source or None) for name, _, source in asked]


def _metrics(default):
    def chosen(context, parameter, values):
        names = tuple(dict.fromkeys(split_names(",".join(values)))) or default
        for name in names:
            if not METRIC_FORM.fullmatch(name):
                raise click.BadParameter(
                    f"expected p@k, mrr@k, ndcg@k, map or r@nkt, such as p@1 or r@2kt, got {name!r}"
                )
        return names

    return chosen


def metrics_option(default):
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


def _require_use(tasks, needs=NEEDS):
    """Raise `InputError` for an option that is given and that none of the tasks takes."""
    context = click.get_current_context()
    for name, takers in needs.items():
        given = context.get_parameter_source(name) is ParameterSource.COMMANDLINE
        if given and not set(takers) & dict(tasks).keys():
            flag = next(option.opts[0] for option in context.command.params if option.name == name)
            raise InputError(f"{flag} is of the task {' and '.join(takers)}, which is not asked for; leave it out")


@click.command()
@click.argument("models", nargs=-1, required=True)
@task_option
@settings_options("", "data")
@split_option
@units_option
@metrics_option(("p@1", "p@5", "p@10", "mrr@10"))
@corpus_option("text by language that LIR is fitted on in lareqa, as lir fit takes it [default: the pool's sentences]")
@document_option
@click.option(
    "--translations",
    help="also with the questions of other languages than the documents' as FILE has them in that language, "
    '{"id", "text"} lines or a .tsv; or "parallel": as the data itself has them',
)
@translator_option("also with these questions")
@beam_option
@json_option
@click.option("--report", type=click.Path(dir_okay=False), callback=writable, help="also a page of lareqa and bitext")
def evaluate(
    models,
    tasks,
    split,
    units,
    metrics,
    corpus,
    document_model,
    translations,
    translators,
    beam,
    json_path,
    report,
    **values,
):
    """How good MODELS are, by language, on one or more tasks.

    retrieval: documents, passages and documents as their best passage, by --metric. r@2kt, r@5kt: an answer within the
    first 2,000 or 5,000 words of the passages. lareqa: sentences of all languages in one pool (XQuAD-R, MLQA-R), with
    what tells of language bias, and with language information removed. bitext: translations in a folder of {lang}.txt
    or a .tsv. With --translations or --translator each encoder has a second row, "MODEL, translated".
    """
    from ..catalog.loading import load_teacher, with_documents
    from ..data.corpus import read_corpus
    from ..evaluation.measures import measure_all
    from ..evaluation.tasks import load_tasks
    from ..evaluation.translation import translation_of
    from ..report.bias_tables import print_measures
    from ..system.files import write_json

    _require_use(tasks, {**NEEDS, "report": ("lareqa", "bitext")})
    settings, samples = settings_from(values), read_corpus(corpus)
    loaded = load_tasks(tasks, settings, split, units, metrics)
    named = (", ".join(Path(path).name for path in corpus), samples) if samples else None
    translation = translation_of(translations, translators, beam)

    def load(model):
        return with_documents(load_teacher(model), document_model)

    found = measure_all(models, loaded, settings, metrics, load, named, translation)
    print_measures(found)
    if json_path:
        write_json(json_path, found)
    if report:
        from ..report.run_page import write_evaluation

        write_evaluation(report, found.get("lareqa"), found.get("bitext"))


@click.command()
@click.argument("a")
@click.argument("b")
@task_option
@settings_options("", "data")
@split_option
@units_option
@metrics_option(METRICS)
@click.option(
    "--draws",
    type=click.IntRange(1000, 10**6),
    default=10_000,
    show_default=True,
    help="of a sign-flip test and of an interval",
)
@click.option("--any-dimension", is_flag=True, help="compare encoders of different dimensions too")
@document_option
@json_option
def compare(a, b, tasks, split, units, metrics, draws, any_dimension, document_model, json_path, **values):
    """Encoder A against B, question by question: by language and over all, Holm-corrected over languages and tasks.

    McNemar's test for p@1 within a language, else random signs by question; differences and effect sizes with 95 %
    intervals; and the smallest difference that the test set would have shown in 80 of 100 cases.
    """
    from ..catalog.loading import load_teacher, with_documents
    from ..evaluation.measures import compare_all, require_one_dimension
    from ..evaluation.paired import require_draws
    from ..evaluation.tasks import load_tasks
    from ..report.score_tables import print_scores
    from ..system.files import write_json

    _require_use(tasks, {key: NEEDS[key] for key in ("units", "split")})
    settings = settings_from(values)
    loaded = load_tasks(tasks, settings, split, units, metrics)
    require_draws(draws, sum(task.tests for task in loaded))
    encoders = {name: with_documents(load_teacher(name), document_model) for name in (a, b)}
    if not any_dimension:
        require_one_dimension(encoders)
    found = compare_all((a, b), encoders, loaded, metrics, draws, settings.seed)
    for metric, rows in found.items():
        print_scores(a, b, split, metric, rows)
    if json_path:
        write_json(json_path, {"a": a, "b": b, "split": split, "metrics": found})
