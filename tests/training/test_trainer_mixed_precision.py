"""bfloat16 within a step: near float32 and not the same, and nothing of it outside."""

import keras
import numpy as np
import pytest
import tensorflow as tf

from distill.encoders.batching import pack
from distill.encoders.encoder import encode_ids
from distill.export.weights.precision import Precision
from distill.settings.sections import TrainingSettings
from distill.students.ngram import NGramEncoder
from distill.students.static import StaticEncoder
from distill.students.transformer import TransformerEncoder
from distill.students.transformer.block import compute_attention, compute_fused_attention, has_fused_attention
from distill.system.device import BFLOAT16, FLOAT16
from distill.training.fake_quantisation import fake_encode
from distill.training.trainer import Trainer, apply_policy, mixed_encode

MIXED = TrainingSettings(precision="mixed_bfloat16")
TEXTS = [[1, 5, 2], [1, 7, 8, 9, 11, 2], [1, 2], list(range(1, 20)) * 8]
STUDENTS = {
    "n-grams": lambda: NGramEncoder(vocabulary=20, width=16, channels=8, orders=(2, 3), hidden=16, dimension=16),
    "factorised": lambda: NGramEncoder(
        vocabulary=20, width=16, channels=8, orders=(2,), hidden=16, dimension=8, space=16, rank=4
    ),
    "static": lambda: StaticEncoder(vocabulary=20, width=16, hidden=16, dimension=16, channels=8),
    "transformer": lambda: TransformerEncoder(20, 16, depth=2, heads=2, head_size=8, inner=24, dimension=16),
}


@pytest.fixture(params=STUDENTS)
def student(request):
    return make(request.param)


def make(kind="n-grams"):
    keras.utils.set_random_seed(2)
    model = STUDENTS[kind]()
    random = np.random.default_rng(2)
    model.set_weights([weight + random.normal(scale=0.1, size=weight.shape) for weight in model.get_weights()])
    return model


def packed(student):
    return student.pack(TEXTS)


def dtypes(student):
    return {layer.name: layer.compute_dtype for layer in student._flatten_layers()}


@pytest.mark.parametrize("policy", [BFLOAT16, FLOAT16])
def test_vectors_are_float32_near_those_without_and_all_computes_in_float32_again(student, policy):
    plain, mixed = student.encode_packed(**packed(student)), mixed_encode(student, policy, packed(student))
    assert set(dtypes(student).values()) == {"float32"}
    assert keras.backend.standardize_dtype(mixed.dtype) == "float32"
    plain, mixed = np.array(plain), np.array(mixed)
    np.testing.assert_allclose(np.linalg.norm(mixed, axis=1), 1.0, rtol=1e-5)
    # bfloat16 has eight bits: what is rounded differs by up to 2^-9, and by chance not in one direction. float16 has
    # eleven.
    difference = np.abs(mixed - plain).max()
    assert (1e-5 if policy == BFLOAT16 else 1e-6) < difference < (0.03 if policy == BFLOAT16 else 0.004)
    # Whatever ends it.
    with pytest.raises(KeyError), apply_policy(student.token_layers, policy):
        raise KeyError
    assert set(dtypes(student).values()) == {"float32"}


def test_the_layers_over_tokens_compute_in_bfloat16_and_gradients_are_float32_the_tables_of_its_rows_alone():
    model = make()
    inside = [model.get_layer("order_2").projection, model.get_layer("order_3").second.dense, model.get_layer("norm")]
    outside = [model.get_layer("embedding"), model.get_layer("pooling").dense, model.get_layer("head").first]
    with apply_policy(model.token_layers, BFLOAT16):
        assert {layer.compute_dtype for layer in inside} == {"bfloat16"}
        assert {layer.compute_dtype for layer in outside} == {"float32"}
        assert {layer.variable_dtype for layer in inside} == {"float32"}
    with tf.GradientTape() as tape:
        loss = tf.reduce_sum(mixed_encode(model, BFLOAT16, packed(model))[:, 0])
    gradients = tape.gradient(loss, model.trainable_weights)
    [table] = [g for w, g in zip(model.trainable_weights, gradients, strict=True) if w.path == "embedding/embeddings"]
    assert isinstance(table, tf.IndexedSlices)
    assert {gradient.dtype for gradient in gradients} == {tf.float32}


