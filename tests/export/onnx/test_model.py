import subprocess
import sys

import numpy as np
import pytest

from distill.errors import ConfigError, ExportError
from distill.export.families.registry import prepare_table
from distill.export.onnx.layers import LOOKUPS, PRODUCTS, quantize_unsaturated
from distill.export.onnx.model import convert_to_onnx
from distill.export.onnx.nodes import Graph, serialize_checked
from distill.export.weights.codecs import MIXED_CODECS, decode_rows, encode_table, uint8_rows
from distill.export.weights.precision import Precision

onnx = pytest.importorskip("onnx", reason="the extra onnx is not installed")
runtime = pytest.importorskip("onnxruntime", reason="the extra onnx is not installed")

# A width of no whole number of groups or codewords.
VOCABULARY, WIDTH, DIMENSION = 300, 38, 24
# A single id, both sides of every n-gram order, and several hundred.
LENGTHS = (1, 2, 3, 5, 17, 600)
# How far from 1 the cosine to the same encoder in float may be. Texts of random pieces under random weights are
# harder than real ones, whose int8 products cancel less.
NEAR = {"float32": 1e-6, "int8": 1e-3}
# And the absolute difference between a text alone and the same text in a batch.
INVARIANT = {"float32": 1e-5, "int8": 1e-3}


def encoder(seed=3, **changes):
    """All weights are random: biases and norms start at zero and one, where leaving one out would not be seen."""
    import keras

    from distill.students.ngram import NGramEncoder

    keras.utils.set_random_seed(seed)
    sizes = {"width": WIDTH, "channels": 32, "orders": (1, 2, 5), "hidden": 36, "dimension": DIMENSION}
    model = NGramEncoder(vocabulary=VOCABULARY, **sizes | changes)
    random = np.random.default_rng(seed)
    model.set_weights([weight + random.normal(size=weight.shape) * 0.1 for weight in model.get_weights()])
    return model


@pytest.fixture(scope="module")
def wide():
    return encoder()


@pytest.fixture(scope="module")
def contents(wide):
    """Every file, by dense and table."""
    return {(dense, table): convert_to_onnx(wide, dense, table) for dense in PRODUCTS for table in LOOKUPS}


@pytest.fixture(scope="module")
def sessions(contents):
    return {key: session_of(content) for key, content in contents.items()}


def session_of(content, optimised=""):
    settings = runtime.SessionOptions()
    settings.intra_op_num_threads, settings.optimized_model_filepath = 1, optimised
    return runtime.InferenceSession(content, settings, providers=["CPUExecutionProvider"])


def run(session, ids):
    return session.run(["vectors"], {"ids": np.array(ids, dtype=np.int32)})[0]


def keras_vectors(model, ids):
    return np.asarray(model(np.array(ids, dtype=np.int32)))


def token_ids(length):
    return np.random.default_rng(length).integers(0, VOCABULARY, size=length)


def padded(texts):
    ids = np.full((len(texts), max(map(len, texts))), -1)
    for row, text in zip(ids, texts, strict=True):
        row[: len(text)] = text
    return ids


def with_table(model, rows):
    """A copy of the Keras model that looks up other rows."""
    copy = type(model).from_config(model.get_config())
    copy.set_weights(model.get_weights())
    copy.get_layer("embedding").set_weights([rows])
    return copy


def stored(model):
    return {array.name: onnx.numpy_helper.to_array(array) for array in model.graph.initializer}


@pytest.mark.parametrize("table", LOOKUPS)
def test_vectors_are_those_of_the_keras_model_with_the_stored_table(wide, sessions, table):
    same = prepare_table(wide, Precision(table=table))
    original = same.get_layer("embedding").get_weights()[0]
    model = with_table(same, decode_rows(table, encode_table(table, original), WIDTH))
    for length in LENGTHS:
        ids = token_ids(length)[None]
        expected = keras_vectors(model, ids)
        # Nothing is rounded but float32 itself, whose order of summing differs.
        assert np.abs(run(sessions["float32", table], ids) - expected).max() < 1e-5, length
        assert 1 - run(sessions["int8", table], ids)[0] @ expected[0] < NEAR["int8"], length


