"""The task classification: labels learned in one language and predicted in others, with language bias removed too."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass, replace

import numpy as np

from ...data.corpus import sample_texts
from ...encoders.encoder import Encoder
from ...encoders.removal_fitting import SENTENCES, RemovalOptions, Samples, require_samples
from ...errors import InputError
from ...evaluation.mcnemar import correct_holm, count_disagreements, mcnemar_p
from ...evaluation.tasks.task import Scores, Task, TaskOptions
from ...settings.choices import EVERY
from ...system.hashes import hash_files
from ...system.progress import task
from ...system.types import Booleans, Json, Progress
from ..bias.classification import (
    RANKS,
    TRAIN,
    ClassificationFigures,
    LabelledTexts,
    LabelledVectors,
    RemovalEffect,
    correct_by_rank,
    encode_labelled,
    load_labelled,
)
from ..bias.tables import print_classified

LEVEL = 0.05


@dataclass(frozen=True)
class ClassificationTask(Task[LabelledVectors, ClassificationFigures]):
    """Labelled texts of several languages."""

    data: LabelledTexts
    samples: Samples
    removed: RemovalOptions
    source: str = ""
    name = "classification"
    takes = ("corpus", "split", "label_column", "lir_ranks", "lir_rescaled")
    needs = ("sklearn",)

    @classmethod
    def load(cls, source: str, options: TaskOptions) -> ClassificationTask:
        """Load labelled texts.

        Raises `InputError` if the data cannot be used, or the split is the one that is learned from.
        """
        if options.split in (TRAIN, EVERY):
            raise InputError(f"--split: classification learns from {TRAIN}; test on dev or test, not {options.split}")
        languages, pivot = options.data.languages, options.data.document_language
        data = load_labelled(source, languages, pivot, options.split, options.label_column)
        removed = options.removed if options.removed.ranks else replace(options.removed, ranks=RANKS)
        return cls(data, samples_of(data, options.samples, options.seed), removed, source)

    @property
    def size(self) -> int:
        tested = sum(int(self.data.rows(language, self.data.split).sum()) for language in self.data.texts)
        return int(self.data.rows(self.data.pivot, TRAIN).sum()) + tested + sum(map(len, self.samples.texts.values()))

    @property
    def tests(self) -> int:
        return len(self.data.texts)

    def measure(self, encoder: Encoder, progress: Progress | None = None) -> LabelledVectors:
        """Encode all texts; a classifier learns from the vectors when its scores or figures are computed.

        Raises `EncoderError` if vectors hold NaN or infinity.
        """
        return encode_labelled(encoder, self.data, self.samples, progress)

    def scores(self, result: LabelledVectors, metric: str) -> Scores:
        """Return 1 for each text that is classified rightly with nothing removed, else 0.

        Returns `{task: {language: (ids, scores)}}`; empty for other metrics.
        """
        if metric != "p@1":
            return {}
        right = correct_by_rank(result, RemovalOptions(()))[0]
        ids = {language: self.data.ids[self.data.rows(language, self.data.split)].tolist() for language in right}
        return {self.name: {language: (ids[language], of.astype(np.float64)) for language, of in right.items()}}

    def figures(self, result: LabelledVectors, encoder: str) -> ClassificationFigures:
        """Return accuracy by language, with nothing and with some directions removed."""
        with task(f"classification: learn from {encoder}", 1 + len(self.removed.ranks)) as step:
            return compare_with_plain(correct_by_rank(result, self.removed, step), result.corpus)

    def as_dict(self, encoders: Mapping[str, ClassificationFigures]) -> dict[str, Json]:
        data, rows = self.data, {name: asdict(figures) for name, figures in encoders.items()}
        about: dict[str, Json] = {"name": data.name, "split": data.split, "learned": data.pivot}
        about |= {"labels": len(np.unique(data.labels)), "rescaled": self.removed.rescaled}
        about |= {"sentences": dict(self.samples.counts)}
        return {**about, "encoders": rows, "files": hash_files(self.source)}

    def print(self, encoders: Mapping[str, ClassificationFigures]) -> None:
        """Print accuracy by language, with one row per number of removed directions."""
        print_classified(encoders, f"{self.data.name}, {self.data.split}, learned in {self.data.pivot}")


def samples_of(data: LabelledTexts, samples: Samples | None, seed: int) -> Samples:
    """Draw at most `SENTENCES` texts of each language that language information removal is fitted on.

    Without given samples these are the texts to learn from; a language that has none gives those to test on. `samples`
    are those that are given, or None.
    """
    if samples is not None:
        require_samples(samples, list(data.texts))
        texts = {language: samples.texts[language] for language in data.texts}
    else:
        texts = {language: data.select(language, TRAIN) or data.select(language, data.split) for language in data.texts}
    name = samples.name if samples else "the texts to learn from"
    return Samples(name, {language: sample_texts(lines, SENTENCES, seed) for language, lines in texts.items()})


def compare_with_plain(right: Mapping[int, Mapping[str, Booleans]], corpus: str) -> ClassificationFigures:
    """Compare accuracy with and without language information.

    The p-values are corrected over all languages and numbers of directions (Holm, 1979). `right` is the result of
    `correct_by_rank`.
    """
    plain, keys = right[0], [(rank, language) for rank in right if rank for language in right[rank]]
    ps = [mcnemar_p(right[rank][language], plain[language]) for rank, language in keys]
    ranks: dict[int, dict[str, RemovalEffect]] = {rank: {} for rank in right if rank}
    for (rank, language), p, p_holm in zip(keys, ps, correct_holm(ps), strict=True):
        gained, lost = count_disagreements(right[rank][language], plain[language])
        accuracy = float(right[rank][language].mean())
        ranks[rank][language] = RemovalEffect(accuracy, gained, lost, p, p_holm, bool(p_holm < LEVEL))
    return ClassificationFigures(corpus, {language: float(values.mean()) for language, values in plain.items()}, ranks)


TASK = ClassificationTask