def test_a_trained_encoder_is_one_of_float32(tmp_path):
    model = make("static")
    trainer = Trainer(model, lambda vectors, x: tf.reduce_sum(vectors[:, 0]), 1e-2, options=MIXED)
    before = model.get_weights()
    loss = trainer.train_on_batch(pack(TEXTS, model.gap))
    expected = np.sum(np.array(make("static").encode_packed(**packed(model)))[:, 0])
    assert float(loss) == pytest.approx(float(expected), abs=0.05)
    assert {keras.backend.standardize_dtype(weight.dtype) for weight in model.weights} == {"float32"}
    assert all(not np.array_equal(old, new) for old, new in zip(before, model.get_weights(), strict=True))
    model.save(tmp_path / "model.keras")
    loaded = keras.saving.load_model(tmp_path / "model.keras")
    assert set(dtypes(loaded).values()) == {"float32"}
    np.testing.assert_array_equal(encode_ids(loaded, TEXTS), encode_ids(model, TEXTS))


def test_rounded_weights_are_computed_with_in_float32():
    model = make()
    trainer = Trainer(model, None, 1e-2, precision=Precision(), options=MIXED)
    x = pack(TEXTS, model.gap)
    mixed = np.array(trainer.call(x))
    trainer.quantise()
    np.testing.assert_array_equal(trainer.call(x), fake_encode(model, Precision(), x))
    assert not np.array_equal(mixed, np.array(trainer.call(x)))


@pytest.mark.parametrize("more", [{}, {"block": "modern", "local": (1,)}], ids=["bert", "modern"])
def test_whole_blocks_compute_in_16_bits_on_a_gpu_near_those_of_float32(more, randomised, monkeypatch):
    sizes = {"width": 32, "depth": 2, "heads": 2, "head_size": 16, "inner": 48, "dimension": 32}
    model = randomised(TransformerEncoder(20, **sizes, **more), 0.1)
    plain, dense = np.array(model.encode_packed(**model.pack(TEXTS))), mixed_encode(model, BFLOAT16, model.pack(TEXTS))
    assert all(layer in model.token_layers for layer in model.mixed_layers)
    # As if there was one; the processor has the operations too.
    monkeypatch.setattr("distill.students.transformer.network.sees_gpu", lambda backend: True)
    inside = [model.blocks[1].norm, model.blocks[0].first, model.blocks[0], *filter(None, [model.final_norm])]
    with apply_policy(model.mixed_layers, BFLOAT16):
        assert {layer.compute_dtype for layer in inside} == {"bfloat16"}
        assert model.get_layer("positions").compute_dtype == "float32"
    whole = mixed_encode(model, BFLOAT16, model.pack(TEXTS))
    assert keras.backend.standardize_dtype(whole.dtype) == "float32"
    assert 1e-5 < np.abs(np.array(whole) - plain).max() < 0.03
    assert np.abs(np.array(whole) - np.array(dense)).max() > 0
    assert set(dtypes(model).values()) == {"float32"}


def test_fused_attention_gives_the_means_of_attention():
    random = np.random.default_rng(5)
    query, key, value = (random.normal(size=(2, 3, 10, 8)).astype(np.float32) for _ in range(3))
    looks = random.integers(0, 2, size=(2, 10, 10)).astype(bool) | np.eye(10, dtype=bool)
    expected = compute_attention(query, key, value, looks)
    np.testing.assert_allclose(compute_fused_attention(query, key, value, looks), expected, atol=1e-5)
    assert not has_fused_attention(4096)


def nearer(vectors, x):
    """The squared distance to one direction."""
    return tf.reduce_mean((vectors - 0.25) ** 2)


def trained_to_one_direction(precision, steps=40):
    model = make("static")
    trainer = Trainer(model, nearer, 1e-2, options=TrainingSettings(precision=precision))
    return [float(trainer.train_on_batch(pack(TEXTS, model.gap))) for _ in range(steps)]


def test_float16_with_a_scaled_loss_learns_as_float32_does():
    whole, half = trained_to_one_direction("float32"), trained_to_one_direction("mixed_float16")
    assert half[0] == pytest.approx(whole[0], rel=1e-3) and whole[-1] < 0.2 * whole[0]
    # A hundredth of the way.
    assert half[-1] == pytest.approx(whole[-1], abs=0.01 * (whole[0] - whole[-1]))


def test_a_step_whose_gradients_overflow_moves_nothing_and_halves_the_scale():
    model = make("static")
    trainer = Trainer(model, nearer, 1e-2, options=TrainingSettings(precision="mixed_float16"))
    trainer.optimizer.build(trainer.trainable_variables)
    trainer.optimizer.dynamic_scale.assign(2.0**126)
    before = model.get_weights()
    trainer.train_on_batch(pack(TEXTS, model.gap))
    assert all(np.array_equal(one, other) for one, other in zip(before, model.get_weights(), strict=True))
    assert float(trainer.optimizer.dynamic_scale) == 2.0**125
    assert trainer.optimizer.count_skipped(1) == 1
    trainer.optimizer.dynamic_scale.assign(2.0**15)
    trainer.train_on_batch(pack(TEXTS, model.gap))
    assert not np.array_equal(before[1], model.get_weights()[1])
    assert trainer.optimizer.count_skipped(2) == 1
