"""Dropout within a step: by its chance, of every kind of student, and going on after a stop."""

import keras
import numpy as np
import pytest

from distill.encoders.batching import pack
from distill.encoders.encoder import encode_ids
from distill.settings.sections import TrainingSettings
from distill.students.static import StaticEncoder
from distill.students.transformer import TransformerEncoder
from distill.training.loop import assign_weights, read_weights
from distill.training.trainer import StepDropout, Trainer, apply_dropout

TEXTS = [[1, 5, 2], [1, 7, 8, 9, 11, 2], [1, 2]]


def trainer_of(dropout, precision="float32"):
    keras.utils.set_random_seed(2)
    model = StaticEncoder(vocabulary=20, width=16, hidden=16, dimension=16, channels=8)
    options = TrainingSettings(precision=precision, dropout=dropout)
    return Trainer(model, lambda vectors, x: keras.ops.sum(vectors[:, 0]), 1e-2, options=options)


def test_each_number_of_a_row_goes_by_its_chance_and_the_others_keep_the_mean():
    rows = np.asarray(StepDropout(0.25, seed=3)(np.full((1, 200, 100), 3.0, dtype="float32")))
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


@pytest.mark.parametrize("block", ["bert", "modern"])
def test_a_transformer_leaves_out_of_embeddings_of_weights_and_of_both_sums_of_a_block(block):
    keras.utils.set_random_seed(2)
    sizes = {"vocabulary": 20, "width": 8, "depth": 2, "heads": 2, "head_size": 4, "inner": 12, "positions": 16}
    model, shapes = TransformerEncoder(**sizes, dimension=8, block=block), []
    packed, plain = model.pack(TEXTS), encode_ids(model, TEXTS)
    trainer = Trainer(
        model, lambda vectors, x: keras.ops.sum(vectors[:, 0]), 1e-2, options=TrainingSettings(dropout=0.3)
    )
    first, second = np.asarray(trainer.call(packed)), np.asarray(trainer.call(packed))
    assert np.abs(first - second).max() > 0.03 and np.abs(first - plain).max() > 0.03
    np.testing.assert_array_equal(encode_ids(model, TEXTS), plain)

    def note(x):
        shapes.append(tuple(x.shape))
        return 0 * x if len(x.shape) == 4 else x

    with apply_dropout(model, note):
        vectors = np.asarray(model.encode_packed(**packed))
    rows, width = packed["ids"].shape
    tokens = (rows * width, 8)
    assert shapes == [tokens, *2 * [(rows, 2, width, width), tokens, tokens]]
    # Weights of zero: no token sees another.
    assert np.abs(vectors - plain).max() > 1e-3


def test_a_training_that_goes_on_leaves_out_what_it_would_have():
    whole, x = trainer_of(0.3), pack(TEXTS, 1)
    whole.train_on_batch(x)
    state, optimizer = read_weights(whole), read_weights(whole.optimizer)
    other = trainer_of(0.3)
    other.optimizer.build(other.trainable_variables)
    assign_weights(other, state, "here")
    assign_weights(other.optimizer, optimizer, "here")
    assert float(other.train_on_batch(x)) == float(whole.train_on_batch(x))
    for one, two in zip(other.encoder.get_weights(), whole.encoder.get_weights(), strict=True):
        np.testing.assert_array_equal(one, two)


# As many as sizes for XLA have; a piece that a step meets nine times, and some that it meets once.
FEW = [[1, 2, 2, 2, 3], [2, 2, 2, 4], [5, 2, 2, 2], [3, 6]]
TIMES, PACE = 6, 0.01
SIZES = {"vocabulary": 7, "width": 3, "hidden": 2, "dimension": 4}
TARGET = np.random.default_rng(5).normal(size=(len(FEW), 4)).astype(np.float32)


def squared(vectors, x):
    """The squared distance to the target, summed."""
    return keras.ops.sum((vectors - x["target"]) ** 2)


def start_weights():
    """`{path: weights}`, the same on every backend."""
    model, random = StaticEncoder(**SIZES, name="tiny"), np.random.default_rng(3)
    weights = {weight.path: random.normal(size=weight.shape).astype(np.float32) for weight in model.weights}
    # Every unit lets something through.
    return {**weights, "residual/first/bias": np.full(SIZES["hidden"], 3, np.float32)}


def trained(options=None):
    """`{path: weights}` after the steps."""
    model, weights = StaticEncoder(**SIZES, name="tiny"), start_weights()
    model.set_weights([weights[weight.path] for weight in model.weights])
    trainer = Trainer(model, squared, PACE, options=options)
    for _ in range(TIMES):
        trainer.train_on_batch({**pack(FEW, model.gap), "target": TARGET})
    return {weight.path: keras.ops.convert_to_numpy(weight.value) for weight in model.weights}


def unit(x):
    return x / np.linalg.norm(x)


def squared_by_numpy(w):
    """Of the texts, in float64 NumPy, after `StaticEncoder`."""
    total = 0.0
    for ids, target in zip(FEW, TARGET, strict=True):
        x = unit(w["embedding/embeddings"][ids].sum(axis=0))
        hidden = np.maximum(x @ w["residual/first/kernel"] + w["residual/first/bias"], 0)
        vector = unit((x + hidden @ w["residual/second/kernel"]) @ w["residual/lift/kernel"])
        total += ((vector - target) ** 2).sum()
    return total


def gradients(w, step=1e-6):
    """By central differences."""
    slopes = {name: np.zeros_like(array) for name, array in w.items()}
    for name, array in w.items():
        for place in np.ndindex(array.shape):
            before = array[place]
            ends = []
            for array[place] in (before + step, before - step):
                ends.append(squared_by_numpy(w))
            array[place] = before
            slopes[name][place] = (ends[0] - ends[1]) / (2 * step)
    return slopes


def trained_by_numpy():
    """The weights after the steps of Adam: Kingma and Ba (2015), Algorithm 1, with Keras's epsilon."""
    w = {name: array.astype(np.float64) for name, array in start_weights().items()}
    first, second = ({name: np.zeros_like(array) for name, array in w.items()} for _ in range(2))
    for step in range(1, TIMES + 1):
        for name, gradient in gradients(w).items():
            first[name] = 0.9 * first[name] + 0.1 * gradient
            second[name] = 0.999 * second[name] + 0.001 * gradient**2
            rate = PACE * np.sqrt(1 - 0.999**step) / (1 - 0.9**step)
            w[name] -= rate * first[name] / (np.sqrt(second[name]) + 1e-7)
    return w


def assert_close(got, expected):
    assert got.keys() == expected.keys()
    for name, array in expected.items():
        np.testing.assert_allclose(got[name], array, atol=1e-4, err_msg=name)


def test_adam_is_the_papers():
    expected = trained_by_numpy()
    moved = [np.abs(expected[name] - array).max() for name, array in start_weights().items()]
    assert min(moved) > 0.01
    assert_close(trained(), expected)