@pytest.mark.parametrize("table", LOOKUPS)
@pytest.mark.parametrize("dense", PRODUCTS)
def test_vectors_are_near_those_of_the_student_in_any_batch(wide, sessions, dense, table):
    # 8 bits a number cost a few 1e-5 and 4 bits up to a hundredth, in cosine, for random texts; codewords more.
    rounding = {"float32": 0, "uint8": 1e-4, "int8-row": 1e-4, "int4": 0.02, "pq4": 0.15, "pq8": 0.4}
    rounding |= dict.fromkeys(MIXED_CODECS, 0.25)
    most, session, texts = NEAR[dense] + rounding[table], sessions[dense, table], list(map(token_ids, LENGTHS))
    alone = np.concatenate([run(session, ids[None]) for ids in texts])
    expected = np.concatenate([keras_vectors(wide, ids[None]) for ids in texts])
    assert (alone.shape, alone.dtype) == ((len(LENGTHS), DIMENSION), np.float32)
    assert np.linalg.norm(alone, axis=1) == pytest.approx(np.ones(len(LENGTHS)), abs=1e-5)
    assert np.all(1 - np.sum(alone * expected, axis=1) < most)
    assert np.abs(run(session, padded(texts)) - alone).max() < INVARIANT[dense]
    # The first and the last piece are in the table, and no other.
    ids = [[0, VOCABULARY - 1, VOCABULARY - 1, 0], [VOCABULARY - 1, -1, -1, -1]]
    cosines = np.sum(run(session, ids) * keras_vectors(wide, ids), axis=1)
    apart = {"float32": 2e-3, "uint8": 2e-3, "int8-row": 2e-3, "int4": 0.03}.get(table, 0.06)
    assert cosines == pytest.approx(1, abs=apart)
    with pytest.raises(Exception, match="Gather"):
        run(session, [[VOCABULARY]])


@pytest.mark.parametrize("dense", PRODUCTS)
def test_padding_is_any_negative_id_wherever_it_stands(wide, sessions, dense):
    first, second, third = token_ids(6), token_ids(9), token_ids(4)
    ids = padded([first, [*second[:4], -1, *second[4:]], [-1, -1, *third]])
    session = sessions[dense, "float32"]
    vectors = run(session, ids)
    assert np.min(np.sum(vectors * keras_vectors(wide, ids), axis=1)) > 1 - NEAR[dense]
    assert np.array_equal(run(session, np.where(ids < 0, -7, ids)), vectors)


@pytest.mark.parametrize("changes", [{"width": 64}, {"orders": (3,)}, {"orders": (4, 6), "channels": 7, "hidden": 5}])
def test_other_widths_and_orders(changes):
    model = encoder(seed=4, **changes)
    ids = padded([token_ids(7), token_ids(2)])
    expected = keras_vectors(model, ids)
    assert np.abs(run(session_of(convert_to_onnx(model, "float32", "float32")), ids) - expected).max() < 1e-5
    cosines = np.sum(run(session_of(convert_to_onnx(model, "int8", "int4")), ids) * expected, axis=1)
    assert cosines == pytest.approx(1, abs=0.02)


