import keras
import numpy as np
import pytest

from distill.export.families.registry import prepare_table
from distill.export.tflite.edge import edge_model, edge_models
from distill.export.tflite.layers import stack_windows
from distill.export.weights.codecs import decode_rows, encode_table
from distill.export.weights.precision import Precision

# A kernel is rounded the same whatever the table is, and test_layers has each table by itself.
PRECISIONS = [Precision("float32", "float32"), Precision("int8", "int4"), Precision("int8", "int4-pq5")]
# The least cosine to the student on random ids, which are harder than text: their products cancel.
LEAST = {"float32": 0.997, "int4": 0.94, "int4-pq5": 0.85}
FIXED = 12


def ids_of(length, seed=0):
    return np.random.default_rng(seed + length).integers(0, 2000, size=(1, length), dtype=np.int32)


def padded(ids, length, padding=-1):
    return np.pad(ids, [(0, 0), (0, length - ids.shape[1])], constant_values=padding)


def vector(model, ids):
    return np.asarray(model(ids))[0]


def on_grid(kernel):
    """The kernel rounded to 1/127 of each channel's largest."""
    step = np.abs(kernel).max(axis=0) / 127
    return np.round(kernel / step) * step


class Rounded:
    """What an artefact of a precision computes: up to the features by Keras with rounded weights, the rest by NumPy."""

    def __init__(self, model, precision):
        model = prepare_table(model, precision)
        self.grid = on_grid if precision.dense == "int8" else lambda kernel: kernel
        self.features = self._features(model, precision)
        head, pooling = model.get_layer("head"), model.get_layer("pooling")
        kernels = {name: np.asarray(getattr(head, name).kernel) for name in head.sizes}
        # The hidden units in another unit each, the root of their largest weight in the last skip.
        unit = np.sqrt(np.abs(kernels["fourth_skip"]).max(axis=1))
        unit = unit / np.median(unit)
        first = np.concatenate([kernels["first"], kernels["second_skip"] * unit], axis=1).astype(np.float64)
        self.first = self.grid((np.asarray(pooling.dense.kernel) @ first).astype(np.float32))
        self.bias = np.asarray(pooling.bias) @ first
        self.second, self.fourth = self.grid(kernels["second"] * unit), self.grid(kernels["fourth"])
        self.third, self.skip = (self.grid(kernels[name] / unit[:, None]) for name in ("third", "fourth_skip"))

    def _features(self, model, precision):
        copy = type(model).from_config(model.get_config())
        copy.set_weights(model.get_weights())
        (table,) = copy.get_layer("embedding").get_weights()
        table = decode_rows(precision.table, encode_table(precision.table, table), table.shape[1])
        copy.get_layer("embedding").set_weights([table])
        for branch in copy.branches:
            for layer in (branch.projection, branch.first.dense, branch.second.dense):
                layer.set_weights([self.grid(np.asarray(layer.kernel)), layer.bias])
        return keras.Model(copy.input, copy.get_layer("norm").output)

    def __call__(self, ids):
        count = ids.size
        x = (np.asarray(self.features(ids))[0].sum(axis=0) @ self.first + count * self.bias) / np.sqrt(count)
        first, skip = np.split(x, 2)
        hidden = np.maximum(skip + np.maximum(first, 0) @ self.second, 0)
        x = np.tanh(hidden @ self.skip + np.maximum(hidden @ self.third, 0) @ self.fourth)
        return [x / np.linalg.norm(x)]


@pytest.fixture(scope="module")
def model(wide):
    return wide.model


@pytest.fixture(scope="module")
def edge(model):
    """Any length, int8."""
    return edge_model(model, Precision())


@pytest.mark.parametrize("precision", PRECISIONS, ids=lambda p: f"{p.dense}-{p.table}")
def test_it_is_the_student_with_rounded_weights(model, precision):
    encoder, expected = edge_model(model, precision), Rounded(model, precision)
    for ids in [*map(ids_of, (1, 2, 3, 17, 600)), np.array([[0, 1999, 1999, 0]], dtype=np.int32)]:
        got = vector(encoder, ids)
        assert np.linalg.norm(got) == pytest.approx(1, abs=1e-5)
        # float32 in another order of sums; numbers of a unit vector of 40.
        assert (ids.size, got) == (ids.size, pytest.approx(vector(expected, ids), abs=2e-5))
        assert got @ vector(model, ids) >= LEAST[precision.table]
        if precision == Precision("float32", "float32"):
            assert (ids.size, got) == (ids.size, pytest.approx(vector(model, ids), abs=5e-6))


@pytest.mark.parametrize("sliced", [False, True], ids=["masked", "sliced"])
def test_any_negative_id_is_padding_and_zero_is_a_piece(edge, model, sliced):
    fixed, ids = edge_model(model, Precision(), FIXED, sliced), np.array([[5, 0, 7, 0]], dtype=np.int32)
    assert fixed.input_shape == (1, FIXED)
    assert np.array_equal(vector(fixed, padded(ids, FIXED, -1)), vector(fixed, padded(ids, FIXED, -2000)))
    assert np.abs(vector(fixed, padded(ids, FIXED, 0)) - vector(edge, ids)).max() > 0.01
    for row in [ids, *map(ids_of, (1, 2, 3, 7, FIXED - 1, FIXED))]:
        expected = pytest.approx(vector(edge, row), abs=2e-6)
        assert (row.size, vector(fixed, padded(row, FIXED))) == (row.size, expected)
        # A model of any length takes padding too.
        assert (row.size, vector(edge, padded(row, 64))) == (row.size, expected)


def test_models_of_several_lengths_share_their_weights(edge, model):
    models = edge_models(model, Precision(), (4, FIXED))
    assert {length: one.input_shape for length, one in models.items()} == {4: (1, 4), FIXED: (1, FIXED)}
    short, long = (one.weights for one in models.values())
    assert len(short) == len(long) > 0
    assert all(one is other for one, other in zip(short, long, strict=True))
    ids = ids_of(4)
    for length, one in models.items():
        assert vector(one, padded(ids, length)) == pytest.approx(vector(edge, ids), abs=2e-6)


def test_its_input_is_one_text_and_weights_do_not_train_and_hold_no_second_table(edge):
    assert (edge.input_shape, edge.output_shape) == ((1, None), (1, 40))
    assert keras.backend.standardize_dtype(edge.inputs[0].dtype) == "int32"
    assert edge.trainable_weights == []
    whole = [weight for weight in edge.weights if len(weight.shape) == 2 and weight.shape[0] == 2000]
    kinds = sorted((keras.backend.standardize_dtype(weight.dtype), tuple(weight.shape)) for weight in whole)
    assert kinds == [("int32", (2000, 1)), ("uint8", (2000, 40))]


@pytest.mark.parametrize(
    ("order", "expected"), [(2, [[1, 2], [2, 3], [3, 0]]), (5, [[0, 0, 1, 2, 3], [0, 1, 2, 3, 0], [1, 2, 3, 0, 0]])]
)
def test_windows_by_hand(order, expected):
    assert np.asarray(stack_windows(np.float32([[1], [2], [3]]), order)).tolist() == expected
    # Of whole rows.
    assert np.asarray(stack_windows(np.float32([[1, 2], [3, 4]]), 2)).tolist() == [[1, 2, 3, 4], [3, 4, 0, 0]]
