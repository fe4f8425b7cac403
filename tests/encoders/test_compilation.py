"""A step that is compiled once, whatever the lengths of its arrays."""

import keras
import numpy as np
import pytest

from distill.encoders.compilation import AnyLength


def test_a_step_of_any_length_is_compiled_once():
    if keras.backend.backend() != "tensorflow":
        pytest.skip("of TensorFlow")
    traces = []

    def step(data):
        traces.append(data["rows"].shape)
        return keras.ops.sum(data["rows"], axis=1) * data["weight"] + keras.ops.cast(data["same"][0], "float32")

    call = AnyLength(step)
    for n in (2, 5, 3):
        rows, same = np.arange(n * 4, dtype=np.float32).reshape(n, 4), np.eye(n, dtype=bool)
        sums = call({"rows": rows, "same": same, "weight": np.float32(2)})
        np.testing.assert_array_equal(sums, 2 * rows.sum(axis=1) + same[0])
        # With one more array it is another step, which is compiled once too.
        more = call({"rows": rows, "same": same, "weight": np.float32(2), "other": np.zeros(n, np.int32)})
        np.testing.assert_array_equal(more, sums)
    assert [tuple(shape) for shape in traces] == [(None, 4)] * 2
