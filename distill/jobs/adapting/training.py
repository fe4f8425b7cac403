"""Train the layers after the sums on a collection: its headings and sentences are queries for its passages."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import keras
import numpy as np
from keras import ops

from ...data.parallel import Parallel
from ...encoders.compilation import AnyLength
from ...encoders.encoder import KerasEncoder
from ...students.embeddings import TABLE, replace_table
from ...students.student import Student
from ...system.types import Floats, Integers, Tensor
from ...training.batches import StepInput
from ...training.log import RunLog
from ...training.loop import fit
from ...training.losses import in_batch_loss, squared_l2
from ...training.session import Schedule, Scores, Session
from ...training.training_model import TrainedModel
from .pooled_features import PooledFeatures, PooledPassages, concatenate

# Sentences that stay in their passage: Lee et al. (2019), section 4.
LEFT_IN = 0.1
# Of a step's pairs those that a sentence asks, where headings do too, and those of parallel text, where there is any.
SENTENCES, LINES = 0.375, 0.25


@dataclass(frozen=True)
class Pairs:
    """Queries and the passages that answer them, with the `groups` `(n,)` of passages that may answer the same."""

    queries: PooledFeatures
    passages: PooledFeatures
    groups: Integers


# `(random, n)` to so many pairs.
Draw = Callable[[np.random.Generator, int], Pairs]


def pair_headings(summed: PooledPassages, asking: PooledFeatures, rows: Integers, groups: Integers) -> Draw:
    """Pair headings, by their features `(m, f)`, with the rows of their passages `(m,)`."""

    def draw(random: np.random.Generator, count: int) -> Pairs:
        chosen = random.integers(len(rows), size=count)
        return Pairs(asking.of(chosen), summed.passages.of(rows[chosen]), groups[rows[chosen]])

    return draw


def pair_sentences(summed: PooledPassages, rows: Integers, groups: Integers) -> Draw:
    """Pair sentences with their passages, usually without the sentence itself."""
    learned = np.flatnonzero(np.isin(summed.passage_of, rows) & ~summed.alone)

    def draw(random: np.random.Generator, count: int) -> Pairs:
        chosen = learned[random.integers(len(learned), size=count)]
        left = random.random(count) < LEFT_IN
        taken_out, whole = summed.without(chosen), summed.passages.of(summed.passage_of[chosen])
        features = np.where(left[:, None], whole.features, taken_out.features)
        passages = PooledFeatures(features, np.where(left[:, None], whole.counts, taken_out.counts))
        return Pairs(summed.sentences.of(chosen), passages, groups[summed.passage_of[chosen]])

    return draw


def pair_translations(sources: Sequence[Parallel], sums: Callable[[Sequence[str]], PooledFeatures]) -> Draw:
    """Pair lines with their translations into the documents' language, each source by its weight."""
    lines = [concatenate([sums(source.texts), sums(source.pivots)]) for source in sources]
    weights = np.array([source.weight for source in sources]) / sum(source.weight for source in sources)
    first = np.cumsum([0, *(len(source.texts) for source in sources)])

    def draw(random: np.random.Generator, count: int) -> Pairs:
        parts = []
        for number, drawn in enumerate(random.multinomial(count, weights)):
            length = len(sources[number].texts)
            rows = random.integers(length, size=drawn)
            groups = -1 - first[number] - rows
            parts.append(Pairs(lines[number].of(rows), lines[number].of(length + rows), groups))
        return concatenate_pairs(parts)

    return draw


def concatenate_pairs(parts: Sequence[Pairs]) -> Pairs:
    queries, passages = concatenate([part.queries for part in parts]), concatenate([part.passages for part in parts])
    return Pairs(queries, passages, np.concatenate([part.groups for part in parts]))


def mix_pairs(of_headings: Draw | None, of_sentences: Draw, of_lines: Draw | None) -> Draw:
    """Draw pairs of all kinds that there are."""

    def draw(random: np.random.Generator, count: int) -> Pairs:
        lines = round(LINES * count) if of_lines else 0
        sentences = round(SENTENCES * (count - lines)) if of_headings else count - lines
        parts = [of_sentences(random, sentences)]
        parts += [of_headings(random, count - lines - sentences)] if of_headings else []
        return concatenate_pairs(parts + ([of_lines(random, lines)] if of_lines else []))

    return draw


# Chosen on the dev half of benchmarks/adaptation.
ROUNDS, STEPS, PAIRS, RATE, WARMUP = 4, 50, 256, 2e-4, 0.1
TEMPERATURE, KEEP = 0.05, 1.0
# Texts that go through the layers at once.
BLOCK = 4096


def encode_sums(model: Student, sums: Tensor, counts: Tensor) -> Tensor:
    """Compute the vectors `(n, d)` of sums `(n, f)` of `(n, 1)` tokens."""
    vectors = model.pool(sums, counts)
    return model.get_layer("projection")(vectors) if model.space else vectors


