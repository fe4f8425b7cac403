"""The task bitext: the translation of a sentence is to be its nearest neighbour, in both directions."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from ...data.bitext import Bitext, load_bitext
from ...encoders.encoder import Encoder
from ...encoders.health import require_finite
from ...report.bias_sections import Section, bitext_section
from ...report.bias_tables import print_bitext
from ...retrieval.exact import Candidates, candidate_ranks
from ...retrieval.metrics import precision_at, question_scores
from ...system.hashes import hashes
from ...system.types import Integers, Json, Progress
from .task import Scores, Task, TaskOptions


@dataclass(frozen=True)
class BitextRanks:
    """By language, the rank of each sentence's translation among all, int `(n,)`: `to` the pivot and `back` from it."""

    to: dict[str, Integers]
    back: dict[str, Integers]

    @property
    def ways(self) -> dict[str, dict[str, Integers]]:
        """Both, by the names that figures have: "to" the pivot, "from" the pivot."""
        return {"to": self.to, "from": self.back}


@dataclass(frozen=True)
class BitextTask(Task[BitextRanks, dict[str, dict[str, float]]]):
    """Translations of the sentences of a `Bitext`, in both directions."""

    bitext: Bitext
    source: str = ""
    name = "bitext"
    takes = ("report",)

    @classmethod
    def load(cls, source: str, options: TaskOptions) -> BitextTask:
        """As `Task.load`."""
        data = options.data
        return cls(load_bitext(source, data.languages, data.document_language), source)

    @property
    def size(self) -> int:
        """As `Task.size`."""
        return self.bitext.size * len(self.bitext.sentences)

    @property
    def tests(self) -> int:
        """As `Task.tests`."""
        return 2 * len(self.bitext.languages)

    def measure(self, encoder: Encoder, progress: Progress | None = None) -> BitextRanks:
        """The ranks that `retrieve` gives."""
        return retrieve(encoder, self.bitext, progress)

    def scores(self, result: BitextRanks, metric: str) -> Scores:
        """By direction; the ids are the lines' numbers."""
        ids = [str(number) for number in range(1, self.bitext.size + 1)]
        return {
            f"{self.name} {way} {self.bitext.pivot}, {self.bitext.name}": {
                language: (ids, question_scores(ranks, metric)) for language, ranks in by_language.items()
            }
            for way, by_language in result.ways.items()
        }

    def figures(self, result: BitextRanks, encoder: str) -> dict[str, dict[str, float]]:
        """The `accuracies`."""
        return accuracies(result)

    def as_dict(self, encoders: Mapping[str, dict[str, dict[str, float]]]) -> dict[str, Json]:
        """As `Task.as_dict`."""
        bitext, files = self.bitext, hashes(self.source)
        data: dict[str, Json] = {"name": bitext.name, "pivot": bitext.pivot, "sentences": bitext.size}
        return {**data, "encoders": encoders, "files": files}

    def print(self, encoders: Mapping[str, dict[str, dict[str, float]]]) -> None:
        """Print a row a direction."""
        print_bitext(self.bitext, encoders)

    def section(self, part: Mapping[str, Json]) -> Section:
        """A table a direction."""
        return bitext_section(part)


def retrieve(encoder: Encoder, bitext: Bitext, progress: Progress | None = None) -> BitextRanks:
    """Return the rank of each sentence's translation among all, ties against it.

    Raises `EncoderError` for vectors that are no numbers.
    """
    vectors = {
        language: require_finite(encoder.encode(lines, "question", progress), encoder)
        for language, lines in bitext.sentences.items()
    }
    pivot, right = vectors.pop(bitext.pivot), np.arange(bitext.size)
    return BitextRanks(
        {language: candidate_ranks(rows, Candidates(pivot), right) for language, rows in vectors.items()},
        {language: candidate_ranks(pivot, Candidates(rows), right) for language, rows in vectors.items()},
    )


def accuracies(ranks: BitextRanks) -> dict[str, dict[str, float]]:
    """`{language: {"to": share of translations that are nearest, "from": …}}`."""
    return {
        language: {way: precision_at(by_language[language], 1) for way, by_language in ranks.ways.items()}
        for language in ranks.to
    }


TASK = BitextTask
