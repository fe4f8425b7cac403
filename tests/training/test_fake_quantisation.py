import importlib.util
import os
import runpy
import subprocess
import sys
from functools import partial
from pathlib import Path

import keras
import numpy as np
import pytest
from fixtures.commands import ON_JAX
from keras import ops

from distill.encoders.batching import pack
from distill.export.weights.codecs import CODECS, decode_rows, encode_table
from distill.export.weights.kernels import quantize_channels
from distill.export.weights.precision import Precision
from distill.export.weights.rewrite import balance
from distill.students.ngram import NGramEncoder
from distill.students.static import StaticEncoder
from distill.training.fake_quantisation import (
    fake_encode,
    fake_kernel,
    fake_kernels,
    fake_mixed,
    fake_rows,
    quantise_weights,
)
from distill.training.trainer import Trainer

TABLE = "embedding/embeddings"
# As many as sizes for XLA have.
TEXTS = [[1, 5, 2, 2], [1, 7, 8, 2], [1, 2], [3, 7]]
WIDTH = 40
PRECISIONS = [Precision("int8", "int4"), Precision("float32", "int8-row"), Precision("int8", "float32")]


# A table of codewords is made before training and stays.
ROUNDING = [name for name, codec in CODECS.items() if codec.trainable]


def make_table(rows=3000, width=WIDTH, seed=5):
    """Rows of very different size, up to hundreds, one of zeros, one that has one sign alone, one of ties."""
    random = np.random.default_rng(seed)
    table = random.normal(size=(rows, width)) * random.lognormal(mean=-3, sigma=2, size=(rows, 1))
    table[7], table[8] = 0, np.abs(table[8])
    table[9] = np.arange(width) / 2
    table[10, 0] = 6000
    return table.astype(np.float32)


def stored(name, table):
    return decode_rows(name, encode_table(name, table), table.shape[-1])


def values(x, codec):
    return ops.convert_to_numpy(fake_rows(ops.convert_to_tensor(x), codec))


# Rows


@pytest.mark.parametrize("width", [32, 40, 8, 96], ids="width {}".format)
@pytest.mark.parametrize("name", ROUNDING)
def test_rows_are_what_is_decoded_from_an_artefact(name, width):
    table = make_table(width=width)
    # To the rounding of x + (rounded - x).
    assert np.all(np.abs(values(table, name) - stored(name, table)) <= 1e-6 * np.abs(table).max(axis=1, keepdims=True))
    assert name == "float32" or np.any(np.abs(values(table, name) - table) > 1e-3 * np.abs(table))
    # Rows that are gathered are those of the rounded table.
    ids = np.array([[0, 7, 2999], [9, 3, 3]])
    assert np.array_equal(values(table[ids], name), values(table, name)[ids])


def test_rows_by_hand():
    # A step of 0.01 for the row, and in four bits one of 7 / 7 in the first group and of 0.7 / 7 in the second.
    row = np.zeros((1, 40), dtype=np.float32)
    row[0, :4], row[0, 32:36] = [7, -8, 1.4, -2.6], [0.7, -0.8, 0.14, -0.31]
    assert values(row, "int4")[0, :4] == pytest.approx([7, -8, 1, -3], rel=1e-4)
    # 0.1 is 25.5 of 255 parts of the largest step, rounded up to 26.
    assert values(row, "int4")[0, 32:36] == pytest.approx(np.array([7, -8, 1, -3]) * 26 / 255, rel=1e-4)
    assert values(np.array([[1.27, -1.27, 0.014, 0.0]]), "uint8")[0] == pytest.approx([1.27, -1.27, 0.01, 0], rel=1e-5)


@pytest.mark.parametrize(("codec", "size"), [("int4", 1e3), ("int4", 2e5), ("uint8", 16_000)])
def test_huge_rows(codec, size):
    # An int32 scale has 24 bits after the point and steps are at most 255: 8 * 255 * 2^7 is the largest number of four
    # bits, 127 * 2^7 that of eight.
    table = np.random.default_rng(1).normal(size=(200, WIDTH)).astype(np.float32)
    table *= np.float32(size) / np.abs(table).max(axis=1, keepdims=True)
    assert values(table, codec) == pytest.approx(stored(codec, table), rel=1e-5, abs=1e-6 * size)


# Kernels


def test_a_kernel_is_that_of_its_channels():
    kernel = (np.random.default_rng(0).normal(size=(30, 12)) * np.logspace(-6, 3, 12)).astype(np.float32)
    kernel[:, 3] = 0
    whole, scale = quantize_channels(kernel)
    got = ops.convert_to_numpy(fake_kernel(ops.convert_to_tensor(kernel)))
    assert np.all(np.abs(got - whole * scale) <= 1e-6 * np.abs(kernel).max(axis=0))
    assert np.any(np.abs(got - kernel) > 1e-3 * np.abs(kernel).max(axis=0))


