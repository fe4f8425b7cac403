"""What every student has to be, whatever its kind: unit rows, deaf to padding, itself when saved and when exported."""

import math

import keras
import numpy as np
import pytest
from fixtures.vectors import unit

from distill.encoders.batching import pad
from distill.export.onnx.model import convert_to_onnx
from distill.export.tflite.convert import convert
from distill.export.tflite.edge import edge_model
from distill.export.weights.precision import Precision
from distill.students.embeddings import UsedRows, replace_table
from distill.students.ngram import NGramEncoder
from distill.students.static import StaticEncoder
from distill.students.transformer import TransformerEncoder

SIZES = {"vocabulary": 30, "width": 6, "channels": 4, "orders": (2, 3), "hidden": 12, "dimension": 16}
BERT = {
    "vocabulary": 30,
    "width": 8,
    "depth": 2,
    "heads": 2,
    "head_size": 3,
    "inner": 10,
    "positions": 9,
    "dimension": 8,
}
# A text of nine is longer than the window of its second block.
MODERN = {**BERT, "head_size": 4, "depth": 3, "block": "modern", "local": (1, 2), "window": 2}
MODERN |= {"global_theta": 60.0, "local_theta": 9.0}
STATIC = {"vocabulary": 30, "width": 6, "hidden": 8, "dimension": 16}
FAMILY = {
    "n-gram": (NGramEncoder, SIZES),
    "of single tokens": (NGramEncoder, {**SIZES, "orders": (1,)}),
    "of wider windows": (NGramEncoder, {**SIZES, "orders": (4, 5)}),
    "in another's space": (NGramEncoder, {**SIZES, "space": 16, "dimension": 24, "foreign": True}),
    "all at once": (
        NGramEncoder,
        {**SIZES, "orders": (3,), "convolutions": 1, "inner": 5, "rank": 3, "space": 16, "dimension": 5},
    ),
    "static": (StaticEncoder, STATIC),
    "static with a look at neighbours": (StaticEncoder, {**STATIC, "channels": 5, "order": 3}),
    "the same in pairs": (StaticEncoder, {**STATIC, "channels": 5, "order": 2}),
    "static, projected": (StaticEncoder, {**STATIC, "space": 16, "dimension": 5}),
    "a transformer": (TransformerEncoder, BERT),
    "a transformer's largest values": (TransformerEncoder, {**BERT, "pooling": "max", "activation": "relu"}),
    "a transformer with all at once": (
        TransformerEncoder,
        {**BERT, "rank": 4, "dense": "tanh", "space": 12, "dimension": 6, "foreign": True}
        | {"pooling": "first", "activation": "gelu_tanh"},
    ),
    "a modern transformer": (TransformerEncoder, MODERN),
    "a modern transformer with all at once": (
        TransformerEncoder,
        {**MODERN, "rank": 4, "pooling": "first", "dense": "tanh", "space": 12, "dimension": 6, "foreign": True},
    ),
}
# A text of one token alone looks at itself; every tokenizer gives two at least.
pytestmark = pytest.mark.filterwarnings("ignore:You are using a softmax over axis -1:UserWarning")
# Lengths 1 to 9: single tokens, shorter than a window, longer than one.
LENGTHS = (1, 4, 1, 9, 2, 6, 3)
EXACT = Precision("float32", "float32")


@pytest.fixture(scope="module", params=FAMILY)
def model(request, randomised):
    kind, sizes = FAMILY[request.param]
    return randomised(kind(**sizes), 0.25)


@pytest.fixture(scope="module")
def texts():
    random = np.random.default_rng(1)
    return [random.integers(0, 30, size=length).tolist() for length in LENGTHS]


@pytest.fixture(scope="module")
def expected(model, texts):
    return np.stack([reference(model, ids) for ids in texts])


def reference(model, ids):
    """One text in float64 NumPy, token by token, after the papers' formulas."""
    w = {weight.path: np.asarray(weight, dtype=np.float64) for weight in model.weights}
    x = w["embedding/embeddings"][ids]
    vector = FORMULA[model.family](w, x, model)
    if "projection/kernel" in w:
        vector = unit(vector) @ w["projection/kernel"]
    return unit(vector)


