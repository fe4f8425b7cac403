"""The task reading: a reader reads the first passage that an encoder ranks, and the passage that answers.

CL-ReLKT, section 5.1 and Table 2: passages or whole documents are retrieved and read by the same reader.
"""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import numpy as np

from ...data.dataset import Dataset, Question
from ...encoders.encoder import Encoder, passage_weight_of
from ...errors import InputError
from ...evaluation.evaluate import count_texts, encode_questions, encode_units
from ...evaluation.tasks.retrieval import RetrievalTask, choose_units
from ...evaluation.tasks.task import ANSWER_METRICS, Scores, Task, TaskOptions
from ...report.score_tables import print_reading
from ...retrieval.units import first_units
from ...settings.choices import UNITS
from ...system.types import Doubles, Floats, Integers, Json, Progress
from ..reading.examples import Example, Text, gold_examples, passage_texts
from ..reading.load_reader import load_reader

if TYPE_CHECKING:
    from ..reading.reader import Reader

# Two more parts: the passage that answers is read, and its sentence nearest to the question is taken as the answer.
GOLD, SENTENCE = "gold", "gold, best sentence"


@dataclass(frozen=True)
class ReadingScores:
    """Exact match and F1 of questions. `em` and `f1` are float arrays `(q,)` in [0, 1]."""

    ids: list[str]
    em: Doubles
    f1: Doubles

    @property
    def means(self) -> dict[str, float]:
        """Return the mean exact match and the mean F1."""
        return {"em": float(self.em.mean()), "f1": float(self.f1.mean())}


@dataclass(frozen=True)
class ReadingResult:
    """An encoder's result.

    Attributes:
        read: `{part: {language: scores}}`.
        milliseconds: Time of the reader alone, per question.
    """

    read: dict[str, dict[str, ReadingScores]]
    milliseconds: float