def test_a_kernel_in_4_bits_keeps_8_for_its_first_inputs():
    kernel = np.random.default_rng(0).normal(size=(30, 12)).astype(np.float32)
    parts = [np.multiply(*quantize_channels(part, levels)) for part, levels in ((kernel[:5], 127), (kernel[5:], 7))]
    got = ops.convert_to_numpy(fake_mixed(ops.convert_to_tensor(kernel), 5))
    assert got == pytest.approx(np.concatenate(parts), abs=1e-5)


@pytest.mark.parametrize("rounding", [fake_kernel, *(partial(fake_rows, codec=name) for name in ROUNDING)])
def test_the_gradient_of_rounding_is_the_identity(rounding):
    import tensorflow as tf

    x, weights = tf.constant(make_table(50)), np.random.default_rng(0).normal(size=(50, WIDTH)).astype(np.float32)
    with tf.GradientTape() as tape:
        tape.watch(x)
        loss = ops.sum(rounding(x) * weights)
    assert np.array_equal(tape.gradient(loss, x), weights)


# An encoder


def make_encoder(orders=(2, 3)):
    """The same random weights on every backend; one hidden unit is read with an outlier and one hardly at all."""
    model = NGramEncoder(vocabulary=20, width=WIDTH, channels=8, orders=orders, hidden=12, dimension=10)
    random = np.random.default_rng(5)
    model.set_weights([0.3 * random.normal(size=weight.shape) for weight in model.weights])
    skip = model.get_layer("head").fourth_skip.kernel
    skip.assign(np.asarray(skip) * np.array([30, 1e-4, *[1] * 10])[:, None])
    return model


def by_numpy(model, precision):
    """`{path: weight}` as an artefact has them: pooling's kernel as it is, the head's rounded after `balance`."""
    weights = {weight.path: np.array(weight) for weight in model.weights}
    weights[TABLE] = stored(precision.table, weights[TABLE])
    if precision.dense == "float32":
        return weights
    head = {path.split("/")[1]: weight for path, weight in weights.items() if path.startswith("head/")}
    for path, weight in weights.items():
        name = path.split("/")[1]
        if path.endswith("/kernel") and path.startswith("order_"):
            weights[path] = np.multiply(*quantize_channels(weight))
        elif path.startswith("head/"):
            other = balance(head)[name]
            # What rescales the kernel, taken off again.
            weights[path] = np.multiply(*quantize_channels(other)) * (weight / other)
    return weights


def with_weights(model, weights):
    copy = NGramEncoder.from_config(model.get_config())
    for weight in copy.weights:
        weight.assign(weights[weight.path])
    return copy


def biggest_difference(one, other):
    return max(np.abs(np.asarray(a) - np.asarray(b)).max() for a, b in zip(one, other, strict=True))


@pytest.mark.parametrize("precision", PRECISIONS, ids=str)
def test_vectors_and_weights_are_those_of_an_artefact_until_it_has_its_own_again(precision):
    model = make_encoder()
    x, before, expected = pack(TEXTS, model.gap), model.get_weights(), by_numpy(model, precision)
    plain, got = np.asarray(model.encode_packed(**x)), np.asarray(fake_encode(model, precision, x))
    assert got == pytest.approx(np.asarray(with_weights(model, expected).encode_packed(**x)), abs=1e-5)
    assert np.abs(got - plain).max() > 3e-4
    assert np.array_equal(fake_encode(model, Precision("float32", "float32"), x), plain)
    # Whatever ends it.
    with pytest.raises(RuntimeError), quantise_weights(model, precision):
        assert biggest_difference(model.weights, [expected[weight.path] for weight in model.weights]) < 1e-6
        raise RuntimeError
    assert biggest_difference(model.weights, before) == 0


# Training


def to_target(vectors, x):
    return ops.mean(ops.sum(ops.square(vectors - x["target"]), axis=-1))


def make_batch(model):
    target = np.random.default_rng(2).normal(size=(len(TEXTS), 10)).astype(np.float32)
    return {**pack(TEXTS, model.gap), "target": target}


def gradients(model, precision, quantised):
    """`{path: gradient}`, by a step of SGD with a learning rate of one; and the step's loss."""
    before = {weight.path: np.array(weight) for weight in model.weights}
    trainer = Trainer(model, to_target, 1.0, precision=precision)
    # One step: on TensorFlow that takes less time than compiling it; JAX compiles every operation otherwise.
    backend = keras.backend.backend()
    trainer.compile(keras.optimizers.SGD(1.0), jit_compile=backend == "jax", run_eagerly=backend == "tensorflow")
    trainer.quantise(quantised)
    loss = float(trainer.train_on_batch(make_batch(model)))
    return {weight.path: before[weight.path] - np.array(weight) for weight in model.weights}, loss


@pytest.fixture(scope="module")
def expected():
    """The gradients at the rounded weights, and the loss."""
    model = make_encoder(orders=(2,))
    return gradients(with_weights(model, by_numpy(model, PRECISIONS[0])), PRECISIONS[0], quantised=False)


def assert_same_gradients(got, expected):
    assert got.keys() == expected.keys()
    for path, gradient in expected.items():
        largest = np.abs(gradient).max()
        assert largest > 1e-4, path
        assert np.abs(got[path] - gradient).max() < 1e-4 * largest + 1e-6, path


