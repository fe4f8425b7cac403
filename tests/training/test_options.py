"""Mixed precision, XLA and Adam in one operation take the step of float32, as far as their rounding lets them."""

from dataclasses import replace

import keras
import numpy as np
import pytest
from keras import ops

from distill.encoders.encoder import KerasEncoder
from distill.settings.sections import TeacherSettings, TrainingSettings
from distill.students.static import StaticEncoder
from distill.training.rates import make_adam
from distill.training.session import Session
from distill.training.stages.triplet_stage import TripletStage

SETTINGS = TeacherSettings(learning_rate=2e-3, bm25_epochs=1, online_epochs=0, unit="document")
MIXED = TrainingSettings(precision="mixed_bfloat16")
# The options, and how far their rounding moves the loss and the gradient. Between two numbers of bfloat16 lies 2^-8 of
# them, and a gradient is a sum over thousands of tokens whose parts nearly cancel: 2 to 4 % of it by oneDNN and Eigen.
OPTIONS = {"mixed": (MIXED, 2**-8, 0.1), "jit": (TrainingSettings(jit=True), 1e-4, 1e-3)}


@pytest.fixture(scope="module")
def every(sample):
    """All English questions are train and dev."""
    ids = [id for ids in sample.splits.values() for id in ids]
    return replace(sample, splits={split: ids for split in ("train", "dev", "test")})


@pytest.fixture(scope="module")
def in_float32(tokenizer, every):
    return step(tokenizer, every, TrainingSettings())


def step(tokenizer, data, options):
    """The loss of the first batch and its gradient `(n,)` by table and kernels: a step of descent at rate 1."""
    keras.utils.set_random_seed(1)
    model = StaticEncoder(vocabulary=len(tokenizer), width=64, hidden=16, dimension=64, channels=8)
    student = KerasEncoder(model, tokenizer)
    stage = TripletStage(student, data, "en", SETTINGS, 0, Session(options=options))
    trainer = stage.trainer
    trainer.compile(keras.optimizers.SGD(1.0), jit_compile=trainer.uses_xla)
    # That of a bias is a sum over all tokens, in bfloat16 mostly what rounding left.
    weights = [weight for weight in trainer.trainable_variables if len(weight.shape) == 2]
    before = [np.array(weight) for weight in weights]
    loss = float(trainer.train_on_batch(stage.batches(1)[0]()))
    after = [np.array(weight) for weight in weights]
    return loss, np.concatenate([(old - new).ravel() for old, new in zip(before, after, strict=True)])


@pytest.mark.parametrize("way", OPTIONS)
def test_the_loss_and_the_gradient_of_a_step_are_those_of_float32_within_rounding(tokenizer, every, in_float32, way):
    options, of_loss, of_gradient = OPTIONS[way]
    (loss, gradient), (expected, plain) = step(tokenizer, every, options), in_float32
    assert loss == pytest.approx(expected, rel=of_loss)
    off = np.linalg.norm(gradient - plain) / np.linalg.norm(plain)
    assert off < of_gradient
    # Not float32 under another name.
    assert way != "mixed" or off > 1e-3


# Each once a step: of a row that occurs twice Keras squares each gradient, not their sum.
ROWS = [[0, 3, 1], [1, 2, 0], [2, 3, 0], [3, 0, 1]]


def steps(optimizer):
    """The weights after four steps, of which each sees some rows of the table, and the optimizer."""
    keras.utils.set_random_seed(2)
    layers = [keras.layers.Embedding(5, 3), keras.layers.Flatten(), keras.layers.Dense(2)]
    model = keras.Sequential([keras.Input((3,), dtype="int32"), *layers])
    model.compile(optimizer=optimizer, loss="mse")
    for number, rows in enumerate(ROWS):
        model.optimizer.learning_rate = 0.1 / (1 + number)
        model.train_on_batch(np.array([rows]), np.ones((1, 2)))
    return [ops.convert_to_numpy(weight) for weight in model.weights], model.optimizer


@pytest.mark.parametrize("parts", [1, 2])
def test_one_operation_is_adam(parts):
    more = {"gradient_accumulation_steps": parts} if parts > 1 else {}
    expected, _ = steps(keras.optimizers.Adam(0.1, **more))
    weights, optimizer = steps(make_adam(0.1, parts))
    for one, other in zip(weights, expected, strict=True):
        np.testing.assert_allclose(one, other, atol=1e-5)
    # A row that no text of the last step has still moves by its momentum, and one that none ever had does not.
    assert [np.abs(state).max() > 0 for state in ops.convert_to_numpy(optimizer._velocities[0])] == [*[True] * 4, False]