def static(w, x, model):
    order = model.order
    if "context/first/kernel" in w:
        hidden = convolved(x, w["context/first/kernel"], w["context/first/bias"], order)
        x = x + hidden @ w["context/second/kernel"]
    x = unit(x.sum(axis=0))
    hidden = np.maximum(x @ w["residual/first/kernel"] + w["residual/first/bias"], 0)
    return (x + hidden @ w["residual/second/kernel"]) @ w["residual/lift/kernel"]


def ngram(w, x, model):
    orders = model.orders
    x = x @ w["factor/kernel"] if "factor/kernel" in w else x
    joined = [x]
    for order in orders:
        name = f"order_{order}"
        h = x @ w[f"{name}/projection/kernel"] + w[f"{name}/projection/bias"]
        h = normalised(h, w[f"{name}/norm/gamma"], w[f"{name}/norm/beta"])
        for part in ("first", "second"):
            if f"{name}/{part}/dense/kernel" in w:
                h = h + convolved(h, w[f"{name}/{part}/dense/kernel"], w[f"{name}/{part}/dense/bias"], order)
        joined.append(h)
    features = normalised(np.concatenate(joined, axis=1), w["norm/gamma"], w["norm/beta"])
    x = (features @ w["pooling/dense/kernel"] + w["pooling/bias"]).sum(axis=0) / np.sqrt(len(x))
    k = {path.split("/")[1]: kernel for path, kernel in w.items() if path.startswith("head/")}
    hidden = np.maximum(x @ k["second_skip"] + np.maximum(x @ k["first"], 0) @ k["second"], 0)
    return np.tanh(hidden @ k["fourth_skip"] + np.maximum(hidden @ k["third"], 0) @ k["fourth"])


def transformer(w, x, model):
    def norm(x, name):
        return normalised(x, w[f"{name}/gamma"], w[f"{name}/beta"])

    def dense(x, name):
        return x @ w[f"{name}/kernel"] + w[f"{name}/bias"]

    x = x @ w["factor/kernel"] if "factor/kernel" in w else x
    if model.block == "modern":
        return pooled(modern(w, x, model), w, model)
    x = norm(x + w["positions/embeddings"][: len(x)], "positions/norm")
    for block in (f"block_{place}" for place in range(model.depth)):
        parts = (np.split(dense(x, f"{block}/{name}"), model.heads, axis=1) for name in ("query", "key", "value"))
        means = []
        for query, key, value in zip(*parts, strict=True):
            looks = np.exp(query @ key.T / np.sqrt(model.head_size))
            means.append(looks / looks.sum(axis=1, keepdims=True) @ value)
        x = norm(x + dense(np.concatenate(means, axis=1), f"{block}/attention"), f"{block}/attention_norm")
        x = norm(x + dense(ACTIVATED[model.activation](dense(x, f"{block}/first")), f"{block}/second"), f"{block}/norm")
    return pooled(x, w, model)


def pooled(x, w, model):
    x = {"mean": x.mean(axis=0), "first": x[0], "max": x.max(axis=0)}[model.pooling]
    return np.tanh(x @ w["dense/kernel"] + w["dense/bias"]) if model.dense else x


