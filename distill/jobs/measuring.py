"""Measure and compare encoders on tasks, by the names that a user gives: `distill evaluate`, `distill compare`."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

from ..data.corpus import read_corpus
from ..encoders.catalog.loading import combine_encoders, load_teacher
from ..encoders.removal_fitting import Samples
from ..errors import InputError
from ..evaluation.bm25 import Bm25
from ..evaluation.paired_comparison import Comparisons, require_draws
from ..evaluation.tasks.measures import TaskFigures, compare_all, measure_all, measure_both, require_one_dimension
from ..evaluation.tasks.task import judging_metrics, load_tasks
from ..settings.choices import BM25, COMPARED_UNIT, TASKS
from ..system.types import File

if TYPE_CHECKING:
    from ..evaluation.tasks.retrieval import RetrievalTask
    from ..evaluation.tasks.task import Task, TaskOptions
    from ..evaluation.translation import TranslationSource

# The name of a task, and data of its own or None.
Named = tuple[str, str | None]
RETRIEVAL: Named = (TASKS[0], None)


def measure_models(
    models: Sequence[str],
    options: TaskOptions,
    tasks: Sequence[Named] = (RETRIEVAL,),
    document_model: str | None = None,
    translation: TranslationSource | None = None,
    trec: File | None = None,
    outcomes: bool = False,
) -> list[TaskFigures]:
    """Measure encoders on tasks.

    Args:
        models: The names of the encoders; for retrieval also `bm25` and `bm25-morphology`.
        options: The data set, the split, the metrics and other options of the tasks.
        tasks: Names of `choices.TASKS`, each with data of its own or None.
        document_model: The encoder of the documents, in the same space; None for the same encoder.
        translation: If given, each encoder is measured again with translated questions.
        trec: The folder for retrieval's rankings as TREC's run files, with their qrels.
        outcomes: If True, the figures have each question's scores too.

    Returns:
        The figures of each task.

    Raises:
        InputError: If a task or a metric does not suit the data or BM25.
        EncoderError: If a name is not that of an encoder.
        DataError: If data cannot be read. The message names file and place.

    Example:
        >>> import distill
        >>> data = distill.Settings().data
        >>> data.languages = ("en",)
        >>> options = distill.TaskOptions(data, metrics=("p@1",), units=("document",))
        >>> [measured] = distill.measure_models(["bm25"], options)
        >>> list(measured.encoders)
        ['bm25']
    """
    loaded = load_tasks(tasks, options)
    ranked = _find_retrieval(loaded, "trec") if trec else None
    load = cache(_make_loader(models, document_model, tasks))
    measured = measure_all(models, loaded, load, translation, options.data.document_language, outcomes)
    if trec and ranked:
        from ..evaluation.tasks.trec import write_trec

        write_trec(trec, ranked, {model: load(model) for model in models})
    return measured


def compare_models(
    models: tuple[str, str],
    options: TaskOptions,
    tasks: Sequence[Named] = (RETRIEVAL,),
    document_model: str | None = None,
    draws: int = 10_000,
    any_dimension: bool = False,
    differences: File | None = None,
) -> dict[str, Comparisons]:
    """Compare two encoders question by question, with Holm's correction over languages and tasks.

    Args:
        models: The names of the two encoders.
        options: The data set, the split, the metrics and units to compare by, and the seed. Without metrics each task
            is judged by its own, and without units documents are.
        tasks: Names of `choices.TASKS`, each with data of its own or None.
        document_model: The encoder of the documents, in the same space; None for the same encoder.
        draws: The number of draws of a sign-flip test and of a confidence interval.
        any_dimension: If True, encoders of different dimensions are compared too.
        differences: The file for the retrieval questions that only one of the two answers, as JSON Lines.

    Returns:
        The results of `evaluation.paired_comparison.compare_scores` by metric.

    Raises:
        InputError: If there are too few draws, or if a task or a metric does not suit the data.
        EncoderError: If a name is not that of an encoder, or if the dimensions differ.
        DataError: If data cannot be read. The message names file and place.

    Example:
        >>> import distill
        >>> data = distill.Settings().data
        >>> data.languages = ("de",)
        >>> options = distill.TaskOptions(data, metrics=("p@1",), units=("document",))
        >>> compared = distill.compare_models(("multi12-static", "bm25"), options, draws=1000, any_dimension=True)
        >>> german = compared["p@1"]["document"]["de"]
        >>> german.a > german.b
        True
    """
    load, options = _make_loader(models, document_model, tasks), _with_defaults(options, tasks)
    loaded = load_tasks(tasks, options)
    ranked = _find_retrieval(loaded, "differences") if differences else None
    require_draws(draws, sum(task.tests for task in loaded))
    encoders = {name: load(name) for name in models}
    if not any_dimension:
        require_one_dimension(encoders)
    results = measure_both(models, encoders, loaded)
    compared = compare_all(models, results, options.metrics, draws, options.seed)
    if differences and ranked:
        from ..evaluation.tasks.measures import write_differences

        [of] = [one for one in results if one.task is ranked]
        write_differences(differences, ranked, (encoders[models[0]], encoders[models[1]]), (of.a, of.b))
    return compared


def _with_defaults(options, tasks):
    units = options.units if options.ranked or options.score else options.units or (COMPARED_UNIT,)
    return replace(options, units=units, metrics=options.metrics or judging_metrics(dict(tasks)))


def read_samples(corpus: Sequence[File]) -> Samples | None:
    """Read the texts by language on which language information removal is fitted; return None without files."""
    texts = read_corpus(corpus)
    return Samples(", ".join(Path(path).name for path in corpus), texts) if texts else None


def _make_loader(models, document_model, tasks):
    """Return a function that loads encoders, or BM25 by its name for tasks that need no vectors."""
    words = [model for model in models if model in BM25]
    others = [task for task, _ in tasks if task != TASKS[0]]
    if words and (others or document_model):
        what = "--document-model" if document_model else f"the task {others[0]}"
        raise InputError(f"{words[0]} compares words, and {what} is of vectors; leave one of them out")
    return lambda model: Bm25(model) if model in BM25 else combine_encoders(load_teacher(model), document_model)


def _find_retrieval(tasks: Sequence[Task], what: str) -> RetrievalTask:
    """Return the task whose rankings are written; raise `InputError` if it is not among those that are measured."""
    from ..evaluation.tasks.retrieval import RetrievalTask

    for task in tasks:
        if isinstance(task, RetrievalTask):
            return task
    raise InputError(f"{what} is of the task {TASKS[0]}, which is not asked for; leave it out")
