"""The task bitext: the translation of a sentence should be its nearest neighbour, in both directions."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from ...data.pairs import Bitext, load_bitext
from ...encoders.encoder import Encoder
from ...encoders.health import require_finite
from ...report.bias_tables import Section, make_bitext_section, print_bitext
from ...retrieval.exact import Candidates, candidate_ranks
from ...retrieval.metrics import precision_at, question_scores
from ...retrieval.units import list_right
from ...system.hashes import hash_files
from ...system.progress import say
from ...system.text import all_same, count_copies, number_copies
from ...system.types import Integers, Json, Progress
from .task import Scores, Task, TaskOptions


@dataclass(frozen=True)
class BitextRanks:
    """The rank, from 1, of each sentence's translation among all, by language: from the pivot `to` it, and `back`."""

    to: dict[str, Integers]
    back: dict[str, Integers]

    @property
    def ways(self) -> dict[str, dict[str, Integers]]:
        """Return both directions under their names in the figures: "to" the pivot and "from" the pivot."""
        return {"to": self.to, "from": self.back}


def _say_copies(bitext):
    first_of = {language: number_copies(lines) for language, lines in bitext.sentences.items()}
    same = [language for language, firsts in first_of.items() if all_same(firsts)]
    if same:
        languages = ", ".join(same)
        problem = f"all sentences are the same in {languages}; a rank says nothing"
        say(f"{bitext.name}: {problem}, and ties count against the encoder")
    copies = {language: count_copies(firsts) for language, firsts in first_of.items() if language not in same}
    if counts := ", ".join(f"{count} in {language}" for language, count in copies.items() if count):
        say(f"{bitext.name}: sentences that repeat an earlier one: {counts}; a copy of a translation is right too")


@dataclass(frozen=True)
class BitextTask(Task[BitextRanks, dict[str, dict[str, float]]]):
    """The sentences of a bitext and their translations, searched in both directions."""

    bitext: Bitext
    source: str = ""
    name = "bitext"
    takes = ("report",)

    @classmethod
    def load(cls, source: str, options: TaskOptions) -> BitextTask:
        """Load a bitext. Raises `InputError` if the data cannot be used."""
        data = options.data
        bitext = load_bitext(source, data.languages, data.document_language)
        _say_copies(bitext)
        return cls(bitext, source)

    @property
    def size(self) -> int:
        return self.bitext.size * len(self.bitext.sentences)

    @property
    def tests(self) -> int:
        return 2 * len(self.bitext.languages)

    def measure(self, encoder: Encoder, progress: Progress | None = None) -> BitextRanks:
        """Return the ranks of the translations in both directions."""
        return retrieve(encoder, self.bitext, progress)

    def scores(self, result: BitextRanks, metric: str) -> Scores:
        """Return the score of each sentence, by direction and language; the ids are line numbers."""
        ids = [str(number) for number in range(1, self.bitext.size + 1)]
        return {
            f"{self.name} {way} {self.bitext.pivot}, {self.bitext.name}": {
                language: (ids, question_scores(ranks, metric)) for language, ranks in by_language.items()
            }
            for way, by_language in result.ways.items()
        }

    def figures(self, result: BitextRanks, encoder: str) -> dict[str, dict[str, float]]:
        """Return the accuracy of each language in both directions: `{language: {"to": accuracy, "from": accuracy}}`."""
        return accuracies(result)

    def as_dict(self, encoders: Mapping[str, dict[str, dict[str, float]]]) -> dict[str, Json]:
        bitext, files = self.bitext, hash_files(self.source)
        data: dict[str, Json] = {"name": bitext.name, "pivot": bitext.pivot, "sentences": bitext.size}
        return {**data, "encoders": encoders, "files": files}

    def print(self, encoders: Mapping[str, dict[str, dict[str, float]]]) -> None:
        """Print one row per direction."""
        print_bitext(self.bitext, encoders)

    def section(self, part: Mapping[str, Json]) -> Section:
        """Return the section of the page with one table per direction."""
        return make_bitext_section(part)


def retrieve(encoder: Encoder, bitext: Bitext, progress: Progress | None = None) -> BitextRanks:
    """Return the rank of each sentence's translation, or of a copy, among all; ties with others count against it."""
    vectors = {
        language: require_finite(encoder.encode(lines, "question", progress), encoder)
        for language, lines in bitext.sentences.items()
    }
    pivot, line = vectors.pop(bitext.pivot), np.arange(bitext.size)
    right = {language: list_right(line, number_copies(lines)) for language, lines in bitext.sentences.items()}

    def rank(asking, searched, language):
        return candidate_ranks(asking, Candidates(searched), line, right=right[language])

    return BitextRanks(
        {language: rank(rows, pivot, bitext.pivot) for language, rows in vectors.items()},
        {language: rank(pivot, rows, language) for language, rows in vectors.items()},
    )


def accuracies(ranks: BitextRanks) -> dict[str, dict[str, float]]:
    """Return the share of translations that are nearest: `{language: {"to": share, "from": share}}`."""
    return {
        language: {way: precision_at(by_language[language], 1) for way, by_language in ranks.ways.items()}
        for language in ranks.to
    }


TASK = BitextTask