def modern(w, x, model):
    """Pairs of a head's numbers as complex ones, which a place turns."""
    x = normalised(x, w["positions/norm/gamma"], 0)
    places = np.arange(len(x))
    for place in range(model.depth):
        block, local = f"block_{place}", place in model.local
        read = normalised(x, w[f"{block}/attention_norm/gamma"], 0) if place else x
        far = local & (np.abs(places[:, None] - places) > model.window)
        theta = model.local_theta if local else model.global_theta
        half = model.head_size // 2
        turned = np.exp(1j * places[:, None] / theta ** (np.arange(half) / half))
        means = []
        parts = (np.split(read @ w[f"{block}/{name}/kernel"], model.heads, 1) for name in ("query", "key", "value"))
        for query, key, value in zip(*parts, strict=True):
            query, key = ((one[:, :half] + 1j * one[:, half:]) * turned for one in (query, key))
            looks = np.where(far, 0, np.exp((query @ key.conj().T).real / np.sqrt(model.head_size)))
            means.append(looks / looks.sum(axis=1, keepdims=True) @ value)
        x = x + np.concatenate(means, axis=1) @ w[f"{block}/attention/kernel"]
        read = normalised(x, w[f"{block}/norm/gamma"], 0)
        units = ACTIVATED[model.activation](read @ w[f"{block}/first/kernel"]) * (read @ w[f"{block}/gate/kernel"])
        x = x + units @ w[f"{block}/second/kernel"]
    return normalised(x, w["final_norm/gamma"], 0)


ACTIVATED = {
    "gelu": lambda x: x * (1 + np.vectorize(math.erf)(x / np.sqrt(2))) / 2,
    "gelu_tanh": lambda x: x * (1 + np.tanh(np.sqrt(2 / np.pi) * (x + 0.044715 * x**3))) / 2,
    "relu": lambda x: np.maximum(x, 0),
}
FORMULA = {"static": static, "ngram": ngram, "transformer": transformer}


def normalised(x, gain, shift):
    centred = x - x.mean(axis=1, keepdims=True)
    return centred / np.sqrt((centred**2).mean(axis=1, keepdims=True)) * gain + shift


def convolved(x, kernel, bias, order):
    """ReLU of a "same" convolution, which for an even order has its extra tap on the right."""
    taps, out = kernel.reshape(order, x.shape[1], -1), np.tile(bias, (len(x), 1))
    for token in range(len(x)):
        for tap in range(order):
            source = token + tap - (order - 1) // 2
            if 0 <= source < len(x):
                out[token] += x[source] @ taps[tap]
    return np.maximum(out, 0)


def run(interpreter, ids):
    """The vector of one text, `(1, t)`, by a TFLite file."""
    place = interpreter.get_input_details()[0]["index"]
    interpreter.resize_tensor_input(place, ids.shape)
    interpreter.allocate_tensors()
    interpreter.set_tensor(place, ids)
    interpreter.invoke()
    return interpreter.get_tensor(interpreter.get_output_details()[0]["index"])[0]


def test_vectors_alone_and_packed_are_those_of_numpy_and_float32_of_unit_length(model, texts, expected):
    vectors = np.asarray(model(pad(texts)))
    np.testing.assert_allclose(vectors, expected, atol=1e-6)
    assert vectors.dtype == np.float32 and vectors.shape == expected.shape == (len(texts), model.dimension)
    np.testing.assert_allclose(np.asarray(model.encode_packed(**model.pack(texts))), expected, atol=1e-6)
    used = UsedRows(model, texts)
    np.testing.assert_allclose(np.asarray(used.small(pad(used.ids(texts)))), expected, atol=1e-6)


def test_padding_of_any_length_number_and_place_changes_nothing(model):
    lowest = np.iinfo(np.int32).min
    rows = [[3, 7, 11] + [-1] * 9, [3, 7, 11] + [-5, -128000, lowest] * 3, [-1] * 9 + [3, 7, 11]]
    vectors = np.asarray(model(np.array(rows, dtype="int32")))
    np.testing.assert_allclose(vectors, [reference(model, [3, 7, 11])] * 3, atol=1e-6)


def test_a_saved_model_gives_bit_identical_vectors_and_its_config_the_same_architecture(model, texts, tmp_path):
    model.save(tmp_path / "model.keras")
    loaded = keras.saving.load_model(tmp_path / "model.keras", compile=False)
    np.testing.assert_array_equal(np.asarray(loaded(pad(texts))), np.asarray(model(pad(texts))))
    packed = [np.asarray(one.encode_packed(**model.pack(texts))) for one in (loaded, model)]
    np.testing.assert_array_equal(*packed)
    copy = type(model).from_config(model.get_config())
    assert copy.get_config() == model.get_config()
    assert [weight.shape for weight in copy.weights] == [weight.shape for weight in model.weights]
    copy = replace_table(model, model.get_layer("embedding").get_weights()[0][:7])
    assert copy.vocabulary == 7
    for one, other in zip(copy.weights[1:], model.weights[1:], strict=True):
        np.testing.assert_array_equal(np.asarray(one), np.asarray(other), err_msg=one.path)


