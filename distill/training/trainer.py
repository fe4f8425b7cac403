"""An encoder under training, as Keras trains it.

`keras.Model.fit` fixes a batch's shape from the first two it sees; packed texts differ in length from step to
step, so `loop.fit` calls `train_on_batch`, which compiles once for all lengths.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext
from dataclasses import dataclass, replace
from typing import TypeAlias

import keras
from keras import ops

from ..encoders.batching import PACKED
from ..encoders.compilation import AnyLength, compiles_each_shape
from ..export.weights.precision import Precision
from ..export.weights.stored_table import StoredTable
from ..settings.sections import TrainingSettings
from ..system.device import FLOAT16, resolve_precision
from ..system.types import Floats, Model, Tensor
from .batches import Shapes
from .devices import require_devices, share_packed
from .fake_quantisation import Codewords, fake_encode, quantise_weights
from .rates import TableSchedule, make_adam
from .training_model import TrainedModel


def mixed_encode(
    encoder: Model,
    policy: str,
    packed: Mapping[str, Tensor],
    rows: Callable[[Tensor], Tensor] | None = None,
) -> Tensor:
    """Encode packed texts in 16 bits between the table's embeddings and the sums over tokens.

    Embeddings are cast after they are gathered, so the gradient of a token is summed in float32. `policy` is keras's
    dtype policy of the layers over tokens, `device.BFLOAT16` or `device.FLOAT16`. Returns the vectors, float32 `(n,
    d)`.
    """

    def cast(x):
        return ops.cast(rows(x) if rows else x, policy.removeprefix("mixed_"))

    with apply_policy(encoder.mixed_layers, policy):
        return encoder.encode_packed(**packed, rows=cast)


@contextmanager
def apply_policy(layers: Iterable[keras.layers.Layer], policy: str) -> Iterator[None]:
    """Apply a dtype policy to layers, and those inside them, within a block."""
    before = [(layer, layer.dtype_policy) for outer in layers for layer in outer._flatten_layers()]
    try:
        for layer, _ in before:
            layer.dtype_policy = policy
        yield
    finally:
        for layer, former in before:
            layer.dtype_policy = former


# `loss(vectors, x)`, a scalar, or scalars by name whose sum is the loss; a Keras layer trains its own weights too.
Loss: TypeAlias = Callable[["Tensor", Mapping[str, "Tensor"]], "Tensor | Mapping[str, Tensor]"]


@dataclass(frozen=True)
class NamedTerms:
    """A loss of several terms, with their names; each is logged."""

    compute: Callable[[Tensor, Mapping[str, Tensor]], Mapping[str, Tensor]]
    terms: tuple[str, ...]

    def __call__(self, vectors: Tensor, x: Mapping[str, Tensor]) -> Mapping[str, Tensor]:
        """Return the terms by name, scalars whose sum is the loss."""
        return self.compute(vectors, x)


# Of dropout: a run's own seed orders the texts of its steps.
SEED = 20140615


class StepDropout(keras.layers.Dropout):
    """Dropout of the trainer, so that every student has it and saves nothing of it; it is always in training.

    Srivastava et al. (2014), Dropout: a simple way to prevent neural networks from overfitting, scaled while training,
    as Keras does it.
    """

    def call(self, x: Tensor) -> Tensor:
        """Set numbers to 0 with chance `rate`, and divide the others by 1 - `rate`."""
        return super().call(x, training=True)


@contextmanager
def apply_dropout(
    student: Model, drop: Callable[[Tensor], Tensor] | None
) -> Iterator[Callable[[Tensor], Tensor] | None]:
    """Apply dropout to a student's blocks of attention within a block, or yield it for the embeddings of others."""
    blocks = getattr(student, "blocks", []) if drop else []
    try:
        for block in blocks:
            block.drop = drop
        yield None if blocks else drop
    finally:
        for block in blocks:
            block.drop = None


def select_packed(x: Mapping[str, Tensor], prefix: str = "") -> dict[str, Tensor]:
    """Return the arrays that an encoder's `pack` made, out of a step's input; several devices share them."""
    return share_packed({name: x[prefix + name] for name in PACKED if prefix + name in x})