@dataclass(frozen=True)
class ReadingTask(Task[ReadingResult, ReadingResult]):
    """The questions of a data set that have answers, each read in the first text of a unit."""

    dataset: Dataset
    languages: tuple[str, ...]
    split: str
    units: tuple[str, ...]
    reader: Reader
    # The gold passages are read only once, for all encoders.
    kept: dict[str, dict[str, ReadingScores]] = field(default_factory=dict)
    name = "reading"
    judged_by = "f1"
    takes = ("units", "evaluation__ranked", "evaluation__score", "split", "reader", "metrics")

    @classmethod
    def load(cls, source: str, options: TaskOptions) -> ReadingTask:
        if not options.reader:
            raise InputError("the task reading needs a reader; give --reader FOLDER of distill read train, or hf:NAME")
        dataset, languages = RetrievalTask.read(source, options)
        examples = gold_examples(dataset, options.split, languages)
        if without := [language for language, rows in examples.items() if not rows]:
            raise InputError(f"{dataset.name}: no question in {', '.join(without)} has an answer to compare with")
        units = choose_units(options, UNITS)
        if "maxp" in units and units != UNITS:
            raise InputError(
                "the task reading reads documents or passages, but maxp ranks documents by their passages; "
                "choose another unit"
            )
        units = tuple(unit for unit in units if unit != "maxp")
        return cls(dataset, languages, options.split, units, load_reader(options.reader))

    @classmethod
    def has(cls, metric: str) -> bool:
        """Return True for exact match and F1."""
        return metric in ANSWER_METRICS

    @property
    def size(self) -> int:
        """Return the number of texts that `measure` encodes, plus the questions once for each unit that is read."""
        return count_texts(self.dataset, [self.split], self.languages, (*self.units, "passage-sentence"))

    @property
    def tests(self) -> int:
        return (len(self.units) + 2) * len(self.languages)

    def measure(self, encoder: Encoder, progress: Progress | None = None) -> ReadingResult:
        """Rank the texts of each unit for each question, and read the first.

        Raises `EncoderError` if vectors hold NaN or infinity.
        """
        units = (*self.units, "passage-sentence")
        vectors = encode_units(encoder, self.dataset, units, progress)
        questions = encode_questions(encoder, self.dataset, self.split, self.languages, progress)
        gold = gold_examples(self.dataset, self.split, self.languages)
        whole_of, weight = self.dataset.whole_of(tuple(vectors)), passage_weight_of(encoder)
        if not self.kept:
            self.kept.update({GOLD: {name: self._read(rows)[0] for name, rows in gold.items()}})
        parts: dict[str, dict[str, ReadingScores]] = {}
        seconds, count = 0.0, 0
        for unit in self.units:
            parts[unit] = {}
            for language in self.languages:
                first = first_units(unit, questions[language], vectors, whole_of, weight=weight)
                examples = self._find_examples(unit, language, gold[language], first)
                parts[unit][language], took = self._read(examples)
                seconds, count = seconds + took, count + len(examples)
        sentences = {name: self._sentences(gold[name], questions[name], vectors) for name in self.languages}
        return ReadingResult({**parts, **self.kept, SENTENCE: sentences}, 1000 * seconds / max(count, 1))

    def _find_examples(self, unit: str, language: str, gold: Sequence[Example], first: Integers) -> list[Example]:
        """Return the gold examples, each with the text that is ranked first in place of its passage."""
        rows = self.dataset.select(language, self.split)
        places = {question.id: row for row, question in enumerate(rows)}
        texts = self._texts(unit)
        return [
            Example(one.id, one.language, one.question, texts[int(first[places[one.id]])], None, one.answers)
            for one in gold
        ]

    def _texts(self, unit: str) -> list[Text]:
        return passage_texts(self.dataset, unit.startswith("document") or unit == "maxp")

    def _read(self, examples: Sequence[Example]) -> tuple[ReadingScores, float]:
        start = time.perf_counter()
        answers = self.reader.read(examples)
        seconds = time.perf_counter() - start
        return score_answers(examples, [answer.text for answer in answers]), seconds

    def _sentences(self, gold: Sequence[Example], questions: Floats, vectors: Mapping[str, Floats]) -> ReadingScores:
        """Score the sentence of the gold passage that is nearest to the question as the answer."""
        known: list[Question] = self.dataset.select(gold[0].language, self.split)
        places = {question.id: row for row, question in enumerate(known)}
        texts = []
        for one in gold:
            row = places[one.id]
            inside = np.flatnonzero(self.dataset.sentences.passage_of == known[row].passage)
            best = inside[int((vectors["sentence"][inside] @ questions[row]).argmax())]
            texts.append(self.dataset.sentences.texts[best])
        return score_answers(gold, texts)

    def scores(self, result: ReadingResult, metric: str) -> Scores:
        """Return each question's "em" or "f1", by unit and for gold passages: `{part: {language: (ids, scores)}}`."""
        return {
            part: {language: (read.ids, getattr(read, metric)) for language, read in by_language.items()}
            for part, by_language in result.read.items()
        }

    def figures(self, result: ReadingResult, encoder: str) -> ReadingResult:
        """Return the result itself, of which each metric is a mean."""
        return result

    def as_dict(self, encoders: Mapping[str, ReadingResult]) -> dict[str, Json]:
        rows: dict[str, Json] = {
            name: {
                "parts": {
                    part: {language: read.means for language, read in by_language.items()}
                    for part, by_language in reading.read.items()
                },
                "milliseconds": reading.milliseconds,
            }
            for name, reading in encoders.items()
        }
        about = {"name": self.dataset.name, "split": self.split, "reader": self.reader.name}
        return {**about, "encoders": rows, "files": dict(self.dataset.files)}

    def print(self, encoders: Mapping[str, ReadingResult]) -> None:
        """Print F1 and exact match by language in the layout of Table 2, one part after another."""
        figures = {
            name: {
                part: {language: read.means for language, read in by_language.items()}
                for part, by_language in reading.read.items()
            }
            for name, reading in encoders.items()
        }
        print_reading(figures, {name: one.milliseconds for name, one in encoders.items()}, self.split, self.reader.name)


def score_answers(examples: Sequence[Example], texts: Sequence[str]) -> ReadingScores:
    """Score predicted answers by the language of their passages. Returns exact match and F1 of each."""
    from ...evaluation.answers import score_answer as answer_scores

    rows = [
        answer_scores(text, example.answers, example.passage.language)
        for example, text in zip(examples, texts, strict=True)
    ]
    em, f1 = np.array(rows, dtype=np.float64).T
    return ReadingScores([example.id for example in examples], em, f1)


TASK = ReadingTask
