import errno
import tempfile
from functools import partial
from types import SimpleNamespace

import keras
import numpy as np
import pytest
from ai_edge_litert.interpreter import Interpreter

from distill.errors import ExportError
from distill.export.families.ngram.edge import EdgeBranch
from distill.export.tflite import convert as tflite
from distill.export.tflite import packing
from distill.export.tflite.convert import convert, convert_keras_model, require_complete
from distill.export.tflite.graph import Graph
from distill.export.tflite.layers import Table
from distill.export.tflite.strings import TokenizerLayer, convert_string
from distill.export.tflite.weights import with_table
from distill.export.weights.codecs import CODECS, decode_rows, encode_table
from distill.export.weights.precision import Precision

# A single id, the shortest real text (bos, a piece, eos), both sides of every n-gram order, and several hundred.
LENGTHS = (1, 3, 2, 300, 5, 17, 4, 700, 64, 3)
FIXED, SIGNATURES = 24, (16, 64)
TABLES = {"float32": np.int32, "uint8": np.uint8, "int4": np.uint8}
# Other tables are converted by themselves below, as nothing but their rows goes on.
FORMS = [Precision("int8", "uint8"), Precision("int8", "int4"), Precision("float32", "float32")]


@pytest.fixture(scope="module")
def model(wide):
    return wide.model


@pytest.fixture(scope="module")
def contents(model):
    """`{Precision: flatbuffer}` of `FORMS`."""
    return {precision: convert(model, precision) for precision in FORMS}


@pytest.fixture(scope="module")
def content(contents):
    return contents[Precision()]


@pytest.fixture(scope="module")
def signatures(model):
    return convert(model, lengths=SIGNATURES)


every_form = pytest.mark.parametrize("precision", FORMS, ids=lambda p: f"{p.dense}-{p.table}")


def interpreter_of(content):
    interpreter = Interpreter(model_content=content)
    interpreter.allocate_tensors()
    return interpreter


def run(interpreter, ids):
    """The vector of `ids`, of a model of any length."""
    interpreter.resize_tensor_input(interpreter.get_input_details()[0]["index"], (1, len(ids)))
    interpreter.allocate_tensors()
    return run_fixed(interpreter, ids)


def run_fixed(interpreter, ids):
    interpreter.set_tensor(interpreter.get_input_details()[0]["index"], np.array([ids], dtype=np.int32))
    interpreter.invoke()
    return interpreter.get_tensor(interpreter.get_output_details()[0]["index"])[0]


def token_ids(length, seed=0):
    return np.random.default_rng(seed + length).integers(0, 2000, size=length)


def padded(ids, length):
    return np.pad(ids, (0, length - len(ids)), constant_values=-1)


def dense_kernels(interpreter):
    """The details of the weights of every dense operator."""
    details = {tensor["index"]: tensor for tensor in interpreter.get_tensor_details()}
    dense = [op["inputs"][1] for op in interpreter._get_ops_details() if op["op_name"] == "FULLY_CONNECTED"]
    return [details[index] for index in dense]


def branch_kernels(model):
    layers = [
        part for branch in model.branches for part in (branch.projection, branch.first.dense, branch.second.dense)
    ]
    return [np.asarray(layer.kernel) for layer in layers]


def whole_numbers(kernel):
    """A kernel in steps of each channel's 1/127, transposed as a flatbuffer holds it."""
    return np.round(kernel / (np.abs(kernel).max(axis=0) / 127)).T.astype(np.int8)


def constants(interpreter, rows, dtype):
    """The stored tensors of that many rows."""
    return [
        interpreter.get_tensor(tensor["index"])
        for tensor in interpreter.get_tensor_details()
        if len(tensor["shape"]) == 2 and tensor["shape"][0] == rows and tensor["dtype"] == dtype
    ]


