"""Objective "tokens": the student learns the last state of each token beside the vectors of texts.

A vector is the mean of its text's states, so that a teacher has more to say of a text: of one of thirty tokens thirty
states in place of one vector. What it costs is the teacher's own pass over the texts of a step.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from keras import ops

from ..catalog.cached import CachedEncoder
from ..encoders.encoder import KerasEncoder
from ..errors import EncoderError
from ..training.losses import token_loss
from ..training.mixed_precision import mixed_encode
from ..training.trainer import Trainer, select_packed

if TYPE_CHECKING:
    from ..encoders.encoder import Encoder
    from ..system.types import Model, Tensor


class TokenTrainer(Trainer):
    """A `Trainer` whose loss has beside it `weight` times `losses.token_loss` to a `teacher`, which stays as it is.

    The teacher is a network with `encode_tokens`, of the encoder's width and for the same ids; `follow` sets it.
    """

    teacher: Model
    weight: float

    def follow(self, teacher: Model, weight: float) -> TokenTrainer:
        """Set the teacher and the weight; returns the trainer."""
        teacher.trainable = False
        self.teacher, self.weight = teacher, weight
        return self

    def call(self, x: Mapping[str, Tensor]) -> tuple[Tensor, Tensor]:
        """The vectors of a batch's packed texts, `(n, d)`, and the last states of their tokens, `(t, width)`."""
        return self.as_trained(self.encoder.encode_tokens, select_packed(x))

    def compute_loss(
        self,
        x: Mapping[str, Tensor] | None = None,
        y: None = None,
        y_pred: Tensor = None,
        sample_weight: None = None,
        training: bool = True,
    ) -> Tensor:
        """The loss of a batch `x` of whose texts and tokens `y_pred` are the vectors and the states."""
        vectors, states = y_pred
        packed = {name: ops.convert_to_tensor(value) for name, value in select_packed(x or {}).items()}
        loss = super().compute_loss(x, y, vectors, sample_weight, training)
        return loss + self.weight * token_loss(states, self._targets(packed), are_there(packed))

    def _targets(self, packed):
        encode = self.teacher.encode_tokens
        if self.policy == "float32":
            return ops.stop_gradient(encode(**packed)[1])
        return ops.stop_gradient(mixed_encode(self.teacher, self.policy, packed, encode=encode)[1])


def are_there(packed: Mapping[str, Tensor]) -> Tensor:
    """1 for each token of packed texts and 0 for padding, float32 `(t,)`, in the order of `encode_tokens`."""
    ids = [ops.reshape(packed[name], (-1,)) for name in ("ids", "long_ids") if name in packed]
    return ops.cast(ops.greater_equal(ops.concatenate(ids), 0), "float32")


def token_teacher(teacher: Encoder, start: KerasEncoder) -> KerasEncoder:
    """Return the encoder whose states a student learns: the teacher without what keeps its vectors.

    Raises `EncoderError` where one of the two is no transformer, or they differ in width or pieces.
    """
    one = _with_states(teacher.encoder if isinstance(teacher, CachedEncoder) else teacher, "teacher")
    other = _with_states(start, "student")
    if one.model.width != other.model.width:
        raise EncoderError(
            f"student.objectives: the teacher's tokens have {one.model.width} numbers and the student's "
            f"{other.model.width}; leave tokens out, or start from the teacher with fewer layers"
        )
    if one.tokenizer.proto != other.tokenizer.proto:
        raise EncoderError(
            "student.objectives: the teacher cuts texts into other pieces than the student, so that their tokens "
            "have no common states; give the teacher with the student's pieces, as distill prune makes it"
        )
    return one


def _with_states(encoder, whose):
    if isinstance(encoder, KerasEncoder) and hasattr(encoder.model, "encode_tokens"):
        return encoder
    raise EncoderError(
        f"student.objectives: tokens needs the states of a transformer's tokens, and the {whose} has none; leave it out"
    )
