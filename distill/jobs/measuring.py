"""`distill evaluate` and `distill compare` as functions: encoders, by what a user calls them, on tasks."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING

from ..catalog.loading import combine_encoders, load_teacher
from ..data.corpus import read_corpus
from ..encoders.encoder import Encoder
from ..errors import InputError
from ..evaluation.bias.analyses import Samples
from ..evaluation.bm25 import Bm25
from ..evaluation.paired import Comparisons, require_draws
from ..evaluation.tasks.measures import TaskFigures, compare_all, measure_all, measure_both, require_one_dimension
from ..evaluation.tasks.registry import load_tasks
from ..settings.choices import BM25, TASKS
from ..system.types import File

if TYPE_CHECKING:
    from ..evaluation.tasks.measures import ResultPair
    from ..evaluation.tasks.task import Task, TaskOptions
    from ..evaluation.translation import TranslationSource

# Of a task its name, and data of its own or None.
Named = tuple[str, str | None]
RETRIEVAL: Named = (TASKS[0], None)


def measure_models(
    models: Sequence[str],
    options: TaskOptions,
    tasks: Sequence[Named] = (RETRIEVAL,),
    document_model: str | None = None,
    translation: TranslationSource | None = None,
    trec: File | None = None,
) -> list[TaskFigures]:
    """Measure encoders on tasks.

    Args:
        models: what names the encoders, or `bm25` and `bm25-morphology` in retrieval.
        options: the data set, the split, metrics and what else the tasks take.
        tasks: names of `choices.TASKS`, each with data of its own or None.
        document_model: the encoder of the documents, of the same space; None for the same.
        translation: measures each encoder again with translated questions.
        trec: the folder for retrieval's rankings as TREC's run files, and its qrels.

    Returns:
        The figures by task.

    Raises:
        InputError: for a task or a metric that does not go with the data or with BM25.
        EncoderError: for what names no encoder.
        DataError: naming file and place of what cannot be read.
    """
    loaded = load_tasks(tasks, options)
    load = cache(_loader(models, document_model, tasks))
    measured = measure_all(models, loaded, load, translation, options.data.document_language)
    if trec:
        _write_trec(trec, loaded, {model: load(model) for model in models})
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
    """Compare two encoders question by question, Holm-corrected over languages and tasks.

    Args:
        models: what names the two encoders.
        options: the data set, the split, the metrics that are compared, and the seed.
        tasks: names of `choices.TASKS`, each with data of its own or None.
        document_model: the encoder of the documents, of the same space; None for the same.
        draws: of a sign-flip test and of an interval.
        any_dimension: encoders of different dimensions are compared too.
        differences: the file for the questions of retrieval that one of both alone finds, as JSON Lines.

    Returns:
        What `evaluation.paired.compare_scores` gives, by metric.

    Raises:
        InputError: for too few draws, or for a task or a metric that does not go with the data.
        EncoderError: for what names no encoder, and for encoders of different dimensions.
        DataError: naming file and place of what cannot be read.
    """
    load = _loader(models, document_model, tasks)
    loaded = load_tasks(tasks, options)
    require_draws(draws, sum(task.tests for task in loaded))
    encoders = {name: load(name) for name in models}
    if not any_dimension:
        require_one_dimension(encoders)
    results = measure_both(models, encoders, loaded)
    compared = compare_all(models, results, options.metrics, draws, options.seed)
    if differences:
        _write_differences(differences, results, encoders, models)
    return compared


def read_samples(corpus: Sequence[File]) -> Samples | None:
    """Return the texts by language that language information removal is fitted on; None without files."""
    texts = read_corpus(corpus)
    return Samples(", ".join(Path(path).name for path in corpus), texts) if texts else None


def _loader(models, document_model, tasks):
    """`load(model)` of encoders, or of BM25 by its name. Raises `InputError` where that is given more than words."""
    words = [model for model in models if model in BM25]
    others = [task for task, _ in tasks if task != TASKS[0]]
    if words and (others or document_model):
        what = "--document-model" if document_model else f"the task {others[0]}"
        raise InputError(f"{words[0]} compares words, and {what} is of vectors; leave one of them out")
    return lambda model: Bm25(model) if model in BM25 else combine_encoders(load_teacher(model), document_model)


def _write_trec(folder: File, tasks: Sequence[Task], encoders: Mapping[str, Encoder | Bm25]) -> None:
    from ..evaluation.tasks.retrieval import RetrievalTask
    from ..evaluation.tasks.trec import write_trec

    [task] = [one for one in tasks if isinstance(one, RetrievalTask)]
    write_trec(folder, task, encoders)


def _write_differences(
    path: File, results: Sequence[ResultPair], encoders: Mapping[str, Encoder], models: tuple[str, str]
) -> None:
    from ..evaluation.tasks.differences import write_differences
    from ..evaluation.tasks.retrieval import RetrievalTask

    [(task, of)] = [(one.task, one) for one in results if isinstance(one.task, RetrievalTask)]
    write_differences(path, task, (encoders[models[0]], encoders[models[1]]), (of.a, of.b))
