import numpy as np
import pytest
import tensorflow as tf
from keras import ops

from distill.training.losses import SampledSoftmax

# Two questions, two positives and a hard negative, in the plane.
VECTORS = np.array([[1.0, 0.0], [0.0, 1.0], [0.6, 0.8], [0.8, 0.6], [0.8, -0.6]], dtype=np.float32)
SAME = np.array([[0, 0, 0], [1, 0, 0]], dtype=bool)


def batch(**more):
    index = {"question": np.array([0, 1], dtype=np.int32), "passage": np.array([2, 3, 4], dtype=np.int32)}
    return {name: ops.convert_to_tensor(value) for name, value in {**index, "same": SAME, **more}.items()}


def test_the_scaled_softmax_by_hand():
    e = lambda x: np.exp(3 * x)  # noqa: E731
    # The first question: 0.6 against 0.8 and 0.8; the second, without the first's passage: 0.6 against -0.6.
    expected = [-np.log(e(0.6) / (e(0.6) + 2 * e(0.8))), -np.log(e(0.6) / (e(0.6) + e(-0.6)))]
    loss = SampledSoftmax(3.0)(ops.convert_to_tensor(VECTORS), batch())
    assert float(loss) == pytest.approx(np.mean(expected), rel=1e-5)


def test_without_a_scale_it_is_the_softmax_of_dot_products():
    loss = SampledSoftmax(1.0, trained=False)
    # Of one more passage that is no negative of the second question, and of those that are one.
    expected = [-np.log(np.exp(0.6) / np.exp([0.6, 0.8, 0.8]).sum()), -np.log(np.exp(0.6) / np.exp([0.6, -0.6]).sum())]
    assert float(loss(ops.convert_to_tensor(VECTORS), batch())) == pytest.approx(np.mean(expected), rel=1e-5)
    assert loss.trainable_weights == [] and loss.scale == 1.0


def test_the_scale_is_trained_and_stays_positive():
    loss = SampledSoftmax(20.0)
    assert (len(loss.trainable_weights), loss.scale) == (1, pytest.approx(20.0, rel=1e-5))
    loss.log_scale.assign(-50.0)
    assert 0 < loss.scale < 1e-20


def test_a_part_has_the_loss_of_the_whole_batch():
    whole = SampledSoftmax(3.0)(ops.convert_to_tensor(VECTORS), batch())
    live = np.array([1, 3], dtype=np.int32)
    cached = np.where(np.isin(np.arange(5), live)[:, None], 9.0, VECTORS).astype(np.float32)
    part = SampledSoftmax(3.0, parts=2)(
        ops.convert_to_tensor(VECTORS[live]),
        batch(cached=cached, live=live, counted=np.ones((2, 1), np.float32), first=np.float32(1)),
    )
    assert float(part) == pytest.approx(float(whole), rel=1e-6)


def test_a_text_that_does_not_count_gets_no_gradient():
    vectors, live = tf.Variable(VECTORS[[0, 2]]), np.array([0, 2], dtype=np.int32)
    x = batch(cached=VECTORS, live=live, counted=np.float32([[0], [1]]), first=np.float32(1))
    with tf.GradientTape() as tape:
        loss = SampledSoftmax(3.0, parts=2)(vectors, x)
    change = np.abs(tape.gradient(loss, vectors)).max(axis=1)
    assert change[0] == 0 and change[1] > 0.01