@every_form
def test_texts_of_many_lengths_are_near_the_student_by_builtin_operators(contents, model, precision):
    operators = packing.list_operators(contents[precision])
    assert {"FULLY_CONNECTED", "GATHER"} <= {name for name, _, _ in operators}
    assert not any(custom for _, _, custom in operators)
    interpreter = interpreter_of(contents[precision])
    kernels = dense_kernels(interpreter)
    # Three of each branch, one of the pooling with the head's first two, four of the head.
    assert len(kernels) == 11
    assert {details["dtype"] for details in kernels} == {np.int8 if precision.dense == "int8" else np.float32}
    # A text of random pieces is harder than a real one: its int8 products cancel.
    allowed = 1e-5 if precision.dense == "float32" else 0.06 if precision.table == "int4" else 5e-3
    for ids in [*map(token_ids, LENGTHS), np.array([0, 1999, 1999, 0])]:
        got, expected = run(interpreter, ids), np.asarray(model(ids[None]))[0]
        assert (len(ids), np.linalg.norm(got)) == (len(ids), pytest.approx(1, abs=1e-5))
        assert (len(ids), float(got @ expected)) == (len(ids), pytest.approx(1, abs=allowed))
        if precision.dense == "float32":
            assert got == pytest.approx(expected, abs=1e-5)


@pytest.mark.parametrize("table", ["uint8", "int4"])
def test_questions_are_nearer_still(contents, wide, sample, table):
    texts = [question.text for questions in sample.questions.values() for question in list(questions.values())[:10]]
    interpreter = interpreter_of(contents[Precision("int8", table)])
    got = np.array([run(interpreter, ids) for ids in wide.tokenizer.encode(texts)])
    assert len(texts) == 100
    assert np.sum(got * wide.encode(texts), axis=1).mean() >= (0.975 if table == "int4" else 0.995)


def test_dense_kernels_are_the_whole_numbers_of_the_one_scale_1(content, model):
    # Whatever is folded into a kernel, a scale or a norm's gamma, makes it another and costs its channels' precision.
    # As stored: an interpreter that has its tensors allocated repeats the scale for every channel.
    kernels = [details["quantization_parameters"] for details in dense_kernels(Interpreter(model_content=content))]
    assert [kernel["scales"].tolist() for kernel in kernels] == [[1.0]] * 11
    assert [kernel["zero_points"].tolist() for kernel in kernels] == [[0]] * 11
    interpreter = interpreter_of(content)
    stored = [interpreter.get_tensor(kernel["index"]).tobytes() for kernel in dense_kernels(interpreter)]
    # Those of the head are rescaled before, which `graph` is tested for.
    fourth = np.asarray(model.get_layer("head").fourth.kernel)
    expected = {whole_numbers(kernel).tobytes() for kernel in [*branch_kernels(model), fourth]}
    assert len(expected) == 7 and expected < set(stored)
    assert {abs(np.frombuffer(kernel, np.int8).astype(int)).max() for kernel in stored} == {127}


def test_a_temporary_folder_without_room_is_said(monkeypatch):
    def fails(lite):
        raise TypeError("'NoneType' object is not callable")

    with pytest.raises(ExportError, match="'NoneType'"):
        tflite._convert(fails, Precision())
    monkeypatch.setattr(tflite.shutil, "disk_usage", lambda folder: SimpleNamespace(free=1000))
    with pytest.raises(OSError) as error:
        tflite._convert(fails, Precision())
    assert (error.value.errno, error.value.filename) == (errno.ENOSPC, tempfile.gettempdir())


@every_form
def test_the_table_is_stored_in_its_format_and_once(contents, model, precision):
    content, kind = contents[precision], TABLES[precision.table]
    table = model.get_layer("embedding").get_weights()[0]
    stored = [array for array in constants(interpreter_of(content), 2000, kind) if array.shape[1] > 2]
    # 40 columns are two groups of 32, two codes a byte.
    assert [array.shape for array in stored] == [(2000, 32 if precision.table == "int4" else 40)]
    if precision.table == "float32":
        assert np.array_equal(stored[0].view(np.float32), table)
    if precision.table == "uint8":
        step = np.abs(table).max(axis=1, keepdims=True) / 127
        codes = stored[0].astype(np.int16) - 128
        # Rounding the scale up to 2^-24 moves a code by less than a hundredth.
        assert np.all(np.abs(codes - table / step) <= 0.51)


