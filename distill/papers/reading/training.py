"""Training of a reader by the loop of both stages: cross-entropy of where its answers begin and end."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import keras
import numpy as np
from keras import ops

from ...evaluation.answers import score_answer as answer_scores
from ...system.types import Floats, Progress, Tensor
from ...training.batches import StepInput
from ...training.loop import fit
from ...training.session import Schedule, Scores, Session, name_session
from ...training.training_model import TrainedModel
from .examples import Example, Span
from .inputs import LENGTHS, ExampleFeatures, Featuriser, TextFeatures, make_batch, round_up
from .network import ReaderNetwork
from .pieces import LONGEST, MATCHES
from .reader import Network, SpanReader

# Number of tokens of a passage in training; fewer than are read at once, as that costs less.
WINDOW = 192
# The most padded tokens, and the most examples, of a step.
STEP_PIECES, MOST = 6400, 64
# A batch has one of these numbers of examples, so that only a few shapes occur.
SIZES = (4, 8, 16, 20, 24, 32, 48, 64)


@dataclass(frozen=True)
class ReaderExample:
    """A training example.

    Attributes:
        rows: First and last token of its answer; None if nothing answers.
        weight: How often it is drawn per epoch.
    """

    seen: ExampleFeatures
    rows: Span | None
    weight: float


@dataclass(frozen=True)
class ReaderOptions:
    """How a reader is trained.

    Attributes:
        epochs: Number of epochs.
        learning_rate: The first learning rate.
        hidden: Share of examples whose shared words are hidden, as those of another language are.
        seed: Seed of the training.
        retrieved: True to take the passages that do not answer from the encoder's search, in place of random ones.

    Example:
        >>> import distill
        >>> distill.ReaderOptions(epochs=2).learning_rate
        0.001
    """

    epochs: int = 3
    learning_rate: float = 1e-3
    hidden: float = 0.3
    seed: int = 0
    retrieved: bool = False


class ReaderTrainer(TrainedModel):
    def __init__(self, network: ReaderNetwork, learning_rate: float) -> None:
        super().__init__()
        self.encoder = network
        optimizer = keras.optimizers.AdamW(learning_rate, weight_decay=0.01, clipnorm=1.0)
        # XLA would compile a program for each shape.
        self.compile(optimizer=optimizer, jit_compile=False)
        # Otherwise TensorFlow creates the optimizer's variables within a step, and compiles the step twice.
        optimizer.build(network.trainable_variables)

    def call(self, x: Mapping[str, Tensor], training: bool = False) -> Tensor:
        """Return the logits of a batch: a float tensor `(b, t + 1, 2)`. `x` is `{input: tensor}`."""
        return self.encoder({name: x[name] for name in self.encoder.input}, training=training)

    def compute_terms(self, vectors: Tensor, batch: Mapping[str, Tensor]) -> Mapping[str, Tensor]:
        """Return the loss of a batch's logits `vectors` by its labels, "rows"."""
        return {"loss": span_loss(vectors, batch["rows"])}


def span_loss(logits: Tensor, rows: Tensor) -> Tensor:
    """Return the mean cross-entropy of beginning and end (Devlin et al., 2019, BERT, section 4.2).

    Args:
        logits: Float tensor `(b, t + 1, 2)`.
        rows: Int32 tensor `(b, 2)`, the places of beginning and end; 0 for no answer.
    """
    logs = ops.log_softmax(logits, axis=1)
    picked = ops.one_hot(rows, ops.shape(logits)[1], axis=1, dtype=logs.dtype)
    return -ops.mean(ops.sum(logs * picked, axis=1))


def make_reader_examples(
    examples: Sequence[Example], weights: Sequence[float], featuriser: Featuriser, progress: Progress | None = None
) -> list[ReaderExample]:
    """Return training examples with their features.

    An example whose answer is longer than the longest span of a reader is left out.
    """
    reader_examples = []
    for seen, example, weight in zip(featuriser.featurise(examples, progress), examples, weights, strict=True):
        rows = seen.passage.token_span(example.place) if example.place else None
        if example.place is None or (rows and rows[1] - rows[0] < LONGEST):
            reader_examples.append(ReaderExample(seen, rows, weight))
    return reader_examples


