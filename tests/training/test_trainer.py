"""Dropout within a step: by its chance, of every kind of student, and going on after a stop."""

import keras
import numpy as np
import pytest
import tensorflow as tf

from distill.encoders.batching import pack
from distill.encoders.encoder import encode_ids
from distill.settings.sections import TrainingSettings
from distill.students.static import StaticEncoder
from distill.training.loop import assign, weights_of
from distill.training.trainer import RowDropout, Trainer

TEXTS = [[1, 5, 2], [1, 7, 8, 9, 11, 2], [1, 2]]


def trainer_of(dropout, precision="float32"):
    keras.utils.set_random_seed(2)
    model = StaticEncoder(vocabulary=20, width=16, hidden=16, dimension=16, channels=8)
    options = TrainingSettings(precision=precision, dropout=dropout)
    return Trainer(model, lambda vectors, x: tf.reduce_sum(vectors[:, 0]), 1e-2, options=options)


def test_each_number_of_a_row_goes_by_its_chance_and_the_others_keep_the_mean():
    rows = np.asarray(RowDropout(0.25, seed=3)(np.full((1, 200, 100), 3.0, dtype="float32")))
    np.testing.assert_allclose(np.unique(rows), [0.0, 3.0 / 0.75])
    # A share of 20,000 draws has a standard deviation of .003.
    assert np.mean(rows == 0) == pytest.approx(0.25, abs=0.015)


@pytest.mark.parametrize("precision", ["float32", "mixed_bfloat16"])
def test_a_step_has_vectors_of_its_own_and_the_encoder_computes_without(precision):
    trainer, x = trainer_of(0.3, precision), pack(TEXTS, 1)
    plain = encode_ids(trainer.encoder, TEXTS)
    first, second = np.asarray(trainer.call(x)), np.asarray(trainer.call(x))
    assert np.abs(first - second).max() > 0.03 and np.abs(first - plain).max() > 0.03
    np.testing.assert_array_equal(np.asarray(trainer_of(0.3, precision).call(x)), first)
    np.testing.assert_array_equal(encode_ids(trainer.encoder, TEXTS), plain)
    np.testing.assert_allclose(trainer_of(0.0).call(x), plain, atol=1e-6)


def test_a_training_that_goes_on_leaves_out_what_it_would_have():
    whole, x = trainer_of(0.3), pack(TEXTS, 1)
    whole.train_on_batch(x)
    state, optimizer = weights_of(whole), weights_of(whole.optimizer)
    other = trainer_of(0.3)
    other.optimizer.build(other.trainable_variables)
    assign(other, state, "here")
    assign(other.optimizer, optimizer, "here")
    assert float(other.train_on_batch(x)) == float(whole.train_on_batch(x))
    for one, two in zip(other.encoder.get_weights(), whole.encoder.get_weights(), strict=True):
        np.testing.assert_array_equal(one, two)