class Trainer(TrainedModel):
    """An encoder under training.

    Args:
        loss: Called with the vectors of a batch's packed texts and the batch. If it is a Keras layer, its weights train
            too.
        precision: The precision that `quantise` rounds weights to, by default `Precision()`.
        parts: The number of batches per step, of which the gradients' mean is taken.
        options: How steps are computed. A trainer on several devices is made within `devices.share_devices`.

    Attributes:
        before_rounding: Called with the encoder before the first step with rounded weights.
        codewords: Those of the stored table, if they are trained (`train_codewords`).
    """

    before_rounding: Callable[[Model], None] | None = None
    codewords: Codewords | None = None

    def __init__(
        self,
        encoder: Model,
        loss: Loss,
        learning_rate: float,
        train_table: bool = True,
        precision: Precision | None = None,
        parts: int = 1,
        options: TrainingSettings | None = None,
        table_schedule: TableSchedule | None = None,
    ):
        super().__init__(loss.terms if isinstance(loss, NamedTerms) else ())
        self.options = options or TrainingSettings()
        self.dropped = StepDropout(self.options.dropout, seed=SEED) if self.options.dropout else None
        self.encoder, self.batch_loss, self.parts = encoder, loss, parts
        self.precision, self.quantised = precision or Precision(), False
        students = getattr(encoder, "towers", [encoder])
        tables = [student.get_layer("embedding") for student in students]
        if table_schedule and (table_schedule.alone or table_schedule.rows is not None):
            for layer in (layer for student in students for layer in student.layers):
                layer.trainable = False
        for table in tables:
            table.trainable = train_table
        rows = [weight for table in tables for weight in table.weights]
        self.policy = resolve_precision(self.options.precision)
        optimizer = make_adam(learning_rate, parts, table_schedule, rows, scaled=self.policy == FLOAT16)
        self.compile(optimizer=optimizer, jit_compile=self.uses_xla)
        self.shapes = Shapes(require_devices(self.options)) if self.uses_xla else None
        for student in students:
            student.few_widths = self.uses_xla

    def call(self, x: Mapping[str, Tensor]) -> Tensor:
        """Return the vectors of a batch's packed texts, `(n, d)`, as the step computes them."""
        if self.quantised:
            return fake_encode(self.encoder, self.precision, select_packed(x), self.codewords)
        return self.encode_packed(self.encoder, select_packed(x))

    def encode_packed(self, student: Model, packed: Mapping[str, Tensor]) -> Tensor:
        """Encode packed texts in the precision of the options. Rounded weights are finer than bfloat16.

        Returns the vectors `(n, d)`.
        """
        # A method, as Keras would make a layer a part of the student.
        with apply_dropout(student, self.dropped.call if self.dropped else None) as rows:
            if self.policy == "float32":
                return student.encode_packed(**packed, rows=rows)
            return mixed_encode(student, self.policy, packed, rows=rows)

    @property
    def uses_xla(self) -> bool:
        """True if XLA compiles the step: on request, on several devices, and on JAX.

        A single operation is not worth sharing, and without XLA JAX computes one after another.
        """
        return compiles_each_shape(self.options.jit or self.options.devices != 1)

    def compute_terms(self, vectors: Tensor, batch: Mapping[str, Tensor]) -> Mapping[str, Tensor]:
        """Return the terms of a batch's loss, or one term if it has no names."""
        loss = self.batch_loss(vectors, batch)
        return loss if isinstance(loss, Mapping) else {"loss": loss}

    def make_train_function(self, force: bool = False) -> None:
        """Make the function of a step; on TensorFlow it is compiled once, which takes seconds, and not for every new
        shape.
        """
        if keras.backend.backend() != "tensorflow" or self.run_eagerly or self.uses_xla:
            super().make_train_function(force)
        elif force or self.train_function is None:  # type: ignore[has-type]
            self.optimizer.build(self.trainable_variables)
            step = AnyLength(lambda x: self.train_step((x,)))
            self.train_function = lambda batches: step(next(batches)[0])

    def quantise(self, on: bool = True) -> None:
        """Compute with rounded weights from the next step on, or again with exact ones."""
        if on != self.quantised:
            self.quantised = on
            if on and self.before_rounding:
                self.before_rounding(self.encoder)
            # Keras has traced the step with the other weights.
            self.make_train_function(force=True)

    def train_codewords(self, stored: StoredTable) -> None:
        """Train the codewords of the precision's stored table; steps have to be quantised."""
        values = self.add_weight(shape=stored.words.shape, initializer="zeros", name="codewords")
        values.assign(stored.words * stored.unit)
        self.codewords = Codewords(stored, values)

    def get_kept_weights(self) -> list[Floats]:
        words = [ops.convert_to_numpy(self.codewords.values)] if self.codewords else []
        return [*super().get_kept_weights(), *words]

    def set_kept_weights(self, weights: Sequence[Floats]) -> None:
        if self.codewords:
            *weights, words = weights
            self.codewords.values.assign(words)
        super().set_kept_weights(weights)

    def as_shipped(self) -> AbstractContextManager[Model | None]:
        """Return a context in which `encoder` has the weights that steps compute with: rounded ones if quantised."""
        if not self.quantised:
            return nullcontext()
        precision = self.precision
        if self.codewords:
            # A step reads these rows from the codewords, so that they may stay as they are written here.
            embeddings = self.encoder.get_layer("embedding").embeddings
            stored, table = self.codewords.store(self.codewords.stored, ops.convert_to_numpy(embeddings))
            embeddings.assign(table)
            precision = replace(precision, stored=stored)
        return quantise_weights(self.encoder, precision)
