"""In-batch softmax with a trained scale, over a whole batch or over parts that together give its gradient."""

from __future__ import annotations

import math
from collections.abc import Mapping

import keras
from keras import ops

from ..settings.sections import ScorerSettings
from ..system.types import Tensor
from .losses import in_batch_loss, scorer_loss


class SampledSoftmax(keras.layers.Layer):
    """The mean of `in_batch_loss` over a batch, with similarities times a trained scale.

    Roy et al. (2020), Equation 2 and its footnote. The scale is the exponential of the weight, and so positive.

    For a whole batch, `vectors` `(t, d)` are those of its distinct texts. For one of `parts` they are those of the
    texts `live`, int `(l,)`, and `cached` `(t, d)` holds all of them, computed before without gradients: the loss is
    that of the whole batch and its gradient that of the part, so that the mean over all parts, times `parts`, is the
    gradient of the whole. Gao et al. (2021), Scaling deep contrastive learning batch size under memory limited setup,
    section 3. `counted`, float `(l, 1)`, is 0 for a text of another part, which is there so that no part is empty. With
    a `scorer` the mean of `scorer_loss` is added.
    """

    def __init__(self, scale: float = 20.0, parts: int = 1, scorer: ScorerSettings | None = None):
        super().__init__()
        self.parts, self.scorer = parts, scorer
        start = keras.initializers.Constant(math.log(scale))
        self.log_scale = self.add_weight(shape=(), initializer=start, name="log_scale")
        self.built = True

    @property
    def scale(self) -> float:
        """The scale as it is trained so far."""
        return math.exp(float(ops.convert_to_numpy(self.log_scale)))

    def call(self, vectors: Tensor, x: Mapping[str, Tensor]) -> Tensor:
        """Compute the loss."""
        if self.parts == 1:
            return self.loss(vectors, x, self.log_scale)
        fixed = ops.stop_gradient(vectors)
        vectors = ops.scatter_update(x["cached"], x["live"][:, None], fixed + x["counted"] * (vectors - fixed))
        # Every part sees the scale; one of them trains it.
        fixed = ops.stop_gradient(self.log_scale)
        value = self.loss(vectors, x, fixed + x["first"] * (self.log_scale - fixed))
        return ops.stop_gradient(value) + self.parts * (value - ops.stop_gradient(value))

    def loss(self, vectors: Tensor, x: Mapping[str, Tensor], log_scale: Tensor) -> Tensor:
        """Compute the loss of a whole batch.

        Args:
            vectors: The vectors of all its texts `(t, d)`.
        """
        questions, passages = ops.take(vectors, x["question"], axis=0), ops.take(vectors, x["passage"], axis=0)
        scores = ops.matmul(questions, ops.transpose(passages))  # (b, b + m)
        loss = ops.mean(in_batch_loss(scores, x["same"], ops.exp(-log_scale)))
        if self.scorer is None:
            return loss
        positive = ops.eye(ops.shape(scores)[0], ops.shape(scores)[1], dtype="bool")
        return loss + ops.mean(scorer_loss(scores, x["scorer"], self.scorer, positive, x["known"]))