def test_the_file_takes_any_batch_and_length_loads_in_older_runtimes_and_holds_quantised_rows(sessions, contents, wide):
    # Read with the schema and not with a runtime.
    graph = onnx.load_from_string(contents["int8", "uint8"])
    (ids,), (vectors,) = sessions["int8", "uint8"].get_inputs(), sessions["int8", "uint8"].get_outputs()
    assert (ids.name, ids.type, ids.shape) == ("ids", "tensor(int32)", ["b", "t"])
    assert (vectors.name, vectors.type, vectors.shape) == ("vectors", "tensor(float)", ["b", DIMENSION])
    assert (graph.producer_name, graph.ir_version) == ("distill", 8)
    assert [(opset.domain, opset.version) for opset in graph.opset_import] == [("", 17)]
    assert graph.doc_string.endswith("uint8")
    codes, scales = uint8_rows(wide.get_layer("embedding").get_weights()[0])
    arrays = stored(graph)
    assert np.array_equal(arrays["table/0"], codes) and np.array_equal(arrays["table/1"], scales)
    assert (arrays["table/0"].dtype, arrays["table/1"].dtype) == (np.uint8, np.int32)
    # Tokens are multiplied in int8 that no processor cuts off.
    kernels = [arrays[node.input[1]] for node in graph.graph.node if node.op_type == "MatMulInteger"]
    assert [kernel.dtype for kernel in kernels] == [np.int8] * (1 + 2 * 3)
    for kernel in kernels:
        neighbours = kernel[:-1].astype(int), kernel[1:].astype(int)
        sums = [sum(np.maximum(sign * part, 0) for part in neighbours) for sign in (1, -1)]
        assert np.max(sums) * 255 < 2**15


def test_a_channel_keeps_its_127_steps_where_nothing_is_cut_off():
    codes, scales = quantize_unsaturated(np.array([[127, 127], [-100, 127], [1, 0]], dtype=np.float32))
    # The second channel's two largest are neighbours, so its step doubles.
    assert (codes.tolist(), scales.tolist()) == ([[127, 64], [-100, 64], [1, 0]], [1, 2])


@pytest.mark.parametrize("table", [name for name in LOOKUPS if name != "float32"])
def test_a_runtime_makes_no_float_table_when_it_loads_the_file(contents, tmp_path, table):
    path = tmp_path / "optimised.onnx"
    session_of(contents["int8", table], str(path))
    arrays = stored(onnx.load(path))
    sizes = {name: array.size for name, array in arrays.items() if array.dtype.kind == "f"}
    # The kernels of the head are folded; so the runtime did what it can.
    assert 24 * 72 in sizes.values()
    assert max(sizes.values()) < VOCABULARY * WIDTH


def test_no_file_holds_more_than_its_format_needs(contents):
    sizes = {key: len(content) for key, content in contents.items()}
    numbers = VOCABULARY * WIDTH
    for dense in PRODUCTS:
        assert sizes[dense, "float32"] - sizes[dense, "uint8"] == pytest.approx(3 * numbers - 4 * VOCABULARY, abs=1500)
        assert sizes[dense, "int8-row"] == pytest.approx(sizes[dense, "uint8"], abs=500)
    assert sizes["int8", "uint8"] < sizes["float32", "uint8"] / 2


def test_the_same_model_gives_the_same_bytes(wide, contents):
    assert convert_to_onnx(wide) == contents["int8", "uint8"]
    assert convert_to_onnx(encoder(), "float32", "int4") == contents["float32", "int4"]


@pytest.mark.parametrize("choice", [{"dense": "int4"}, {"table": "int3"}])
def test_an_unknown_format_is_refused_with_those_there_are(wide, choice):
    with pytest.raises(ConfigError, match="int8.*float32.*uint8.*int8-row"):
        convert_to_onnx(wide, **choice)


def test_a_missing_package_is_named(wide, monkeypatch):
    monkeypatch.setitem(sys.modules, "onnx", None)
    with pytest.raises(ExportError, match=r"\[onnx\]"):
        convert_to_onnx(wide)


def test_importing_the_module_imports_neither_onnx_nor_tensorflow():
    code = "import sys, distill.export.onnx.model; print({'onnx', 'tensorflow', 'keras'} & set(sys.modules))"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert (done.stdout, done.returncode) == ("set()\n", 0), done.stderr


def small_model(operator):
    graph = Graph()
    graph.add(operator, "x", name="y")
    return graph.model("small", [("x", "float32", ("n",))], [("y", "float32", ("n",))], "a test")


def test_an_invalid_graph_and_a_file_too_large_for_the_format_are_refused():
    assert serialize_checked(small_model("Relu"))
    with pytest.raises(ExportError, match="NoSuchOperator"):
        serialize_checked(small_model("NoSuchOperator"))
    with pytest.raises(ExportError, match=" 50 "):
        serialize_checked(small_model("Relu"), largest=50)
