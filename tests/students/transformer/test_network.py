"""Packed texts of a transformer, short ones in narrow rows and long ones in wide rows: vectors as if each was alone."""

import keras
import numpy as np
import pytest
from keras import ops

from distill.encoders.batching import pad
from distill.encoders.compilation import note_longest
from distill.students.transformer import TransformerEncoder
from distill.training.batches import Shapes

SIZES = {"vocabulary": 40, "width": 12, "depth": 2, "heads": 2, "head_size": 6, "inner": 16, "positions": 300}
SIZES |= {"dimension": 12}
MODERN = {"block": "modern", "local": (1,), "window": 3, "global_theta": 60.0, "local_theta": 9.0}
BLOCKS = {"bert": {"pooling": "mean"}, "modern": {**MODERN, "pooling": "first"}}
# Texts of more than 64 tokens are long; where they are few they have arrays of their own.
LENGTHS = {
    "short and long": ([5, 300, 17, 9, 270, 64, 40, 3, 1, *[20] * 50], True),
    "one alone": ([90], False),
    "none long": ([5, 17, 64, 2], False),
    "all long": ([130, 110, 140], False),
}


@pytest.fixture(scope="module", params=BLOCKS)
def model(request, randomised):
    model = randomised(TransformerEncoder(**SIZES, **BLOCKS[request.param]), 0.3)
    note_longest(model, 300)
    return model


def texts_of(lengths):
    random = np.random.default_rng(3)
    return [random.integers(0, 40, size=length).tolist() for length in lengths]


@pytest.mark.parametrize("lengths, split", LENGTHS.values(), ids=LENGTHS)
def test_packed_texts_have_the_vectors_that_they_have_padded_in_few_shapes_too(model, lengths, split):
    texts = texts_of(lengths)
    packed, expected = model.pack(texts), np.asarray(model(pad(texts)))
    assert ("long_ids" in packed) == split
    np.testing.assert_allclose(np.asarray(model.encode_packed(**packed)), expected, atol=1e-6)
    shapes = Shapes().fit(packed)
    assert any(shapes[name].shape != packed[name].shape for name in packed)
    vectors = np.asarray(model.encode_packed(**shapes))
    np.testing.assert_allclose(vectors[: len(texts)], expected, atol=1e-6)
    assert np.isfinite(vectors).all()


@pytest.mark.parametrize("lengths, split", LENGTHS.values(), ids=LENGTHS)
def test_rows_of_fixed_widths_give_the_same_vectors(model, lengths, split):
    texts = texts_of(lengths)
    expected = np.asarray(model(pad(texts)))
    model.few_widths = True
    packed = model.pack(texts)
    model.few_widths = False
    assert packed["ids"].shape[1] == 128 and packed["long_ids"].shape[1] == 384
    vectors = np.asarray(model.encode_packed(**Shapes().fit(packed)))
    np.testing.assert_allclose(vectors[: len(texts)], expected, atol=1e-6)


def test_gradients_are_those_of_the_padded_texts(model):
    if keras.backend.backend() != "tensorflow":
        pytest.skip("asked of TensorFlow")
    import tensorflow as tf

    texts = texts_of(LENGTHS["short and long"][0])
    weights = np.random.default_rng(4).normal(size=(len(texts), 12)).astype(np.float32)

    def gradients_of(encode):
        with tf.GradientTape() as tape:
            loss = ops.sum(encode() * weights)
        return [np.array(tf.convert_to_tensor(part)) for part in tape.gradient(loss, model.trainable_weights)]

    packed = Shapes().fit(model.pack(texts))
    assert "long_ids" in packed
    got = gradients_of(lambda: model.encode_packed(**packed)[: len(texts)])
    for weight, one, other in zip(model.trainable_weights, got, gradients_of(lambda: model(pad(texts))), strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-4, atol=1e-4 * np.abs(other).max() + 1e-6, err_msg=weight.path)