def test_a_weights_gradient_is_that_of_the_rounded_weight(expected):
    got, loss = gradients(make_encoder(orders=(2,)), PRECISIONS[0], quantised=True)
    assert loss == pytest.approx(expected[1], rel=1e-5)
    assert_same_gradients(got, expected[0])


def test_a_compiled_step_follows_the_switch():
    model = make_encoder(orders=(2,))
    trainer, batch = Trainer(model, to_target, 0.0, precision=PRECISIONS[0]), make_batch(model)
    encoders = {False: model, True: with_weights(model, by_numpy(model, PRECISIONS[0]))}
    losses = {on: float(to_target(one.encode_packed(**pack(TEXTS, 1)), batch)) for on, one in encoders.items()}
    assert losses[True] != pytest.approx(losses[False], rel=1e-3)
    for on in (False, True, False):
        trainer.quantise(on)
        assert float(trainer.train_on_batch(batch)) == pytest.approx(losses[on], rel=1e-5)


OTHER_BACKEND = """
import sys
from distill.system.lean_imports import lean_imports
lean_imports()
import numpy as np
import keras
from test_fake_quantisation import PRECISIONS, gradients, make_encoder, make_table, values
from test_trainer import trained

np.savez(sys.argv[1], uint8=values(make_table(), "uint8"), int4=values(make_table(), "int4"))
got, loss = gradients(make_encoder(orders=(2,)), PRECISIONS[0], quantised=True)
np.savez(sys.argv[2], loss=loss, **got)
np.savez(sys.argv[3], **trained())
print(keras.backend.backend())
"""


@pytest.mark.parametrize("backend", ["jax", "torch"])
def test_another_backend_rounds_and_trains_alike(backend, expected, tmp_path):
    if importlib.util.find_spec(backend) is None:
        pytest.skip(f"{backend} is not installed: fake quantisation is only tested on TensorFlow here")
    paths = [os.path.dirname(__file__), *sys.path]
    done = subprocess.run(
        [sys.executable, "-c", OTHER_BACKEND, *(tmp_path / f"{name}.npz" for name in ("rows", "gradients", "adam"))],
        env={**os.environ, **ON_JAX, "KERAS_BACKEND": backend, "PYTHONPATH": os.pathsep.join(paths)},
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout.split()[-1] == backend
    rows, table = np.load(tmp_path / "rows.npz"), make_table()
    for name in ("uint8", "int4"):
        off = np.abs(rows[name] - stored(name, table)) > 1e-6 * np.abs(table).max(axis=1, keepdims=True)
        # A compiler that multiplies by 1 / 127 rounds the scale of a row in some hundreds up by 2^-24.
        assert np.mean(off.any(axis=1)) < 0.01
    adam = runpy.run_path(str(Path(__file__).with_name("test_trainer.py")))
    adam["assert_close"](dict(np.load(tmp_path / "adam.npz")), adam["trained_by_numpy"]())
    got = dict(np.load(tmp_path / "gradients.npz"))
    assert got.pop("loss") == pytest.approx(expected[1], rel=1e-5)
    assert_same_gradients(got, expected[0])


CUT = {"channels": 4, "orders": (2,), "hidden": 9, "dimension": 8, "convolutions": 1, "inner": 5, "rank": 3}
SMALLER = {
    "cut": (NGramEncoder, CUT),
    "static": (StaticEncoder, {"hidden": 7, "dimension": 8}),
    "neighbours": (StaticEncoder, {"hidden": 7, "dimension": 3, "space": 8, "channels": 5, "order": 3}),
    "another's space": (StaticEncoder, {"hidden": 7, "dimension": 8, "space": 8, "foreign": True}),
    "all dimensions": (StaticEncoder, {"hidden": 7, "dimension": 8, "space": 8}),
}


@pytest.mark.parametrize("name", SMALLER)
def test_every_kernel_of_a_smaller_student_is_rounded_and_it_computes_with_that(randomised, name):
    kind, sizes = SMALLER[name]
    model = randomised(kind(vocabulary=12, width=6, **sizes))
    rounded = {variable.path for variable, _ in fake_kernels(model, "int8")}
    kernels = {weight.path for weight in model.weights if weight.path.endswith("/kernel")}
    # Pooling's is multiplied into the two after it, and a projection on all dimensions stays as it is.
    whole = {"projection/kernel"} if name == "all dimensions" else set()
    assert rounded == kernels - whole - {"pooling/dense/kernel"} and whole <= kernels
    batch, precision = pack([[3, 4, 5], [7], [1, 2, 11, 0]], model.gap), Precision("int8", "int4")
    got = np.asarray(fake_encode(model, precision, batch))
    before = np.asarray(model.encode_packed(**batch))
    with quantise_weights(model, precision):
        np.testing.assert_allclose(got, np.asarray(model.encode_packed(**batch)), atol=1e-5)
    assert np.abs(got - before).max() > 1e-4