class Head:
    """The layers of a student after the sums, compiled once."""

    def __init__(self, model: Student) -> None:
        self.model = model
        self.step = AnyLength(self._vectors) if keras.backend.backend() == "tensorflow" else self._vectors

    def _vectors(self, x):
        return encode_sums(self.model, x["features"], x["counts"])

    def vectors(self, sums: PooledFeatures) -> Floats:
        """Return the vectors `(n, d)` of sums, block by block."""
        blocks = (sums.of(rows) for rows in np.split(np.arange(len(sums)), range(BLOCK, len(sums), BLOCK)))
        each = [self.step({"features": one.features, "counts": one.counts}) for one in blocks]
        return np.concatenate([ops.convert_to_numpy(part) for part in each])


class HeadTrainer(TrainedModel):
    """Trains the layers of a student after the sums: a softmax among a step's passages, and closeness to the start.

    The loss is mean_i -log softmax_j(q_i . p_j / T)_i + KEEP x (|q_i - q'_i|^2 + |p_i - p'_i|^2), with ' the start's
    vectors and T `TEMPERATURE`. Passages of the query's own group do not compete.
    """

    def __init__(self, student: Student, rate: float = RATE) -> None:
        super().__init__()
        self.encoder = student
        trained = head_layers(student)
        for layer in student.layers:
            layer.trainable = any(layer is one for one in trained)
        self.compile(optimizer=keras.optimizers.Adam(rate), jit_compile=False)
        # Within a step TensorFlow would make its variables, and compile the step twice.
        self.optimizer.build(self.trainable_variables)

    def call(self, x: Mapping[str, Tensor]) -> Tensor:
        """Return the vectors of queries, then of passages, `(2n, d)`."""
        return encode_sums(self.encoder, x["features"], x["counts"])

    def compute_terms(self, vectors: Tensor, batch: Mapping[str, Tensor]) -> Mapping[str, Tensor]:
        """Return the softmax's term, and that of closeness to the start."""
        queries, passages = ops.split(vectors, 2)
        ranked = ops.mean(in_batch_loss(ops.matmul(queries, ops.transpose(passages)), batch["same"], TEMPERATURE))
        return {"ranking": ranked, "closeness": 2 * KEEP * ops.mean(squared_l2(vectors, batch["start"]))}


def head_layers(student: Student) -> list[keras.layers.Layer]:
    """Return the layers of a student after the sums, which train."""
    return [layer for layer in student.layers if layer.weights and layer.name != TABLE and _is_behind(student, layer)]


def _is_behind(student, layer):
    return not any(layer is one for one in student.token_layers) and layer.trainable


@dataclass(frozen=True)
class TrainedHead:
    """The student, the weights of its layers after the sums before and after training, and each round's dev score."""

    encoder: KerasEncoder
    before: list[list[Floats]]
    after: list[list[Floats]]
    scores: list[Scores]

    def interpolate(self, share: float) -> Head:
        """Interpolate the weights of start and student. Wortsman et al. (2022), section 3."""
        for layer, first, last in zip(head_layers(self.encoder.model), self.before, self.after, strict=True):
            layer.set_weights([share * a + (1 - share) * b for a, b in zip(first, last, strict=True)])
        return Head(self.encoder.model)


# Of the layers as they are trained so far, on held-out queries: (MRR@10, P@1).
Score = Callable[[Head], tuple[float, float]]


def train_head(start: KerasEncoder, draw: Draw, pairs: int, score: Score, log: RunLog, seed: int = 0) -> TrainedHead:
    """Train a copy of a student's layers after the sums.

    Each round of steps is an epoch of `training.loop.fit`: the best one stays, by MRR@10, then P@1, and one that is no
    better ends the training.
    """
    table = start.model.get_layer(TABLE).get_weights()[0]
    model = replace_table(start.model, table)
    layers, first, head = head_layers(model), Head(start.model), Head(model)
    before, random = [layer.get_weights() for layer in layers], np.random.default_rng(seed)

    def make() -> StepInput:
        return make_batch(draw(random, pairs), first)

    def evaluate() -> Scores:
        reciprocal, precision = score(head)
        return {"mrr@10": reciprocal, "p@1": precision}

    schedule = Schedule(ROUNDS, patience=1, linear=True, warmup=WARMUP, judged_by=("mrr@10", "p@1"))
    scores = fit(
        HeadTrainer(model, RATE), lambda epoch: [make] * STEPS, evaluate, schedule, Session(log, stage="student")
    )
    after = [layer.get_weights() for layer in layers]
    return TrainedHead(KerasEncoder(model, start.tokenizer, "student"), before, after, scores)


def make_batch(pairs: Pairs, start: Head) -> StepInput:
    """Make the input of a step: the sums of queries and passages, the start's vectors, and the shared groups."""
    sums = concatenate([pairs.queries, pairs.passages])
    same = pairs.groups[:, None] == pairs.groups[None]
    return {"features": sums.features, "counts": sums.counts, "start": start.vectors(sums), "same": same}