@pytest.mark.parametrize("sliced", [True, False])
def test_the_graph_of_an_artefact_gives_the_same_vectors_padded_or_not(model, texts, expected, sliced):
    edge = edge_model(model, EXACT, 12, sliced)
    # Of one token, nine and three.
    for ids, vector in zip(texts[::3], expected[::3], strict=True):
        rows = np.pad(np.array([ids], "int32"), [(0, 0), (0, 12 - len(ids))], constant_values=-1)
        np.testing.assert_allclose(np.asarray(edge(rows))[0], vector, atol=1e-5)


def test_the_onnx_file_gives_the_same_vectors(model, texts, expected):
    import onnxruntime

    content = convert_to_onnx(model, "float32", "float32")
    (vectors,) = onnxruntime.InferenceSession(content).run(None, {"ids": pad(texts)})
    np.testing.assert_allclose(vectors, expected, atol=1e-5)


# Of every part one and of both kinds of student, as a conversion takes seconds: it has the graph of the test above.
CONVERTED = "of single tokens", "all at once", "static with a look at neighbours", "the same in pairs"


@pytest.mark.parametrize("model", CONVERTED, indirect=True)
def test_the_tflite_file_gives_the_same_vectors(model, texts, expected):
    from ai_edge_litert.interpreter import Interpreter

    interpreter = Interpreter(model_content=convert(model, EXACT))
    for ids, vector in zip(texts, expected, strict=True):
        np.testing.assert_allclose(run(interpreter, np.array([ids], "int32")), vector, atol=1e-5)


# From 1,024 elements on the TFLite converter quantises a kernel.
LARGE = {"vocabulary": 300, "width": 40, "hidden": 40, "dimension": 40}
LARGER = {
    "static with a look at neighbours": (StaticEncoder, {**LARGE, "channels": 36, "order": 3}),
    "static, projected": (StaticEncoder, {**LARGE, "space": 40, "dimension": 30}),
    "a transformer": (
        TransformerEncoder,
        {**BERT, "vocabulary": 300, "width": 40, "heads": 4, "head_size": 10, "inner": 64, "positions": 50}
        | {"dense": "tanh", "dimension": 30},
    ),
    "a modern transformer": (
        TransformerEncoder,
        {**MODERN, "vocabulary": 300, "width": 40, "heads": 4, "head_size": 10, "inner": 64, "dimension": 40},
    ),
    "cut": (
        NGramEncoder,
        {**LARGE, "channels": 32, "orders": (2, 3), "convolutions": 1, "inner": 36, "rank": 32, "space": 40},
    ),
}


@pytest.mark.parametrize("kind, sizes", LARGER.values(), ids=LARGER)
def test_in_int8_both_files_are_near_the_student(kind, sizes):
    import onnxruntime
    from ai_edge_litert.interpreter import Interpreter

    model, random = kind(**sizes), np.random.default_rng(0)
    model.set_weights([weight + random.normal(size=weight.shape) * 0.05 for weight in model.get_weights()])
    content = convert(model, Precision("int8", "uint8"))
    # In float32 the weights alone take four bytes each.
    assert len(content) < 0.7 * 4 * model.count_params()
    interpreter, session = Interpreter(model_content=content), onnxruntime.InferenceSession(convert_to_onnx(model))
    for length in (3, 17, 40):
        ids = random.integers(0, 300, size=(1, length)).astype("int32")
        expected = np.asarray(model(ids))[0]
        assert run(interpreter, ids) @ expected > 0.995
        assert session.run(None, {"ids": ids})[0][0] @ expected > 0.995
