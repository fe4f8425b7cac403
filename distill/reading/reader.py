"""Readers: examples in, the span of each passage that answers out."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from ..system.types import Floats, Progress
from ..teachers.question_answering import QuestionAnswerer
from .examples import Example, Span
from .inputs import Eyes, Looker, Seen, batch_of
from .spans import Found, best_of, best_span, windows_of

# Padded pieces of a batch.
BATCH_PIECES = 8192


@dataclass(frozen=True)
class Answer:
    """A span of a passage: its `text`, its `place` in characters, and its `score`: above 0 it counts as an answer."""

    text: str
    place: Span
    score: float


class Reader(Protocol):
    """It answers questions out of passages; `name` is what tables call it."""

    @property
    def name(self) -> str: ...

    def read(self, examples: Sequence[Example], progress: Progress | None = None) -> list[Answer]: ...


class Network(Protocol):
    """The logits `(b, t + 1, 2)` of a batch's arrays, by name: `network.ReaderNetwork`'s, or a runtime's of a file."""

    def __call__(self, batch: Mapping[str, NDArray[np.float32]]) -> Floats: ...


class SpanReader:
    """A reader on an encoder's table, vectors and pieces; long passages are read window by window."""

    def __init__(self, network: Network, eyes: Eyes, name: str = "reader") -> None:
        self.network, self.eyes, self.name = network, eyes, name

    def read(self, examples: Sequence[Example], progress: Progress | None = None) -> list[Answer]:
        """Return the best span of each example's passage, whether or not it counts as an answer."""
        seen = Looker(self.eyes).seen(examples)
        spans = self.spans(seen, progress)
        return [_answer(one, best) for one, best in zip(seen, spans, strict=True)]

    def spans(self, seen: Sequence[Seen], progress: Progress | None = None) -> list[Found]:
        """Return the best span of each, in pieces."""
        parts = [(row, window) for row, one in enumerate(seen) for window in windows_of(len(one.passage))]
        best: list[list[tuple[int, Found]]] = [[] for _ in seen]
        for group in grouped([end - start for _, (start, end) in parts]):
            batch = batch_of([(seen[parts[number][0]], parts[number][1]) for number in group], self.eyes.rows)
            for number, logits in zip(group, self.network(batch), strict=True):
                row, (start, end) = parts[number]
                best[row].append((start, best_span(logits, end - start)))
            if progress:
                progress(len(group))
        return [best_of(of_text) for of_text in best]


def _answer(seen, best):
    start, end = place = seen.passage.place_of(best.first, best.last)
    return Answer(seen.passage.text[start:end], place, best.score)


class WholeReader:
    """A reader of a model that sees question and passage as one text, `hf:NAME`."""

    def __init__(self, model: QuestionAnswerer) -> None:
        self.model, self.name = model, model.name

    def read(self, examples: Sequence[Example], progress: Progress | None = None) -> list[Answer]:
        """As `SpanReader.read`."""
        spans = self.model.spans(examples, progress)
        return [
            Answer(example.passage.text[start:end], (start, end), score)
            for example, (start, end, score) in zip(examples, spans, strict=True)
        ]


def grouped(lengths: Sequence[int]) -> list[list[int]]:
    """Return rows of like length together, the shortest first, each group of at most `BATCH_PIECES`."""
    groups: list[list[int]] = []
    for row in np.argsort(lengths, kind="stable").tolist():
        if not groups or (len(groups[-1]) + 1) * lengths[row] > BATCH_PIECES:
            groups.append([])
        groups[-1].append(row)
    return groups
