"""Readers: from examples to the span of each passage that answers."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from ...system.types import Floats, Progress
from ...teachers.question_answering import QuestionAnswerer
from .examples import Example, Span
from .inputs import ExampleFeatures, Featuriser, TextFeatures, make_batch
from .pieces import TokenSpan, best_over_windows, best_span, split_windows

# Number of padded tokens of a batch.
BATCH_PIECES = 8192


@dataclass(frozen=True)
class Answer:
    """A span of a passage.

    Attributes:
        place: `(start, end)` in characters.
        score: Score of the span; above 0 it counts as an answer.
    """

    text: str
    place: Span
    score: float


class Reader(Protocol):
    """A reader, which answers questions from passages; `name` is its name in tables."""

    @property
    def name(self) -> str:
        """Return the reader's name in tables."""
        ...

    def read(self, examples: Sequence[Example], progress: Progress | None = None) -> list[Answer]:
        """Return the best span of each example's passage, whether it counts as an answer or not."""
        ...


class Network(Protocol):
    """A function from a batch to its logits `(b, t + 1, 2)`: a `network.ReaderNetwork`, or a file in a runtime."""

    def __call__(self, batch: Mapping[str, NDArray[np.float32]]) -> Floats: ...


class SpanReader:
    """A reader that uses an encoder's embeddings, vectors and tokens; long passages are read window by window."""

    def __init__(self, network: Network, features: TextFeatures, name: str = "reader") -> None:
        self.network, self.features, self.name = network, features, name

    def read(self, examples: Sequence[Example], progress: Progress | None = None) -> list[Answer]:
        """Return the best span of each example's passage, whether it counts as an answer or not."""
        seen = Featuriser(self.features).featurise(examples)
        spans = self.spans(seen, progress)
        return [_answer(one, best) for one, best in zip(seen, spans, strict=True)]

    def spans(self, seen: Sequence[ExampleFeatures], progress: Progress | None = None) -> list[TokenSpan]:
        parts = [(row, window) for row, one in enumerate(seen) for window in split_windows(len(one.passage))]
        best: list[list[tuple[int, TokenSpan]]] = [[] for _ in seen]
        for group in group_by_length([end - start for _, (start, end) in parts]):
            batch = make_batch(
                [(seen[parts[number][0]], parts[number][1]) for number in group], self.features.embeddings
            )
            for number, logits in zip(group, self.network(batch), strict=True):
                row, (start, end) = parts[number]
                best[row].append((start, best_span(logits, end - start)))
            if progress:
                progress(len(group))
        return [best_over_windows(of_text) for of_text in best]


def _answer(seen, best):
    start, end = place = seen.passage.character_span(best.first, best.last)
    return Answer(seen.passage.text[start:end], place, best.score)


class TransformerReader:
    """A reader whose model reads question and passage as one text, `hf:NAME`."""

    def __init__(self, model: QuestionAnswerer) -> None:
        self.model, self.name = model, model.name

    def read(self, examples: Sequence[Example], progress: Progress | None = None) -> list[Answer]:
        """Return the best span of each example's passage, whether it counts as an answer or not."""
        spans = self.model.spans(examples, progress)
        return [
            Answer(example.passage.text[start:end], (start, end), score)
            for example, (start, end, score) in zip(examples, spans, strict=True)
        ]


def group_by_length(lengths: Sequence[int]) -> list[list[int]]:
    """Group rows of similar length, the shortest first, in batches of at most `BATCH_PIECES` padded tokens."""
    groups: list[list[int]] = []
    for row in np.argsort(lengths, kind="stable").tolist():
        if not groups or (len(groups[-1]) + 1) * lengths[row] > BATCH_PIECES:
            groups.append([])
        groups[-1].append(row)
    return groups
