import keras
import numpy as np
import pytest

from distill.encoders.batching import pack, pad
from distill.students.ngram import Convolution, Head, NGramEncoder, Pooling

VOCABULARY = 30
# Lengths 1 to 9: single tokens, shorter than a window, longer than one.
LENGTHS = (1, 4, 1, 9, 2, 6, 3)


def encoder(orders=(2, 3, 5), seed=0):
    """All weights random, biases and LayerNorm gains too: at their initial values a forgotten one would not show."""
    model = NGramEncoder(vocabulary=VOCABULARY, width=6, channels=4, orders=orders, hidden=24, dimension=16)
    rng = np.random.default_rng(seed)
    # So small that tanh does not saturate, which would hide differences.
    model.set_weights([rng.normal(scale=0.25, size=w.shape) for w in model.get_weights()])
    return model


@pytest.fixture(scope="module")
def model():
    return encoder()


@pytest.fixture(scope="module")
def texts():
    rng = np.random.default_rng(1)
    return [rng.integers(0, VOCABULARY, size=n).tolist() for n in LENGTHS]


def named(model):
    """Weights by path, without the model's own name."""
    return {w.path: np.asarray(w, dtype=np.float64) for w in model.weights}


def reference(model, ids):
    """One text through mUSE's architecture in float64 NumPy, token by token."""
    w = named(model)
    x = w["embedding/embeddings"][ids]
    joined = [x]
    for order in model.orders:
        name = f"order_{order}"
        h = x @ w[f"{name}/projection/kernel"] + w[f"{name}/projection/bias"]
        h = normalised(h, w[f"{name}/norm/gamma"], w[f"{name}/norm/beta"])
        for part in ("first", "second"):
            h = h + convolved(h, w[f"{name}/{part}/dense/kernel"], w[f"{name}/{part}/dense/bias"], order)
        joined.append(h)
    features = normalised(np.concatenate(joined, axis=1), w["norm/gamma"], w["norm/beta"])
    pooled = (features @ w["pooling/dense/kernel"] + w["pooling/bias"]).sum(axis=0) / np.sqrt(len(ids))
    dense = {name: w[f"head/{name}/kernel"] for name in model.get_layer("head").sizes}
    hidden = relu(pooled @ dense["second_skip"] + relu(pooled @ dense["first"]) @ dense["second"])
    out = np.tanh(hidden @ dense["fourth_skip"] + relu(hidden @ dense["third"]) @ dense["fourth"])
    return out / np.linalg.norm(out)


def normalised(x, gain, shift):
    centred = x - x.mean(axis=1, keepdims=True)
    return centred / np.sqrt((centred**2).mean(axis=1, keepdims=True)) * gain + shift


def convolved(x, kernel, bias, order):
    """ReLU of a "same" convolution, which for an even order has its extra tap on the right."""
    taps = kernel.reshape(order, x.shape[1], -1)
    out = np.tile(bias, (len(x), 1))
    for token in range(len(x)):
        for tap in range(order):
            source = token + tap - (order - 1) // 2
            if 0 <= source < len(x):
                out[token] += x[source] @ taps[tap]
    return relu(out)


def relu(x):
    return np.maximum(x, 0)


def vectors_of(model, rows):
    return np.asarray(model(rows))


def packed_vectors(model, texts, gap=None):
    return np.asarray(model.encode_packed(**pack(texts, model.gap if gap is None else gap)))


@pytest.mark.parametrize("orders", [(1,), (2,), (3,), (4, 5), (2, 3, 5)])
def test_vectors_are_those_of_the_architecture_in_numpy(orders, texts):
    model = encoder(orders)
    expected = np.stack([reference(model, ids) for ids in texts])
    np.testing.assert_allclose(vectors_of(model, pad(texts)), expected, atol=1e-6)


@pytest.mark.parametrize("orders", [(1,), (2,), (3,), (4, 5), (2, 3, 5)])
def test_packed_texts_have_the_vectors_that_numpy_gives_each_alone(orders, texts):
    model = encoder(orders)
    expected = np.stack([reference(model, ids) for ids in texts])
    np.testing.assert_allclose(packed_vectors(model, texts), expected, atol=1e-6)


def test_rows_are_float32_of_unit_length(model, texts):
    vectors = vectors_of(model, pad(texts))
    assert vectors.dtype == np.float32
    assert vectors.shape == (len(texts), 16)
    np.testing.assert_allclose(np.linalg.norm(vectors, axis=1), 1.0, atol=1e-6)


def test_padding_of_any_length_changes_nothing(model):
    ids = [3, 7, 11]
    longer = ids + [-1] * 13
    np.testing.assert_allclose(vectors_of(model, np.array([longer], "int32")), [reference(model, ids)], atol=1e-6)


def test_any_negative_id_is_padding(model):
    rows = np.array([[3, 7, 11, -1, -1, -1], [3, 7, 11, -2, -128000, np.iinfo(np.int32).min]], dtype="int32")
    one, other = vectors_of(model, rows)
    np.testing.assert_allclose(one, other, atol=1e-6)


