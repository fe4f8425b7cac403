"""What an encoder is measured on, by name: retrieval, lareqa, bitext. Each gives a score for every question."""

from dataclasses import dataclass, replace

import numpy as np

from ..data.bitext import Bitext, load_bitext
from ..data.dataset import Dataset
from ..data.loading import chosen_data
from ..data.pool import Pool
from ..data.pool_readers import load_pool
from ..encoders.health import require_finite
from ..errors import InputError
from ..retrieval.exact import unit_ranks
from ..retrieval.metrics import precision_at, question_scores
from ..settings.choices import EVERY, UNITS
from .bias.lareqa import encode_pool, rank_pool
from .evaluate import evaluate, evaluation_size, needed_units
from .translation import translated, translated_pool

RECALL = "r@"


@dataclass(frozen=True)
class RetrievalTask:
    """Documents, passages and MaxP of a `Dataset`."""

    dataset: Dataset
    languages: tuple
    split: str
    units: tuple
    recalls: tuple = ()
    name = "retrieval"

    @property
    def size(self):
        """How many texts `measure` encodes."""
        return evaluation_size(self.dataset, [self.split], self.languages, needed_units(self.units, self.recalls))

    @property
    def tests(self):
        """How many comparisons of two encoders a metric makes, those of all languages apart."""
        return len(self.units) * len(self.languages)

    def measure(self, encoder, progress=None):
        """An `Evaluation`."""
        return evaluate(encoder, self.dataset, self.split, self.languages, self.units, progress, self.recalls)

    def translated(self, translation, pivot):
        """The task with translated questions, and what `translation.translated` says of them."""
        dataset, done = translated(self.dataset, translation, self.split, self.languages)
        return replace(self, dataset=dataset), done

    def scores(self, found, metric):
        """`{unit: {language: (ids, (q,))}}`."""
        if metric.startswith(RECALL):
            return {"passage": found.recall[metric]}
        ids = {language: [q.id for q in self.dataset.select(language, self.split)] for language in self.languages}
        return {
            unit: {language: (ids[language], question_scores(ranks, metric)) for language, ranks in by_language.items()}
            for unit, by_language in found.ranks.items()
        }


@dataclass(frozen=True)
class LareqaTask:
    """Sentences of many languages in one `Pool`."""

    pool: Pool
    split: str
    source: str = ""
    name = "lareqa"

    @property
    def size(self):
        return len(self.pool.questions) + len(self.pool.sentences)

    @property
    def tests(self):
        return len(self.pool.languages)

    def measure(self, encoder, progress=None):
        """A `Lareqa`."""
        asked, given = encode_pool(encoder, self.pool, progress)
        return rank_pool(asked, given, self.pool)

    def translated(self, translation, pivot):
        """The task in the language `pivot`, and what `translation.translated_pool` says of it."""
        pool, done = translated_pool(self.pool, translation, pivot)
        return replace(self, pool=pool), done

    def scores(self, found, metric):
        """`{"lareqa": {question language: (ids, (q,))}}`."""
        values, ids = found.scores(metric), np.array(self.pool.ids)
        rows = {language: self.pool.asked_in == number for number, language in enumerate(self.pool.languages)}
        return {self.name: {language: (ids[of].tolist(), values[of]) for language, of in rows.items()}}


@dataclass(frozen=True)
class BitextTask:
    """Translations of the sentences of a `Bitext`, in both directions."""

    bitext: Bitext
    source: str = ""
    name = "bitext"

    @property
    def size(self):
        return self.bitext.size * len(self.bitext.sentences)

    @property
    def tests(self):
        return 2 * len(self.bitext.languages)

    def measure(self, encoder, progress=None):
        """The ranks that `bitext.retrieve` gives."""
        return retrieve(encoder, self.bitext, progress)

    def scores(self, found, metric):
        """`{"bitext to en, its name": {language: (line numbers, (n,))}, "bitext from en, …": …}`."""
        ids = [str(number) for number in range(1, self.bitext.size + 1)]
        return {
            f"{self.name} {way} {self.bitext.pivot}, {self.bitext.name}": {
                language: (ids, question_scores(ranks, metric)) for language, ranks in by_language.items()
            }
            for way, by_language in found.items()
        }


def load_tasks(asked, settings, split, units=(), metrics=()):
    """The tasks of `[(name, data or None)]`; without data of its own a task takes the settings' data set.

    Raises `InputError` for data that a task cannot take and for metrics that it does not have.
    """
    recalls = tuple(metric for metric in metrics if metric.startswith(RECALL))
    if recalls and RetrievalTask.name not in dict(asked):
        raise InputError(f"{recalls[0]} counts the words of passages: it is of the task {RetrievalTask.name} alone")
    return [LOADERS[name](settings, source or settings.data.dataset, split, units, recalls) for name, source in asked]


def _retrieval(settings, source, split, units, recalls):
    dataset, languages = chosen_data(replace(settings, data=replace(settings.data, dataset=source)))
    if split == EVERY:
        dataset.splits[EVERY] = tuple(dict.fromkeys(id for known in dataset.questions.values() for id in known))
    if split not in dataset.splits:
        known = ", ".join([*dataset.splits, EVERY])
        raise InputError(f"the data set {dataset.name} has no split {split}; it has {known}")
    return RetrievalTask(dataset, tuple(languages), split, tuple(dict.fromkeys(units)) or UNITS, recalls)


def _lareqa(settings, source, split, units, recalls):
    data = settings.data
    pool = load_pool(source, data.languages, split, data.document_language, data.split_by, settings.seed)
    return LareqaTask(pool, split, source)


def _bitext(settings, source, split, units, recalls):
    bitext = load_bitext(source, settings.data.languages, settings.data.document_language)
    return BitextTask(bitext, source)


LOADERS = {"retrieval": _retrieval, "lareqa": _lareqa, "bitext": _bitext}


def paired(task, first, second, metric):
    """`{part of the task: {language: (ids, a, b)}}` of two encoders' measures: what `compare_scores` takes."""
    if metric.startswith(RECALL) and task.name != RetrievalTask.name:
        return {}
    a, b = task.scores(first, metric), task.scores(second, metric)
    return {
        part: {language: (ids, values, b[part][language][1]) for language, (ids, values) in by_language.items()}
        for part, by_language in a.items()
    }


def retrieve(encoder, bitext, progress=None):
    """`{"to": {language: int (n,)}, "from": …}`: the rank of each sentence's translation among all, ties against it.

    `to`: from a language to the pivot; `from`: from the pivot to it. Raises `EncoderError` for vectors that are no
    numbers.
    """
    vectors = {
        language: require_finite(encoder.encode(lines, "question", progress), encoder)
        for language, lines in bitext.sentences.items()
    }
    pivot, right = vectors.pop(bitext.pivot), np.arange(bitext.size)
    return {
        "to": {language: unit_ranks(found, pivot, right, right, "passage") for language, found in vectors.items()},
        "from": {language: unit_ranks(pivot, found, right, right, "passage") for language, found in vectors.items()},
    }


def accuracies(ranks):
    """`{language: {"to": share of translations found first, "from": …}}` of what `retrieve` gives."""
    return {
        language: {way: precision_at(found[language], 1) for way, found in ranks.items()} for language in ranks["to"]
    }
