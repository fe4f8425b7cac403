"""The losses of both stages, on unit vectors."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from typing import TypeAlias

import keras
from keras import ops

from ..settings.sections import ScorerSettings
from ..students.student import scale_to_unit
from ..system.types import Floats, Tensor

# Of two arrays of rows, over their last axis.
Distance: TypeAlias = Callable[[Tensor, Tensor], Tensor]


def cosine_distance(a: Tensor, b: Tensor) -> Tensor:
    """Compute 1 - cos(a, b) over the last axis, in [0, 2]. Returns the distances `(...)`."""
    return 1.0 - ops.sum(a * b, axis=-1)


def squared_l2(a: Tensor, b: Tensor) -> Tensor:
    """Compute ||a - b||^2 over the last axis, in [0, 4] for unit vectors. Returns the distances `(...)`."""
    return ops.sum(ops.square(a - b), axis=-1)


def make_whitened_l2(matrices: Sequence[Floats]) -> Distance:
    """Make the distance ||(a - b) M||^2: the squared error in a whitened space, over the last axis.

    Where the vectors have most of their energy along one direction that all texts share, `squared_l2` tells a learner
    little of the others, which tell texts apart. M gives them weight; see `students.linear.compute_whitening`.
    `matrices` are m of whole vectors, and of each prefix that is compared, `(k, k)`; the vectors' length chooses.
    """
    by_length = {len(matrix): matrix for matrix in matrices}

    def whitened_l2(a, b):
        error = a - b
        return ops.sum(ops.square(ops.matmul(error, by_length[error.shape[-1]])), axis=-1)

    return whitened_l2


# Those that need no matrix.
DISTANCES: dict[str, Distance] = {"squared_l2": squared_l2, "cosine": cosine_distance}


def nest_distance(distance: Distance, prefixes: Sequence[int]) -> Distance:
    """Turn a distance into its mean over prefixes of the vectors.

    Kusupati et al. (2022), Matryoshka representation learning, Equation 1 with equal weights. `prefixes` are the
    lengths k. The first k numbers of both vectors are scaled to unit length; the whole vectors count too.
    """
    if not prefixes:
        return distance

    def mean(a, b):
        parts = [distance(scale_to_unit(a[..., :k]), scale_to_unit(b[..., :k])) for k in prefixes]
        return sum(parts, start=distance(a, b)) / (len(parts) + 1)

    return mean


def triplet_loss(
    anchor: Tensor, positive: Tensor, negatives: Tensor, margin: float = 0.3, distance: Distance = cosine_distance
) -> Tensor:
    """Compute max(d(a, p) - d(a, n) + margin, 0). CL-ReLKT, Equation 1, with cosine distance.

    Returns one value per triplet, `(b, n)`.
    """
    near = distance(anchor, positive)[:, None]  # (b, 1)
    far = distance(anchor[:, None], negatives)  # (b, n)
    return ops.relu(near - far + margin)


def contrastive_loss(
    anchor: Tensor, positive: Tensor, negatives: Tensor, temperature: float = 0.05, weights: Tensor | None = None
) -> Tensor:
    """Compute -log softmax of the positive among the positive and the negatives.

    Karpukhin et al. (2020), Equation 2, on cosine similarity divided by `temperature`; the alternative in CL-ReLKT,
    A.5.1. `weights` is `(b, n)`, 0 for a negative that is filling. Returns one value per anchor, `(b,)`.
    """
    near = ops.sum(anchor * positive, axis=-1, keepdims=True) / temperature  # (b, 1)
    far = ops.sum(anchor[:, None] * negatives, axis=-1) / temperature  # (b, n)
    if weights is not None:
        far = ops.where(weights > 0, far, -1e9)
    return ops.logsumexp(ops.concatenate([near, far], axis=1), axis=1) - near[:, 0]


def listwise_loss(scores: Tensor, teacher_scores: Tensor, temperature: float = 0.02) -> Tensor:
    """Compute the student's cross entropy to the teacher over the same documents.

    The loss is -sum_j p_j log q_j with p and q the softmax of the teacher's and the student's scores divided by the
    temperature, less the entropy of p, so that it is 0 if they agree. ListNet's top-one loss (Cao et al., 2007, section
    4.3) with a teacher's probabilities for the truth, as Hinton et al. (2015) distil them. `scores` are the student's
    scores `(b, n)`. `teacher_scores` are the teacher's scores `(b, n)`. Returns one value per query, `(b,)`.
    """
    teacher = ops.log_softmax(teacher_scores / temperature, axis=-1)
    student = ops.log_softmax(scores / temperature, axis=-1)
    return ops.sum(ops.exp(teacher) * (teacher - student), axis=-1)


def in_batch_loss(scores: Tensor, same: Tensor, temperature: float = 0.05) -> Tensor:
    """Compute -log softmax of each query's own document among the batch's.

    LAReQA (Roy et al., 2020), Equation 2; Henderson et al. (2017); Sentri (Sorokin et al., 2022), Equation 2 and
    section 3.2. Returns one value per query, `(b,)`.

    Args:
        scores: `(b, b + m)`: query i against the document of query j, then against m more, such as hard negatives.
        same: bool `(b, b + m)`, true if document j answers query i too. It is then no negative.
    """
    scores = scores / temperature
    diagonal = ops.eye(ops.shape(scores)[0], ops.shape(scores)[1], dtype="bool")
    scores = ops.where(ops.logical_and(same, ops.logical_not(diagonal)), -1e9, scores)
    return ops.logsumexp(scores, axis=-1) - ops.diagonal(scores)


def scorer_loss(
    scores: Tensor, labels: Tensor, settings: ScorerSettings, positive: Tensor, known: Tensor | None = None
) -> Tensor:
    """Compute the loss towards another encoder's scores of the same texts.

    It is `weight` times the cross entropy of the two softmaxes, as in `listwise_loss` with a temperature each, plus
    `margin_weight` times the mean over the negatives of ((s_+ - s_j) - (l_+ - l_j))^2: margin-MSE (Hofstätter et al.,
    2020, Improving efficient neural ranking models with cross-architecture knowledge distillation, Equation 3). Returns
    one value per query, `(b,)`.

    Args:
        positive: bool `(b, n)`, true for the query's positive, one per row.
        known: bool `(b, n)`, false for filling.
    """
    known = ops.ones_like(positive) if known is None else known
    learner = ops.where(known, scores / settings.learner_temperature, -1e9)
    loss = settings.weight * listwise_loss(learner, ops.where(known, labels / settings.temperature, -1e9), 1.0)
    if not settings.margin_weight:
        return loss
    negative = ops.cast(ops.logical_and(known, ops.logical_not(positive)), scores.dtype)
    margin, label = (
        ops.sum(ops.where(positive, each, 0.0), axis=-1, keepdims=True) - each for each in (scores, labels)
    )
    errors = ops.sum(negative * ops.square(margin - label), axis=-1)
    return loss + settings.margin_weight * errors / ops.maximum(ops.sum(negative, axis=-1), 1.0)


def transfer_terms(
    objectives: Mapping[str, Tensor], weights: Mapping[str, float], gamma: float = 100.0
) -> dict[str, Tensor]:
    """Compute the terms of gamma * (beta mean(qq) + lambda mean(dd) + omega mean(dq) + …). CL-ReLKT, Equation 2.

    Three objectives come in addition to the paper's: "list", `listwise_loss` over the documents; "softmax",
    `in_batch_loss` over them; and "translation", the same over lines of text. `objectives` are the distances of each
    chosen objective, one value per sample, `(b,)`: "qq" of T(q_en) and S(q_ne), "dd" of T(d) and S(d), "dq" of T(d) and
    S(q_ne). `weights` are the weight of each objective: beta of "qq", lambda of "dd", omega of "dq". Returns scalars by
    objective, whose sum is the loss.
    """
    return {name: gamma * weights[name] * ops.mean(value) for name, value in objectives.items()}


class SampledSoftmax(keras.layers.Layer):
    """The mean of `in_batch_loss` over a batch, with similarities times a trained scale.

    Roy et al. (2020), Equation 2 and its footnote. The scale is the exponential of the weight, and so positive. A scale
    of 1 that is not `trained` leaves dot products: Sorokin et al. (2022), Equations 1 and 2; Karpukhin et al. (2020).

    For a whole batch, `vectors` `(t, d)` are those of its distinct texts. For one of `parts` they are those of the
    texts `live`, int `(l,)`, and `cached` `(t, d)` holds all of them, computed before without gradients: the loss is
    that of the whole batch and its gradient that of the part, so that the mean over all parts, times `parts`, is the
    gradient of the whole. Gao et al. (2021), Scaling deep contrastive learning batch size under memory limited setup,
    section 3. `counted`, float `(l, 1)`, is 0 for a text of another part, which is there so that no part is empty. With
    a `scorer` the mean of `scorer_loss` is added.
    """

    def __init__(self, scale: float = 20.0, parts: int = 1, scorer: ScorerSettings | None = None, trained: bool = True):
        super().__init__()
        self.parts, self.scorer = parts, scorer
        start = keras.initializers.Constant(math.log(scale))
        self.log_scale = self.add_weight(shape=(), initializer=start, trainable=trained, name="log_scale")
        self.built = True

    @property
    def scale(self) -> float:
        """The scale as it is trained so far."""
        return math.exp(float(ops.convert_to_numpy(self.log_scale)))

    def call(self, vectors: Tensor, x: Mapping[str, Tensor]) -> Tensor:
        if self.parts == 1:
            return self.loss(vectors, x, self.log_scale)
        fixed = ops.stop_gradient(vectors)
        vectors = ops.scatter_update(x["cached"], x["live"][:, None], fixed + x["counted"] * (vectors - fixed))
        # Every part sees the scale; one of them trains it.
        fixed = ops.stop_gradient(self.log_scale)
        value = self.loss(vectors, x, fixed + x["first"] * (self.log_scale - fixed))
        return ops.stop_gradient(value) + self.parts * (value - ops.stop_gradient(value))

    def loss(self, vectors: Tensor, x: Mapping[str, Tensor], log_scale: Tensor) -> Tensor:
        """Compute the loss of a whole batch. `vectors` are the vectors of all its texts `(t, d)`."""
        questions, passages = ops.take(vectors, x["question"], axis=0), ops.take(vectors, x["passage"], axis=0)
        scores = ops.matmul(questions, ops.transpose(passages))  # (b, b + m)
        loss = ops.mean(in_batch_loss(scores, x["same"], ops.exp(-log_scale)))
        if self.scorer is None:
            return loss
        positive = ops.eye(ops.shape(scores)[0], ops.shape(scores)[1], dtype="bool")
        return loss + ops.mean(scorer_loss(scores, x["scorer"], self.scorer, positive, x["known"]))
