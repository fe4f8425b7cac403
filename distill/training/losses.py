"""The losses of both stages, on rows of unit length."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TypeAlias

from keras import ops

from ..settings.sections import ScorerSettings
from ..students.student import unit
from ..system.types import Tensor

# Of two arrays of rows, over their last axis.
Distance: TypeAlias = Callable[[Tensor, Tensor], Tensor]


def cosine_distance(a: Tensor, b: Tensor) -> Tensor:
    """1 - cos(a, b) over the last axis of unit rows, in [0, 2]."""
    return 1.0 - ops.sum(a * b, axis=-1)


def squared_l2(a: Tensor, b: Tensor) -> Tensor:
    """||a - b||^2 over the last axis, in [0, 4] on unit rows."""
    return ops.sum(ops.square(a - b), axis=-1)


DISTANCES: dict[str, Distance] = {"squared_l2": squared_l2, "cosine": cosine_distance}


def nested(distance: Distance, prefixes: Sequence[int]) -> Distance:
    """A distance as its mean over the first k numbers of both, at unit length, for k of `prefixes`, and over all.

    Kusupati et al. (2022), Matryoshka representation learning, Equation 1 with equal weights; without prefixes the
    distance itself.
    """
    if not prefixes:
        return distance

    def mean(a, b):
        parts = [distance(unit(a[..., :k]), unit(b[..., :k])) for k in prefixes]
        return sum(parts, start=distance(a, b)) / (len(parts) + 1)

    return mean


def triplet_loss(
    anchor: Tensor, positive: Tensor, negatives: Tensor, margin: float = 0.3, distance: Distance = cosine_distance
) -> Tensor:
    """max(d(a, p) - d(a, n) + margin, 0), one value a triplet: `(b, n)`.

    `anchor`, `positive` `(b, d)`; `negatives` `(b, n, d)`; unit rows. CL-ReLKT, Equation 1, with cosine distance.
    """
    near = distance(anchor, positive)[:, None]  # (b, 1)
    far = distance(anchor[:, None], negatives)  # (b, n)
    return ops.relu(near - far + margin)


def contrastive_loss(
    anchor: Tensor, positive: Tensor, negatives: Tensor, temperature: float = 0.05, weights: Tensor | None = None
) -> Tensor:
    """-log softmax of the positive among the positive and the negatives, one value an anchor: `(b,)`.

    Shapes as in `triplet_loss`; `weights` `(b, n)`, 0 where a negative is only filling. Karpukhin et al. (2020),
    Equation 2, on cosine similarity divided by `temperature`; the alternative in CL-ReLKT, A.5.1.
    """
    near = ops.sum(anchor * positive, axis=-1, keepdims=True) / temperature  # (b, 1)
    far = ops.sum(anchor[:, None] * negatives, axis=-1) / temperature  # (b, n)
    if weights is not None:
        far = ops.where(weights > 0, far, -1e9)
    return ops.logsumexp(ops.concatenate([near, far], axis=1), axis=1) - near[:, 0]


def listwise_loss(scores: Tensor, teacher_scores: Tensor, temperature: float = 0.02) -> Tensor:
    """The student's cross entropy to the teacher over the same documents, one value a query: `(b,)`.

    -sum_j p_j log q_j with p and q the softmax of `teacher_scores` and `scores`, `(b, n)`, divided by `temperature`;
    less the entropy of p, so that it is 0 where they agree. ListNet's top-one loss (Cao et al., 2007, section 4.3)
    with a teacher's probabilities for the truth, as Hinton et al. (2015) distil them.
    """
    teacher = ops.log_softmax(teacher_scores / temperature, axis=-1)
    student = ops.log_softmax(scores / temperature, axis=-1)
    return ops.sum(ops.exp(teacher) * (teacher - student), axis=-1)


def in_batch_loss(scores: Tensor, same: Tensor, temperature: float = 0.05) -> Tensor:
    """-log softmax of each query's own document among the batch's, one value a query: `(b,)`.

    `scores` `(b, b + m)`: query i against the document of query j, then against `m` more, such as hard negatives;
    `same`, bool of that shape, is true where document j answers query i too: no negative, whatever its column (Sentri,
    Sorokin et al., 2022, Equation 2 and section 3.2). LAReQA (Roy et al., 2020), Equation 2; Henderson et al. (2017).
    """
    scores = scores / temperature
    diagonal = ops.eye(ops.shape(scores)[0], ops.shape(scores)[1], dtype="bool")
    scores = ops.where(ops.logical_and(same, ops.logical_not(diagonal)), -1e9, scores)
    return ops.logsumexp(scores, axis=-1) - ops.diagonal(scores)


def scorer_loss(
    scores: Tensor, labels: Tensor, settings: ScorerSettings, positive: Tensor, known: Tensor | None = None
) -> Tensor:
    """The loss towards another encoder's scores of the same texts, one value a query: `(b,)`.

    `scores`, `labels` `(b, n)`: the learner's and the scorer's, each in its own space; `positive`, bool of that shape,
    is the query's positive, one a row, and `known` is false for filling. `weight` times the cross entropy of their
    softmaxes, as `listwise_loss` with a temperature each, plus `margin_weight` times the mean over the negatives of
    ((s_+ - s_j) - (l_+ - l_j))^2: margin-MSE (Hofstätter et al., 2020, Improving efficient neural ranking models with
    cross-architecture knowledge distillation, Equation 3).
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


def transfer_loss(
    objectives: Mapping[str, Tensor],
    beta: float = 1.0,
    lambda_: float = 1.0,
    omega: float = 1.0,
    gamma: float = 100.0,
    listwise: float = 1.0,
    softmax: float = 1.0,
    translation: float = 1.0,
) -> Tensor:
    """gamma * (beta mean(qq) + lambda mean(dd) + omega mean(dq) + …), a scalar. CL-ReLKT, Equation 2.

    `objectives` maps each chosen objective to its distances, one value a sample, `(b,)`:
    "qq" T(q_en) and S(q_ne), "dd" T(d) and S(d), "dq" T(d) and S(q_ne). An absent one counts 0. Beside Equation 2's
    three: "list", `listwise_loss` over the documents, "softmax", `in_batch_loss` over them, and "translation", the same
    over lines of text, with weights of their own.
    """
    weights = {"qq": beta, "dd": lambda_, "dq": omega}
    weights |= {"list": listwise, "softmax": softmax, "translation": translation}
    return gamma * sum(weights[name] * ops.mean(value) for name, value in objectives.items())
