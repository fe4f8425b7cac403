"""Training of a reader by the loop of both stages: cross-entropy of where its answers begin and end."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import keras
import numpy as np
from keras import ops

from ..evaluation.answers import scores as answer_scores
from ..system.types import Floats, Progress, Tensor
from ..training.batches import StepInput
from ..training.loop import fit
from ..training.session import Schedule, Scores, Session, session_of
from ..training.trained import Trained
from .examples import Example, Span
from .inputs import LENGTHS, Eyes, Looker, Seen, batch_of, rounded
from .matches import MATCHES
from .network import ReaderNetwork
from .reader import Network, SpanReader
from .spans import LONGEST

# Pieces of a passage that a lesson has: fewer than are read at once, which costs less.
WINDOW = 192
# Padded pieces of a step, and examples at most.
STEP_PIECES, MOST = 6400, 64
# Shapes are few: a batch has one of these numbers of examples.
SIZES = (4, 8, 16, 20, 24, 32, 48, 64)


@dataclass(frozen=True)
class Lesson:
    """An example as it is seen, the pieces of its answer, None where nothing answers, and its draws a round."""

    seen: Seen
    rows: Span | None
    weight: float


@dataclass(frozen=True)
class ReaderCourse:
    """How a reader is trained: rounds over the lessons, the first learning rate, the share of examples whose words in
    common are hidden, as those of another language are, and the seed.

    `retrieved`: passages that do not answer are those that the encoder finds first, in place of drawn ones.
    """

    epochs: int = 4
    learning_rate: float = 1e-3
    hidden: float = 0.3
    seed: int = 0
    retrieved: bool = False


class ReaderTrainer(Trained):
    """A `ReaderNetwork` under training."""

    def __init__(self, network: ReaderNetwork, learning_rate: float) -> None:
        super().__init__()
        self.encoder = network
        optimizer = keras.optimizers.AdamW(learning_rate, weight_decay=0.01, clipnorm=1.0)
        # XLA compiles a program for each shape.
        self.compile(optimizer=optimizer, jit_compile=False)
        # Within a step TensorFlow would make its variables, and compile the step twice.
        optimizer.build(network.trainable_variables)

    def call(self, x: Mapping[str, Tensor], training: bool = False) -> Tensor:
        """The logits of a batch."""
        return self.encoder({name: x[name] for name in self.encoder.input}, training=training)

    def compute_loss(
        self,
        x: Mapping[str, Tensor] | None = None,
        y: None = None,
        y_pred: Tensor = None,
        sample_weight: None = None,
        training: bool = True,
    ) -> Tensor:
        """The loss of a batch whose logits are `y_pred`. Keras calls it."""
        return span_loss(y_pred, ops.convert_to_tensor((x or {})["rows"]))


def span_loss(logits: Tensor, rows: Tensor) -> Tensor:
    """Mean cross-entropy of begin and end: logits `(b, t + 1, 2)`, rows int32 `(b, 2)`, 0 for no answer. BERT, 4.2."""
    logs = ops.log_softmax(logits, axis=1)
    picked = ops.one_hot(rows, ops.shape(logits)[1], axis=1, dtype=logs.dtype)
    return -ops.mean(ops.sum(logs * picked, axis=1))


def lessons_of(
    examples: Sequence[Example], weights: Sequence[float], looker: Looker, progress: Progress | None = None
) -> list[Lesson]:
    """Return the lessons of examples; an answer that is longer than a reader's longest is none."""
    lessons = []
    for seen, example, weight in zip(looker.seen(examples, progress), examples, weights, strict=True):
        rows = seen.passage.rows_of(example.place) if example.place else None
        if example.place is None or (rows and rows[1] - rows[0] < LONGEST):
            lessons.append(Lesson(seen, rows, weight))
    return lessons


