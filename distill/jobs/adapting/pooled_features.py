"""Texts as sums of the features of their tokens, so that the layers after the sum train in seconds."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import keras
import numpy as np
from keras import ops

from ...data.dataset import Dataset
from ...encoders.compilation import AnyLength
from ...encoders.encoder import KerasEncoder
from ...errors import EncoderError
from ...students.student import sum_texts
from ...system.types import Booleans, Floats, Integers, Progress, Role

# Pieces that go through an encoder at once.
PIECES = 8192


@dataclass(frozen=True)
class PooledFeatures:
    """The summed features `(n, f)` of texts, and the numbers of their tokens `(n, 1)`."""

    features: Floats
    counts: Floats

    def __len__(self) -> int:
        return len(self.features)

    def of(self, rows: Integers) -> PooledFeatures:
        return PooledFeatures(self.features[rows], self.counts[rows])

    def plus(self, other: PooledFeatures, times: Floats) -> PooledFeatures:
        """Add other features. `times` are the factor of each, `(n, 1)`."""
        return PooledFeatures(self.features + times * other.features, self.counts + times * other.counts)


def concatenate(several: Sequence[PooledFeatures]) -> PooledFeatures:
    return PooledFeatures(
        np.concatenate([one.features for one in several]), np.concatenate([one.counts for one in several])
    )


def require_sums(encoder: KerasEncoder) -> None:
    """Raise `EncoderError` for an encoder whose vectors are not made of sums over tokens, such as a transformer."""
    if not encoder.model.sums:
        raise EncoderError(
            f"{encoder.name}: --documents trains what lies behind the sum over a text's pieces, and a "
            f"{encoder.model.family} has no such sum; give an n-gram or a static encoder as --base, such as "
            "multi12-ngram, or questions of the documents (--dataset)"
        )


class FeaturePooler:
    """An encoder up to the sum over a text's tokens, compiled once."""

    def __init__(self, encoder: KerasEncoder) -> None:
        self.tokenizer, self.model = encoder.tokenizer, encoder.model
        self.table = self.model.get_layer("embedding")
        self.step = AnyLength(self._sums) if keras.backend.backend() == "tensorflow" else self._sums

    def _sums(self, x):
        keep = ops.cast(ops.greater_equal(x["ids"], 0), "float32")[None, :, None]
        features = self.model.features(self.table(ops.maximum(x["ids"], 0)[None]), keep)[0]
        return sum_texts(features, x["segments"], ops.shape(x["counts"])[0])

    def sums(self, texts: Sequence[str], role: Role = "question", progress: Progress | None = None) -> PooledFeatures:
        ids = self.tokenizer.encode(list(texts), role)
        counts = np.array([[len(row)] for row in ids], dtype=np.float32)
        ends = np.cumsum(counts[:, 0] + self.model.gap) // PIECES
        features = []
        for rows in np.split(np.arange(len(ids)), np.flatnonzero(np.diff(ends)) + 1):
            features.append(ops.convert_to_numpy(self.step(self.model.pack([ids[row] for row in rows]))))
            if progress:
                progress(len(rows))
        return PooledFeatures(np.concatenate(features), counts)


@dataclass(frozen=True)
class PooledPassages:
    """The summed features of a data set's sentences and passages; `passage_of` `(sentences,)` is each sentence's
    passage.

    A passage's sum is that of its sentences, less `ends`, the beginning and end of a text between two of them. But for
    windows that reach over the end of a sentence, this equals the sum of the whole text.
    """

    sentences: PooledFeatures
    passage_of: Integers
    passages: PooledFeatures
    ends: PooledFeatures

    @classmethod
    def of(cls, summing: FeaturePooler, dataset: Dataset, progress: Progress | None = None) -> PooledPassages:
        """Encode a data set's sentences, each once, and sum its passages."""
        sentences = summing.sums(dataset.sentences.texts, "document", progress)
        passage_of = dataset.sentences.passage_of
        ends, count = summing.sums([""], "document"), len(dataset.passages)
        passages = PooledFeatures(
            np.zeros((count, sentences.features.shape[1]), np.float32), np.zeros((count, 1), np.float32)
        )
        np.add.at(passages.features, passage_of, sentences.features)
        np.add.at(passages.counts, passage_of, sentences.counts)
        between = np.bincount(passage_of, minlength=count)[:, None].astype(np.float32) - 1
        return cls(sentences, passage_of, passages.plus(ends, -between), ends)

    @cached_property
    def alone(self) -> Booleans:
        """bool `(sentences,)`, true for the only sentence of a passage."""
        return np.bincount(self.passage_of)[self.passage_of] < 2

    def without(self, sentences: Integers) -> PooledFeatures:
        """Return the sums of the sentences' passages without them; a passage of one sentence stays whole."""
        times = np.where(self.alone[sentences], 0, 1).astype(np.float32)[:, None]
        whole = self.passages.of(self.passage_of[sentences])
        return whole.plus(self.sentences.of(sentences), -times).plus(self.ends, times)
