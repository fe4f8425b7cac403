"""The task classification: labels learned in one language and found in others, without language information too."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, replace

import numpy as np

from ...data.corpus import sampled
from ...encoders.encoder import Encoder
from ...errors import InputError
from ...report.bias_tables import print_classified
from ...settings.choices import EVERY
from ...system.hashes import hashes
from ...system.progress import task
from ...system.types import Booleans, Json, Progress
from ..bias.analyses import SENTENCES, Samples, require_samples
from ..bias.classification import (
    RANKS,
    Against,
    Classified,
    LabelledVectors,
    encode_labelled,
    right_by_rank,
)
from ..bias.fitting import Removed
from ..bias.labelled import TRAIN, Labelled, load_labelled
from ..mcnemar import disagreements, holm, mcnemar_p
from .task import Scores, Task, TaskOptions

LEVEL = 0.05


@dataclass(frozen=True)
class ClassificationTask(Task[LabelledVectors, Classified]):
    """The texts of a `Labelled`; language information removal is fitted on `samples` and done as `removed` says."""

    data: Labelled
    samples: Samples
    removed: Removed
    source: str = ""
    name = "classification"
    takes = ("corpus", "split", "label_column", "lir_ranks", "lir_rescaled")
    needs = ("sklearn",)

    @classmethod
    def load(cls, source: str, options: TaskOptions) -> ClassificationTask:
        """As `Task.load`; raises `InputError` too for the split that is learned from."""
        if options.split in (TRAIN, EVERY):
            raise InputError(f"--split: classification learns from {TRAIN}; test on dev or test, not {options.split}")
        languages, pivot = options.data.languages, options.data.document_language
        data = load_labelled(source, languages, pivot, options.split, options.label_column)
        removed = options.removed if options.removed.ranks else replace(options.removed, ranks=RANKS)
        return cls(data, samples_of(data, options.samples, options.seed), removed, source)

    @property
    def size(self) -> int:
        """As `Task.size`."""
        tested = sum(int(self.data.rows(language, self.data.split).sum()) for language in self.data.texts)
        return int(self.data.rows(self.data.pivot, TRAIN).sum()) + tested + sum(map(len, self.samples.texts.values()))

    @property
    def tests(self) -> int:
        """As `Task.tests`."""
        return len(self.data.texts)

    def measure(self, encoder: Encoder, progress: Progress | None = None) -> LabelledVectors:
        """The vectors, which a classifier learns from when that is asked for."""
        return encode_labelled(encoder, self.data, self.samples, progress)

    def scores(self, result: LabelledVectors, metric: str) -> Scores:
        """One part, by language, nothing removed: 1 where the label is found; nothing of other metrics than p@1."""
        if metric != "p@1":
            return {}
        right = right_by_rank(result, Removed(()))[0]
        ids = {language: self.data.ids[self.data.rows(language, self.data.split)].tolist() for language in right}
        return {self.name: {language: (ids[language], of.astype(np.float64)) for language, of in right.items()}}

    def figures(self, result: LabelledVectors, encoder: str) -> Classified:
        """Accuracy by language, with nothing and with some directions removed."""
        with task(f"classification: learn from {encoder}", 1 + len(self.removed.ranks)) as step:
            return against_plain(right_by_rank(result, self.removed, step), result.corpus)

    def as_dict(self, encoders: Mapping[str, Classified]) -> dict[str, Json]:
        """As `Task.as_dict`."""
        data, rows = self.data, {name: asdict(figures) for name, figures in encoders.items()}
        about: dict[str, Json] = {"name": data.name, "split": data.split, "learned": data.pivot}
        about |= {"labels": len(np.unique(data.labels)), "rescaled": self.removed.rescaled}
        about |= {"sentences": dict(self.samples.counts)}
        return {**about, "encoders": rows, "files": hashes(self.source)}

    def print(self, encoders: Mapping[str, Classified]) -> None:
        """Print accuracy by language, a row a number of removed directions."""
        print_classified(encoders, f"{self.data.name}, {self.data.split}, learned in {self.data.pivot}")


def samples_of(data: Labelled, samples: Samples | None, seed: int) -> Samples:
    """At most `SENTENCES` texts of each language, drawn by the seed: of `samples`, or of the data's own to learn from.

    A language without texts to learn from gives those that are tested. Raises `InputError` where `samples` lack one.
    """
    if samples is not None:
        require_samples(samples, list(data.texts))
        texts = {language: samples.texts[language] for language in data.texts}
    else:
        texts = {language: data.select(language, TRAIN) or data.select(language, data.split) for language in data.texts}
    name = samples.name if samples else "the texts to learn from"
    return Samples(name, {language: sampled(lines, SENTENCES, seed) for language, lines in texts.items()})


def against_plain(right: Mapping[int, Mapping[str, Booleans]], corpus: str) -> Classified:
    """The figures of `right_by_rank`; p is corrected over all languages and numbers of directions (Holm, 1979)."""
    plain, keys = right[0], [(rank, language) for rank in right if rank for language in right[rank]]
    ps = [mcnemar_p(right[rank][language], plain[language]) for rank, language in keys]
    ranks: dict[int, dict[str, Against]] = {rank: {} for rank in right if rank}
    for (rank, language), p, p_holm in zip(keys, ps, holm(ps), strict=True):
        gained, lost = disagreements(right[rank][language], plain[language])
        accuracy = float(right[rank][language].mean())
        ranks[rank][language] = Against(accuracy, gained, lost, p, p_holm, bool(p_holm < LEVEL))
    return Classified(corpus, {language: float(values.mean()) for language, values in plain.items()}, ranks)


TASK = ClassificationTask
