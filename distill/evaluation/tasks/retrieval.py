"""The task retrieval: documents and passages of a data set, ranked by one score or more, in each language."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

from ...data.dataset import Dataset, require_questions
from ...data.loading import choose_data
from ...encoders.encoder import Encoder
from ...errors import InputError
from ...report.score_tables import print_evaluations
from ...retrieval.metrics import question_scores
from ...settings.choices import EVALUATED_UNITS, EVERY, UNITS, combine_units
from ...system.types import Json, Progress
from ...vocabulary.typed.kinds import require_kinds
from ..evaluate import Evaluation, QueryNoise, count_noisy_questions, count_texts, evaluate, units_to_encode
from ..translation import TranslationCounts, TranslationSource, translate_questions
from .task import ANSWER_METRICS, RECALL, Scores, Task, TaskOptions


@dataclass(frozen=True)
class RetrievalTask(Task[Evaluation, Evaluation]):
    """The documents or passages of a data set. `typed` are kinds of noise in which the questions are measured too."""

    dataset: Dataset
    languages: tuple[str, ...]
    split: str
    units: tuple[str, ...] = UNITS
    metrics: tuple[str, ...] = ()
    typed: tuple[str, ...] = ()
    seed: int = 0
    name = "retrieval"
    takes = (
        *("units", "evaluation__ranked", "evaluation__score", "metrics", "split"),
        *("translations", "translators", "typed", "differences", "trec"),
    )

    @classmethod
    def load(cls, source: str, options: TaskOptions) -> RetrievalTask:
        """Load a data set; its split "all" has every question.

        Raises `InputError` if the data cannot be used, or it has no such split.
        """
        dataset, languages = cls.read(source, options)
        units, typed, seed = choose_units(options), options.typed, options.seed
        require_kinds(languages, typed)
        return cls(dataset, languages, options.split, units, options.metrics, typed, seed)

    @staticmethod
    def read(source: str, options: TaskOptions) -> tuple[Dataset, tuple[str, ...]]:
        """Return a data set with the requested split, and its languages."""
        data = replace(options.data, dataset=source)
        dataset, languages = choose_data(data, options.seed, to_train=False)
        every = dict.fromkeys(id for questions in dataset.questions.values() for id in questions)
        splits = {**dataset.splits, EVERY: tuple(every)}
        if options.split not in splits:
            raise InputError(f"the data set {dataset.name} has no split {options.split}; it has {', '.join(splits)}")
        return require_questions(replace(dataset, splits=splits), [options.split], languages), tuple(languages)

    @classmethod
    def has(cls, metric: str) -> bool:
        """Return True for all metrics except those of answers."""
        return metric not in ANSWER_METRICS

    @property
    def recalls(self) -> tuple[str, ...]:
        return tuple(metric for metric in self.metrics if metric.startswith(RECALL))

    @property
    def ranked(self) -> tuple[str, ...]:
        return tuple(metric for metric in self.metrics if not metric.startswith(RECALL))

    @property
    def size(self) -> int:
        clean = count_texts(self.dataset, [self.split], self.languages, units_to_encode(self.units, self.recalls))
        return clean + count_noisy_questions(self.dataset, self.split, self.languages, self.typed)

    @property
    def tests(self) -> int:
        return len(self.units) * len(self.languages)

    def measure(self, encoder: Encoder, progress: Progress | None = None) -> Evaluation:
        """Return the ranks of every unit, for clean and for noisy questions, and recall by tokens."""
        recalls, typed = self.recalls, QueryNoise(self.typed, self.seed)
        return evaluate(encoder, self.dataset, self.split, self.languages, self.units, progress, recalls, typed)

    def scores(self, result: Evaluation, metric: str) -> Scores:
        """Return the score of each question, by unit: `{unit: {language: (ids, scores)}}`."""
        if metric.startswith(RECALL):
            return {"passage": result.recall[metric]}
        ids = {language: [q.id for q in self.dataset.select(language, self.split)] for language in self.languages}
        return {
            unit: {language: (ids[language], question_scores(ranks, metric)) for language, ranks in by_language.items()}
            for unit, by_language in result.ranks.items()
        }

    def outcomes(self, result: Evaluation) -> dict[str, Scores]:
        """Return the scores of each question by each of the metrics."""
        return {metric: self.scores(result, metric) for metric in self.metrics}

    def figures(self, result: Evaluation, encoder: str) -> Evaluation:
        """Return the evaluation itself, of which each metric is a mean."""
        return result

    def as_dict(self, encoders: Mapping[str, Evaluation]) -> dict[str, Json]:
        rows: dict[str, Json] = {
            name: {
                "units": evaluation.table(self.ranked),
                "recall": evaluation.recalls(),
                **({"languages": evaluation.spoken} if evaluation.spoken else {}),
                **({"typed": evaluation.noisy_table(self.ranked)} if evaluation.typed else {}),
            }
            for name, evaluation in encoders.items()
        }
        files: dict[str, Json] = dict(self.dataset.files)
        return {"name": self.dataset.name, "split": self.split, "encoders": rows, "files": files}

    def print(self, encoders: Mapping[str, Evaluation]) -> None:
        """Print one table per unit."""
        print_evaluations(encoders, self.split, self.ranked)

    def with_translations(self, translation: TranslationSource, pivot: str) -> tuple[RetrievalTask, TranslationCounts]:
        """Return the task with translated questions, and counts of what was translated."""
        dataset, done = translate_questions(self.dataset, translation, self.split, self.languages)
        return replace(self, dataset=dataset), done


def choose_units(options: TaskOptions, default: tuple[str, ...] = EVALUATED_UNITS) -> tuple[str, ...]:
    """Return the units named by --unit, or by --ranked and --score; raise `InputError` if both are given."""
    named = combine_units(options.ranked, options.score)
    if named and options.units:
        raise InputError(
            "--unit names what is ranked and its score at once; leave out either --unit or --ranked and --score"
        )
    return named or tuple(dict.fromkeys(options.units)) or default


TASK = RetrievalTask