# One frequent row of 20, and a one is taken off each id: a converter stores equal numbers once.
@pytest.mark.parametrize(
    ("codec", "size"),
    [*((codec, 20) for codec in ("float32", "int8-row", "int4", "pq4", "pq8", "int4-pq3")), ("int4-pq5", 2000)],
)
def test_a_table_gives_its_rows_and_those_taken_out_of_it_to_the_last_bit(model, codec, size):
    table = model.get_layer("embedding").get_weights()[0][:size, :37]  # no whole number of codewords
    ids = keras.Input(batch_shape=(1, None), dtype="int32", name="ids")
    rows = Table(table, Precision(table=codec))(keras.ops.reshape(ids, (-1,)) - np.ones(1, np.int32))
    content = convert_keras_model(keras.Model(ids, keras.ops.expand_dims(rows, 0)), Precision())
    whole = run(interpreter_of(content), np.arange(size) + 1)
    # float32 bit by bit.
    atol = 0 if codec == "float32" else 1e-6
    np.testing.assert_allclose(whole, decode_rows(codec, encode_table(codec, table), 37), rtol=0, atol=atol)
    for kept in ([0, 1, size // 8, size - 1], [0], [size // 2, size - 1], list(range(size // 8))):
        fewer = with_table(content, size, codec, partial(CODECS[codec].take_rows, kept=np.array(kept)))
        np.testing.assert_array_equal(run(interpreter_of(fewer), np.arange(len(kept)) + 1), whole[kept])
        last = with_table(fewer, len(kept), codec, partial(CODECS[codec].take_rows, kept=np.array([len(kept) - 1])))
        np.testing.assert_array_equal(run(interpreter_of(last), [1]), whole[kept[-1:]])


def test_tokens_are_summed_before_what_pools_them_is_multiplied(contents):
    for graph in map(Graph, contents.values()):
        # 104 features to 2 * 36.
        before = {product.kernel.shape: graph.producer(product.start) for product in graph.products}
        assert before[104, 72].name == "SUM"
        assert graph.constant(before[104, 72].inputs[1]).tolist() in ([0], 0)


def test_fewer_bits_are_a_smaller_file(contents, model):
    sizes = {precision.table: len(content) for precision, content in contents.items() if precision.dense == "int8"}
    # 2,000 rows: 32 bytes of codes and 2 of steps, 40, and 160, and but for float32 4 of the scale.
    assert sizes["uint8"] - sizes["int4"] == pytest.approx(2000 * (40 - 34), abs=4000)
    # Of the branches, of 104 features by 2 * 36, and of the head.
    kernels = sum(kernel.size for kernel in branch_kernels(model)) + 104 * 72 + 36 * 36 + 36 * 40 * 2 + 40 * 40
    large = len(contents[Precision("float32", "float32")])
    assert large - sizes["uint8"] - 2000 * (160 - 44) == pytest.approx(3 * kernels, rel=0.2)


def test_one_int32_input_of_any_length_and_padding_and_one_float32_output(content):
    interpreter = interpreter_of(content)
    (ids,), (vector,) = interpreter.get_input_details(), interpreter.get_output_details()
    assert (ids["dtype"], ids["shape_signature"].tolist()) == (np.int32, [1, -1])
    assert (vector["dtype"], vector["shape"].tolist()) == (np.float32, [1, 40])
    first = run(interpreter, token_ids(9))
    for length in (1, 2, 7, 64):
        ids = token_ids(length)
        assert run(interpreter, padded(ids, 64)) == pytest.approx(run(interpreter, ids), abs=1e-5)
    # Whatever came between.
    assert np.array_equal(run(interpreter, token_ids(9)), first)


@pytest.mark.parametrize("sliced", [False, True], ids=["masked", "sliced"])
def test_a_fixed_length_gives_the_vectors_of_any_length(model, content, sliced):
    fixed, free = interpreter_of(convert(model, length=FIXED, sliced=sliced)), interpreter_of(content)
    assert fixed.get_input_details()[0]["shape_signature"].tolist() == [1, FIXED]
    for length in (FIXED, 1, 2, 7, FIXED - 1, FIXED):
        ids = token_ids(length)
        assert run_fixed(fixed, padded(ids, FIXED)) == pytest.approx(run(free, ids), abs=1e-5)


def test_of_any_length_it_has_the_signature_of_a_saved_model(content):
    interpreter, ids = interpreter_of(content), token_ids(7)
    assert interpreter.get_signature_list() == {"serving_default": {"inputs": ["ids"], "outputs": ["output_0"]}}
    given = interpreter.get_signature_runner()(ids=ids[None].astype(np.int32))["output_0"][0]
    assert given == pytest.approx(run(interpreter, ids), abs=1e-6)


def test_signatures_give_the_vectors_of_any_length_and_share_the_weights(signatures, content):
    several, free = interpreter_of(signatures), interpreter_of(content)
    assert several.get_signature_list() == {
        f"encode_{length}": {"inputs": ["ids"], "outputs": ["vectors"]} for length in SIGNATURES
    }
    for length in SIGNATURES:
        runner = several.get_signature_runner(f"encode_{length}")
        taken, given = runner.get_input_details()["ids"], runner.get_output_details()["vectors"]
        assert (taken["shape"].tolist(), taken["dtype"]) == ([1, length], np.int32)
        assert given["shape"].tolist() == [1, 40]
        for used in (1, 5, length - 1, length):
            ids = token_ids(used)
            got = runner(ids=padded(ids, length)[None].astype(np.int32))["vectors"][0]
            assert got == pytest.approx(run(free, ids), abs=1e-5)
    # Another length costs its operators; another table alone would cost 80,000 bytes, other kernels 26,000.
    assert len(signatures) - len(content) < 30_000
    assert len(constants(interpreter_of(signatures), 2000, np.uint8)) == 1


def test_a_model_too_small_to_quantise_is_converted_without_a_word_and_traced_once(tiny, monkeypatch, capfd):
    call, traced = EdgeBranch.call, []
    monkeypatch.setattr(EdgeBranch, "call", lambda self, x, keep: traced.append(x) or call(self, x, keep))
    content = convert(tiny.model)
    assert capfd.readouterr() == ("", "") and len(traced) == len(tiny.model.branches)
    ids = token_ids(12)
    assert run(interpreter_of(content), ids) @ np.asarray(tiny.model(ids[None]))[0] == pytest.approx(1, abs=2e-4)


def test_the_same_model_gives_the_same_bytes(model, signatures):
    # Whatever the process made before: a run that is repeated from its config has the same artefact. Of any length
    # test_artefact exports one twice.
    assert convert(model, lengths=SIGNATURES) == signatures


@every_form
def test_whole_content_passes_and_truncated_is_refused(contents, model, precision):
    content = contents[precision]
    assert require_complete(content, model, precision) is content
    least = 2000 * 40 * {"float32": 4, "int4": 0.5}.get(precision.table, 1)
    for kept in (0, int(least) - 1):
        with pytest.raises(ExportError, match=f" {kept} .* {least:.0f}:"):
            require_complete(content[:kept], model, precision)


def test_a_conversion_without_the_weights_is_refused(tiny, content, monkeypatch):
    # The model says that it has more than was converted.
    monkeypatch.setattr(tiny.model.get_layer("embedding"), "count_params", lambda: 1_600_000)
    monkeypatch.setattr(tflite, "convert_keras_model", lambda edge, precision: content)
    with pytest.raises(ExportError, match=" 1600000:"):
        convert(tiny.model)


def test_a_custom_operator_is_refused_where_it_is_not_asked_for(wide_string, model):
    assert (
        require_complete(wide_string, model, Precision(), custom=("TFText>FastSentencepieceTokenize",)) is wide_string
    )
    with pytest.raises(ExportError, match="TFText>FastSentencepieceTokenize"):
        require_complete(wide_string, model, Precision())


def test_a_failed_conversion_is_one_line(tokenizer, capfd):
    text = keras.Input(batch_shape=(1,), dtype="string", name="text")
    with pytest.raises(ExportError, match="^TFLite .+") as failed:
        convert_keras_model(keras.Model(text, TokenizerLayer(tokenizer.proto)(text)), Precision())
    assert len(str(failed.value).splitlines()) == 1
    assert capfd.readouterr() == ("", "")


@pytest.mark.parametrize(
    "call",
    [lambda: convert(None), lambda: convert(None, lengths=(16,)), lambda: convert_string(None, None, Precision())],
    ids=["any-length", "signatures", "string"],
)
def test_another_keras_backend_is_refused_before_the_graph_is_built(call, monkeypatch):
    monkeypatch.setattr(keras.backend, "backend", lambda: "jax")
    with pytest.raises(ExportError, match="KERAS_BACKEND=tensorflow"):
        call()