def test_padding_before_a_text_changes_nothing(model):
    rows = np.array([[-1, -1, -1, 3, 7, 11]], dtype="int32")
    np.testing.assert_allclose(vectors_of(model, rows), [reference(model, [3, 7, 11])], atol=1e-6)


def test_padding_does_not_read_the_first_row_of_the_table(texts):
    model = encoder()
    rows = pad([[id or 1 for id in ids] for ids in texts])
    before = vectors_of(model, rows)
    table = model.get_layer("embedding").get_weights()[0]
    table[0] = 1e3
    model.get_layer("embedding").set_weights([table])
    np.testing.assert_array_equal(vectors_of(model, rows), before)


def test_the_order_of_a_batch_is_the_order_of_its_vectors(model, texts):
    order = [4, 0, 6, 2, 5, 1, 3]
    shuffled = vectors_of(model, pad([texts[i] for i in order]))
    np.testing.assert_allclose(shuffled, vectors_of(model, pad(texts))[order], atol=1e-6)


def test_packed_texts_do_not_read_their_neighbours(model):
    alone = packed_vectors(model, [[5]])
    between = packed_vectors(model, [[1, 2, 3], [5], [4, 6]])
    np.testing.assert_allclose(between[1], alone[0], atol=1e-6)


@pytest.mark.parametrize("orders, gap", [((1,), 0), ((2,), 1), ((2, 3), 1), ((4,), 2), ((2, 3, 5), 2), ((6,), 3)])
def test_the_gap_is_half_the_widest_window(orders, gap):
    assert encoder(orders).gap == gap


@pytest.mark.parametrize("orders", [(2,), (4,), (5,)])
def test_a_smaller_gap_would_let_neighbours_in(orders, texts):
    model = encoder(orders)
    expected = np.stack([reference(model, ids) for ids in texts])
    assert np.abs(packed_vectors(model, texts, gap=model.gap - 1) - expected).max() > 1e-3


def test_config_round_trip_gives_the_same_architecture(model):
    copy = NGramEncoder.from_config(model.get_config())
    assert copy.get_config() == model.get_config()
    assert [w.shape for w in copy.weights] == [w.shape for w in model.weights]


def test_config_holds_every_argument(model):
    config = {**model.get_config()}
    config.pop("name")
    sizes = {"vocabulary": 30, "width": 6, "channels": 4, "orders": [2, 3, 5], "hidden": 24, "dimension": 16}
    assert config == {**sizes, "convolutions": 2, "inner": None, "space": None, "rank": None, "foreign": False}


@pytest.mark.parametrize("layer", [Convolution(3, 4), Head(5, 7), Pooling(7)], ids=lambda layer: type(layer).__name__)
def test_layer_config_round_trip(layer):
    assert type(layer).from_config(layer.get_config()).get_config() == layer.get_config()


def test_a_saved_model_gives_bit_identical_vectors(model, texts, tmp_path):
    model.save(tmp_path / "model.keras")
    loaded = keras.saving.load_model(tmp_path / "model.keras", compile=False)
    np.testing.assert_array_equal(vectors_of(loaded, pad(texts)), vectors_of(model, pad(texts)))
    np.testing.assert_array_equal(packed_vectors(loaded, texts), packed_vectors(model, texts))


def test_an_even_window_is_a_token_and_the_next():
    layer = Convolution(2, 1)
    layer.build((None, None, 1))
    layer.dense.set_weights([np.array([[10.0], [1.0]]), np.zeros(1)])
    x = np.array([[[1.0], [2.0], [3.0]]], dtype="float32")
    # x + 10 * this token + 1 * the next
    np.testing.assert_allclose(np.asarray(layer(x))[0, :, 0], [1 + 10 + 2, 2 + 20 + 3, 3 + 30 + 0])


def test_an_odd_window_has_its_token_in_the_middle():
    layer = Convolution(3, 1)
    layer.build((None, None, 1))
    layer.dense.set_weights([np.array([[100.0], [10.0], [1.0]]), np.zeros(1)])
    x = np.array([[[1.0], [2.0], [3.0]]], dtype="float32")
    np.testing.assert_allclose(np.asarray(layer(x))[0, :, 0], [1 + 10 + 2, 2 + 100 + 20 + 3, 3 + 200 + 30])


def test_pooling_divides_by_the_root_of_the_count_and_adds_the_bias_once_a_token():
    layer = Pooling(1)
    layer.build((None, 2), (None, 1))
    layer.dense.set_weights([np.array([[1.0], [2.0]])])
    layer.bias.assign([5.0])
    summed, count = np.array([[3.0, 4.0]], dtype="float32"), np.array([[4.0]], dtype="float32")
    # (3 * 1 + 4 * 2 + 4 tokens * 5) / sqrt(4)
    np.testing.assert_allclose(np.asarray(layer(summed, count)), [[15.5]])


def test_the_head_of_a_zero_vector_is_finite():
    head = Head(5, 7)
    np.testing.assert_array_equal(np.asarray(head(np.zeros((1, 7), dtype="float32"))), np.zeros((1, 7)))
