"""The task retrieval: documents and passages of a data set, scored in one way or more, by language."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace

from ...data.dataset import Dataset, checked
from ...data.loading import chosen_data
from ...encoders.encoder import Encoder
from ...errors import InputError
from ...report.score_tables import print_evaluations
from ...retrieval.metrics import question_scores
from ...settings.choices import EVERY, UNITS
from ...settings.units import named_units
from ...system.types import Json, Progress
from ...typed.kinds import require_kinds
from ..evaluate import Evaluation, Typed, evaluate, evaluation_size, needed_units, typed_size
from ..translation import Translated, Translation, translated
from .task import ANSWERS, RECALL, Scores, Task, TaskOptions


@dataclass(frozen=True)
class RetrievalTask(Task[Evaluation, Evaluation]):
    """The `units` of a `Dataset`, by `metrics` of ranks and of recall by tokens.

    With questions as people type them, of the kinds `typed`, drawn by `seed`.
    """

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
        """As `Task.load`; the split `all` has every question, and of a data set's own no other need have any."""
        dataset, languages = cls.read(source, options)
        units, typed, seed = chosen_units(options), options.typed, options.seed
        require_kinds(languages, typed)
        return cls(dataset, languages, options.split, units, options.metrics, typed, seed)

    @staticmethod
    def read(source: str, options: TaskOptions) -> tuple[Dataset, tuple[str, ...]]:
        """The data set with the split that is asked for, and its languages. Raises `InputError` for another split."""
        data = replace(options.data, dataset=source)
        dataset, languages = chosen_data(data, options.seed, to_train=False)
        every = dict.fromkeys(id for questions in dataset.questions.values() for id in questions)
        splits = {**dataset.splits, EVERY: tuple(every)}
        if options.split not in splits:
            raise InputError(f"the data set {dataset.name} has no split {options.split}; it has {', '.join(splits)}")
        return checked(replace(dataset, splits=splits), [options.split]), tuple(languages)

    @classmethod
    def has(cls, metric: str) -> bool:
        """True of all metrics but those of answers."""
        return metric not in ANSWERS

    @property
    def recalls(self) -> tuple[str, ...]:
        """The metrics that count the words of passages."""
        return tuple(metric for metric in self.metrics if metric.startswith(RECALL))

    @property
    def ranked(self) -> tuple[str, ...]:
        """The metrics of ranks."""
        return tuple(metric for metric in self.metrics if not metric.startswith(RECALL))

    @property
    def size(self) -> int:
        """As `Task.size`."""
        clean = evaluation_size(self.dataset, [self.split], self.languages, needed_units(self.units, self.recalls))
        return clean + typed_size(self.dataset, self.split, self.languages, self.typed)

    @property
    def tests(self) -> int:
        """As `Task.tests`."""
        return len(self.units) * len(self.languages)

    def measure(self, encoder: Encoder, progress: Progress | None = None) -> Evaluation:
        """The ranks of every unit, of questions as they are and as typed, and recall by tokens."""
        recalls, typed = self.recalls, Typed(self.typed, self.seed)
        return evaluate(encoder, self.dataset, self.split, self.languages, self.units, progress, recalls, typed)

    def scores(self, result: Evaluation, metric: str) -> Scores:
        """By unit; recall by tokens is of the unit passage."""
        if metric.startswith(RECALL):
            return {"passage": result.recall[metric]}
        ids = {language: [q.id for q in self.dataset.select(language, self.split)] for language in self.languages}
        return {
            unit: {language: (ids[language], question_scores(ranks, metric)) for language, ranks in by_language.items()}
            for unit, by_language in result.ranks.items()
        }

    def figures(self, result: Evaluation, encoder: str) -> Evaluation:
        """The evaluation, of which each metric is a mean."""
        return result

    def as_dict(self, encoders: Mapping[str, Evaluation]) -> dict[str, Json]:
        """As `Task.as_dict`."""
        rows: dict[str, Json] = {
            name: {
                "units": evaluation.table(self.ranked),
                "recall": evaluation.recalls(),
                **({"languages": evaluation.spoken} if evaluation.spoken else {}),
                **({"typed": evaluation.typed_table(self.ranked)} if evaluation.typed else {}),
            }
            for name, evaluation in encoders.items()
        }
        files: dict[str, Json] = dict(self.dataset.files)
        return {"name": self.dataset.name, "split": self.split, "encoders": rows, "files": files}

    def print(self, encoders: Mapping[str, Evaluation]) -> None:
        """Print a table a unit."""
        print_evaluations(encoders, self.split, self.ranked)

    def translated(self, translation: Translation, pivot: str) -> tuple[RetrievalTask, Translated]:
        """As `Task.translated`; raises what `translation.translated` raises."""
        dataset, done = translated(self.dataset, translation, self.split, self.languages)
        return replace(self, dataset=dataset), done


def chosen_units(options: TaskOptions) -> tuple[str, ...]:
    """The units that are named by --unit, or by what is ranked and its score. Raises `InputError` for both."""
    named = named_units(options.ranked, options.score)
    if named and options.units:
        raise InputError("--unit names what is ranked and its score at once; leave it, or --ranked and --score, out")
    return named or tuple(dict.fromkeys(options.units)) or UNITS


TASK = RetrievalTask
