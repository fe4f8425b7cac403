"""Mixed precision and XLA take the step of float32, as far as their rounding lets them."""

from dataclasses import replace

import keras
import numpy as np
import pytest

from distill.encoders.encoder import KerasEncoder
from distill.settings.sections import TeacherSettings, TrainingSettings
from distill.students.static import StaticEncoder
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