class Batches:
    """The steps of each epoch: examples of similar length together, drawn by their weights and seeded by epoch."""

    def __init__(self, examples: Sequence[ReaderExample], features: TextFeatures, options: ReaderOptions) -> None:
        self.examples, self.features, self.options = examples, features, options
        self.weights = np.array([example.weight for example in examples])
        self.lengths = np.array([min(len(example.seen.passage), WINDOW) for example in examples])

    def __call__(self, epoch: int) -> list[Callable[[], StepInput]]:
        draws = np.random.default_rng((self.options.seed, 6, epoch))
        counts = np.floor(self.weights + draws.random(len(self.weights))).astype(int)
        rows = np.repeat(np.arange(len(counts)), counts)
        rows = rows[np.argsort(self.lengths[rows] + 40 * draws.random(len(rows)), kind="stable")]
        groups = list(self._groups(rows))
        return [self._maker(groups[place], (epoch, place)) for place in draws.permutation(len(groups))]

    def _groups(self, rows):
        group: list[int] = []
        longest = 0
        for row in rows.tolist():
            length = max(longest, round_up(int(self.lengths[row]), LENGTHS))
            if group and (length * (len(group) + 1) > STEP_PIECES or len(group) == MOST):
                yield group
                group, longest = [], 0
            group.append(row)
            longest = max(longest, round_up(int(self.lengths[row]), LENGTHS))
        if group:
            yield group

    def _maker(self, group, key):
        return lambda: self.batch(group, np.random.default_rng((self.options.seed, 7, *key)))

    def batch(self, group: Sequence[int], draws: np.random.Generator) -> StepInput:
        """Return the inputs and labels of a step; the first examples are repeated to reach one of the usual sizes.

        Returns `{input: array}`, with the labels under "rows".
        """
        size = next((size for size in SIZES if size >= len(group)), len(group))
        examples = [self.examples[group[place % len(group)]] for place in range(size)]
        windows = [_window(example, draws) for example in examples]
        batch = make_batch(
            [(example.seen, window) for example, window in zip(examples, windows, strict=True)],
            self.features.embeddings,
        )
        hidden = draws.random(len(examples)) < self.options.hidden
        batch["features"][hidden, :, :MATCHES] = 0
        rows = [_inside(example, window) for example, window in zip(examples, windows, strict=True)]
        return {**batch, "rows": np.array(rows, dtype=np.int32)}


def _window(example, draws):
    """Return a window of a long passage that holds the answer at any place, or any window without an answer."""
    length = len(example.seen.passage)
    if length <= WINDOW:
        return 0, length
    first, last = example.rows or (0, length - 1)
    low, high = max(0, last - WINDOW + 1), min(first, length - WINDOW)
    start = int(draws.integers(min(low, high), max(low, high) + 1)) if example.rows else int(draws.integers(high + 1))
    return start, start + WINDOW


def _inside(example, window):
    """Return beginning and end among the logits of a window, the first of which are of no answer."""
    return (0, 0) if example.rows is None else tuple(row - window[0] + 1 for row in example.rows)


class DevScorer:
    """F1 and exact match of a network on dev, averaged over the groups of examples, such as languages."""

    def __init__(self, groups: Mapping[str, Sequence[Example]], featuriser: Featuriser) -> None:
        self.groups, self.features = groups, featuriser.features
        self.seen = {name: featuriser.featurise(examples) for name, examples in groups.items()}

    def __call__(self, network: ReaderNetwork) -> Scores:
        """Return "f1" and "em" of a network, in [0, 1]."""
        reader = SpanReader(prediction_function(network), self.features)
        means = [self._mean(reader, name, examples) for name, examples in self.groups.items()]
        em, f1 = np.mean(means, axis=0)
        return {"f1": float(f1), "em": float(em)}

    def _mean(self, reader, name, examples):
        rows = []
        for example, seen, best in zip(examples, self.seen[name], reader.spans(self.seen[name]), strict=True):
            start, end = seen.passage.character_span(best.first, best.last)
            text = seen.passage.text[start:end]
            rows.append(answer_scores(text, example.answers, example.passage.language))
        return np.mean(rows, axis=0)


def prediction_function(network: ReaderNetwork) -> Network:
    """Return the function from a batch to a network's logits, uncompiled, as compiling a shape takes seconds."""

    def logits(batch: Mapping[str, Floats]) -> Floats:
        tensors = {name: ops.convert_to_tensor(array) for name, array in batch.items()}
        return ops.convert_to_numpy(network(tensors, training=False))

    return logits


def fit_reader(
    network: ReaderNetwork, batches: Batches, dev: DevScorer, options: ReaderOptions, session: Session | None = None
) -> list[Scores]:
    """Train a network in place and keep the weights of the best F1 on dev.

    Returns scores on dev by epoch, those of the untrained start first.
    """
    schedule = Schedule(options.epochs, linear=True, warmup=0.02, judged_by=("f1", "em"))
    trainer = ReaderTrainer(network, options.learning_rate)
    return fit(trainer, batches, lambda: dev(network), schedule, name_session("reader", session))
