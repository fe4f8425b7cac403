"""Adam in one operation, against Keras's own."""

import keras
import numpy as np
import pytest
from keras import ops

from distill.training.rates import make_adam

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