class Batches:
    """The steps of each epoch: lessons of like length together, drawn by their weights, seeded by epoch."""

    def __init__(self, lessons: Sequence[Lesson], eyes: Eyes, course: ReaderCourse) -> None:
        self.lessons, self.eyes, self.course = lessons, eyes, course
        self.weights = np.array([lesson.weight for lesson in lessons])
        self.lengths = np.array([min(len(lesson.seen.passage), WINDOW) for lesson in lessons])

    def __call__(self, epoch: int) -> list[Callable[[], StepInput]]:
        """Return the functions that make the batches of an epoch."""
        draws = np.random.default_rng((self.course.seed, 6, epoch))
        counts = np.floor(self.weights + draws.random(len(self.weights))).astype(int)
        rows = np.repeat(np.arange(len(counts)), counts)
        rows = rows[np.argsort(self.lengths[rows] + 40 * draws.random(len(rows)), kind="stable")]
        groups = list(self._groups(rows))
        return [self._maker(groups[place], (epoch, place)) for place in draws.permutation(len(groups))]

    def _groups(self, rows):
        group: list[int] = []
        longest = 0
        for row in rows.tolist():
            length = max(longest, rounded(int(self.lengths[row]), LENGTHS))
            if group and (length * (len(group) + 1) > STEP_PIECES or len(group) == MOST):
                yield group
                group, longest = [], 0
            group.append(row)
            longest = max(longest, rounded(int(self.lengths[row]), LENGTHS))
        if group:
            yield group

    def _maker(self, group, key):
        return lambda: self.batch(group, np.random.default_rng((self.course.seed, 7, *key)))

    def batch(self, group: Sequence[int], draws: np.random.Generator) -> StepInput:
        """Return the arrays of a step, its first lessons again where it would have a number of its own of them."""
        size = next((size for size in SIZES if size >= len(group)), len(group))
        lessons = [self.lessons[group[place % len(group)]] for place in range(size)]
        windows = [_window(lesson, draws) for lesson in lessons]
        batch = batch_of(
            [(lesson.seen, window) for lesson, window in zip(lessons, windows, strict=True)], self.eyes.rows
        )
        hidden = draws.random(len(lessons)) < self.course.hidden
        batch["features"][hidden, :, :MATCHES] = 0
        rows = [_inside(lesson, window) for lesson, window in zip(lessons, windows, strict=True)]
        return {**batch, "rows": np.array(rows, dtype=np.int32)}


def _window(lesson, draws):
    """A window of a long passage that holds the answer, wherever in it; anywhere without an answer."""
    length = len(lesson.seen.passage)
    if length <= WINDOW:
        return 0, length
    first, last = lesson.rows or (0, length - 1)
    low, high = max(0, last - WINDOW + 1), min(first, length - WINDOW)
    start = int(draws.integers(min(low, high), max(low, high) + 1)) if lesson.rows else int(draws.integers(high + 1))
    return start, start + WINDOW


def _inside(lesson, window):
    """Begin and end among the logits of a window, whose first are of no answer."""
    return (0, 0) if lesson.rows is None else tuple(row - window[0] + 1 for row in lesson.rows)


class DevAnswers:
    """F1 and exact match of a network on dev, means of the means of its groups, such as languages."""

    def __init__(self, groups: Mapping[str, Sequence[Example]], looker: Looker) -> None:
        self.groups, self.eyes = groups, looker.eyes
        self.seen = {name: looker.seen(examples) for name, examples in groups.items()}

    def __call__(self, network: ReaderNetwork) -> Scores:
        """Return "f1" and "em", in [0, 1]."""
        reader = SpanReader(predicting(network), self.eyes)
        means = [self._mean(reader, name, examples) for name, examples in self.groups.items()]
        em, f1 = np.mean(means, axis=0)
        return {"f1": float(f1), "em": float(em)}

    def _mean(self, reader, name, examples):
        rows = []
        for example, seen, best in zip(examples, self.seen[name], reader.spans(self.seen[name]), strict=True):
            start, end = seen.passage.place_of(best.first, best.last)
            text = seen.passage.text[start:end]
            rows.append(answer_scores(text, example.answers, example.passage.language))
        return np.mean(rows, axis=0)


def predicting(network: ReaderNetwork) -> Network:
    """Return the function of a batch's arrays that Keras computes, as it goes: compiled, each shape costs seconds."""

    def logits(batch: Mapping[str, Floats]) -> Floats:
        tensors = {name: ops.convert_to_tensor(array) for name, array in batch.items()}
        return ops.convert_to_numpy(network(tensors, training=False))

    return logits


def fit_reader(
    network: ReaderNetwork, batches: Batches, dev: DevAnswers, course: ReaderCourse, session: Session | None = None
) -> list[Scores]:
    """Train in place, leave the weights of the best F1 on dev, and return the scores on dev, the start's first."""
    schedule = Schedule(course.epochs, linear=True, warmup=0.02, judged_by=("f1", "em"))
    trainer = ReaderTrainer(network, course.learning_rate)
    return fit(trainer, batches, lambda: dev(network), schedule, session_of("reader", session))
