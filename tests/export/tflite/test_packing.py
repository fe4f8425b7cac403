"""Kernels in 4 bits are those of the encoder, in half the bytes, and read back as they were."""

import numpy as np
import pytest
from ai_edge_litert import schema_py_generated as schema
from ai_edge_litert.interpreter import Interpreter

from distill.encoders.batching import pad
from distill.errors import ExportError
from distill.export.families.registry import family_part
from distill.export.tflite import packing
from distill.export.tflite.convert import convert
from distill.export.tflite.graph import Graph
from distill.export.tflite.packing import (
    list_operators,
    pack_nibbles,
    rename_operator,
    require_operators,
    unpack_nibbles,
)
from distill.export.weights.precision import Precision
from distill.students.project import collect_weights, rebuild
from distill.students.transformer import TransformerEncoder
from distill.students.transformer.rounding import place_rows, round_blocks

SIZES = {"vocabulary": 30, "width": 32, "depth": 2, "heads": 4, "head_size": 8, "inner": 600, "positions": 12}


@pytest.fixture(scope="module")
def rows():
    random = np.random.default_rng(5)
    return [random.integers(0, 30, size=length).tolist() for length in (2, 9, 5, 11, 7, 4)]


@pytest.fixture(scope="module", params=["bert", "modern"])
def whole(request, randomised):
    return randomised(TransformerEncoder(**SIZES, dimension=32, block=request.param, local=(1,), window=3), 0.2)


@pytest.fixture(scope="module")
def rounded(whole, rows):
    return round_blocks(whole, rows)


@pytest.fixture(scope="module")
def content(rounded):
    return convert(rounded, Precision("int4"))


def vectors(content, rows):
    interpreter = Interpreter(model_content=content, num_threads=1)
    (ids,), (end,) = interpreter.get_input_details(), interpreter.get_output_details()
    for row in rows:
        interpreter.resize_tensor_input(ids["index"], (1, len(row)))
        interpreter.allocate_tensors()
        interpreter.set_tensor(ids["index"], np.array([row], np.int32))
        interpreter.invoke()
        yield interpreter.get_tensor(end["index"])[0]


def test_a_bundle_in_4_bits_gives_the_rounded_encoders_vectors_in_fewer_bytes(rounded, rows, content):
    expected = np.asarray(rounded(pad(rows)))
    assert (np.stack(list(vectors(content, rows))) * expected).sum(axis=1).min() > 0.998
    narrow = [weight for weight in rounded.weights if weight.path in rounded.narrow_kernels]
    # Query, key, value, and the kernel behind the hidden units, 150 of which keep 8 bits.
    assert len(narrow) == 4 * rounded.depth
    wide = [150 if kernel.path.endswith("second/kernel") else 0 for kernel in narrow]
    numbers = sum((kernel.shape[0] - one) * kernel.shape[1] for kernel, one in zip(narrow, wide, strict=True))
    (graph,) = schema.ModelT.InitFromPackedBuf(content, 0).subgraphs
    assert sum(np.prod(tensor.shape) for tensor in graph.tensors if tensor.type == schema.TensorType.INT4) == numbers
    # Operators take some bytes.
    assert len(convert(rounded, Precision("int8"))) - len(content) > 0.75 * numbers / 2


def test_rounding_keeps_the_vectors_nearer_than_rounding_each_number(whole, rounded, rows):
    expected = np.asarray(whole(pad(rows)))
    plain = np.stack(list(vectors(convert(whole, Precision("int4")), rows)))
    near = [(vectors * expected).sum(axis=1).mean() for vectors in (np.asarray(rounded(pad(rows))), plain)]
    assert near[0] > near[1]


def test_a_query_makes_up_for_a_table_that_is_stored_in_few_bits(whole, rows):
    weights = collect_weights(whole)
    (name,) = (path for path, weight in weights.items() if weight.shape == (SIZES["vocabulary"], SIZES["width"]))
    coarse = rebuild(whole, {}, {**weights, name: np.round(weights[name] / 0.3) * 0.3})
    fitted, unfitted = round_blocks(coarse, rows, towards=whole), round_blocks(coarse, rows)
    error = [0.0, 0.0]
    for (x, there, _), (y, _, _) in zip(place_rows(coarse, rows), place_rows(whole, rows), strict=True):
        wanted = whole.blocks[0].query(whole.blocks[0].normalize_inputs(y))
        for place, model in enumerate((fitted, unfitted)):
            block = model.blocks[0]
            far = np.square(np.asarray(block.query(block.normalize_inputs(x)) - wanted))
            error[place] += far[np.asarray(there)].sum()
    assert error[0] < 0.9 * error[1], error


def test_the_kernels_are_read_back(rounded, content):
    graph = Graph(content)
    weights = family_part("transformer", "stored", "a student").weights_of(
        family_part("transformer", "stored", "a student").parts_of(graph)
    )
    for path, wide in (("block_0/second/kernel", 150), ("block_1/query/kernel", 0), ("block_1/attention/kernel", 32)):
        kernel = np.asarray(next(weight for weight in rounded.weights if weight.path == path))
        # Half a step of the largest number of a channel, in 8 bits; those of 4 are on their grid.
        far = np.abs(kernel[:wide]).max(axis=0, initial=0) / 127 / 2
        assert (np.abs(weights[path] - kernel)[:wide] <= far + 1e-5).all()
        assert (np.abs(weights[path] - kernel)[wide:] <= 1e-5).all()


def test_numbers_of_4_bits_are_two_a_byte_the_first_in_the_low_bits():
    numbers = np.array([1, -1, 7, -8, 3], dtype=np.int8)
    assert pack_nibbles(numbers).tolist() == [0xF1, 0x87, 0x03]
    assert unpack_nibbles(pack_nibbles(numbers), 5).tolist() == numbers.tolist()


STRING_OPERATOR = "TFText>FastSentencepieceTokenize"


def flatbuffer_of(function, *operator_sets):
    """A flatbuffer of a function of three float32."""
    import tensorflow as tf

    from distill.system.backend import hush_stderr

    concrete = tf.function(function).get_concrete_function(tf.TensorSpec((3,), tf.float32))
    converter = tf.lite.TFLiteConverter.from_concrete_functions([concrete], tf.Module())
    converter.target_spec.supported_ops = [getattr(tf.lite.OpsSet, name) for name in operator_sets]
    with hush_stderr():
        return converter.convert()


@pytest.fixture(scope="module")
def builtin():
    import tensorflow as tf

    return flatbuffer_of(lambda x: tf.math.log(x) + x, "TFLITE_BUILTINS")


@pytest.fixture(scope="module")
def custom():
    """Two operators that are TensorFlow's own."""
    import tensorflow as tf

    return flatbuffer_of(lambda x: tf.strings.length(tf.strings.as_string(x)), "TFLITE_BUILTINS", "SELECT_TF_OPS")


def changed_bytes(before, after):
    assert len(before) == len(after)
    return np.flatnonzero(np.frombuffer(before, np.uint8) != np.frombuffer(after, np.uint8))


def test_operators_by_name_and_version(builtin, custom, wide_string):
    from ai_edge_litert.interpreter import Interpreter

    assert sorted(list_operators(builtin)) == [("ADD", 1, False), ("LOG", 1, False)]
    assert list_operators(custom) == [("FlexAsString", 1, True), ("FlexStringLength", 1, True)]
    listed = {op["op_name"] for op in Interpreter(model_content=wide_string)._get_ops_details()}
    assert {name for name, _, _ in list_operators(wide_string)} == listed


def test_newer_versions_are_read():
    import tensorflow as tf

    # Of int8 rows: TensorFlow Lite's op_version.cc gives GATHER 2 and CAST 3 for them.
    rows = tf.constant([1, 2, 3], tf.int8)
    content = flatbuffer_of(lambda x: tf.cast(tf.gather(rows, tf.cast(x, tf.int32)), tf.float32), "TFLITE_BUILTINS")
    assert list_operators(content) == [("CAST", 3, False), ("GATHER", 2, False)]


def test_operators_and_versions_that_were_never_tried_are_refused(builtin, monkeypatch):
    with pytest.raises(ExportError, match="LOG.* 1;.* 2.14"):
        require_operators(builtin)
    monkeypatch.setitem(packing.NEWEST, "LOG", 1)
    require_operators(builtin)
    monkeypatch.setitem(packing.NEWEST, "ADD", 0)
    with pytest.raises(ExportError, match="ADD.* 1;.* 2.14.* 0"):
        require_operators(builtin)


def test_a_custom_operator_is_refused_unless_it_is_named(custom):
    with pytest.raises(ExportError, match="FlexAsString"):
        require_operators(custom)
    with pytest.raises(ExportError, match="FlexStringLength"):
        require_operators(custom, ["FlexAsString"])
    require_operators(custom, ["FlexAsString", "FlexStringLength"])


def test_a_name_of_the_same_length_is_all_that_changes(custom):
    after = rename_operator(custom, "FlexAsString", "OwnToStrings")
    assert list_operators(after) == [("OwnToStrings", 1, True), ("FlexStringLength", 1, True)]
    start = custom.index(b"FlexAsString\0")
    assert start == after.index(b"OwnToStrings\0")
    assert set(changed_bytes(custom, after)) <= set(range(start, start + 12))


def test_a_shorter_name_changes_its_length_too(custom):
    after = rename_operator(custom, "FlexStringLength", "Own")
    assert list_operators(after) == [("FlexAsString", 1, True), ("Own", 1, True)]
    start = custom.index(b"FlexStringLength\0")
    assert after[start - 4 : start + 17] == b"\x03\0\0\0Own" + bytes(14)
    assert set(changed_bytes(custom, after)) <= set(range(start - 4, start + 16))


# The one stands at the file's end, the other before something.
@pytest.mark.parametrize("name", ["FlexAsString", "FlexStringLength"])
def test_a_name_can_be_given_back_and_not_be_longer(custom, name):
    assert rename_operator(rename_operator(custom, name, "Own"), "Own", name) == custom
    with pytest.raises(ExportError, match=rf" \d+ .*{name * 2} .* {2 * len(name)}$"):
        rename_operator(custom, name, name * 2)


def test_a_name_that_is_not_there_changes_nothing(custom, builtin):
    assert rename_operator(custom, "Flex", "Own") == custom
    assert rename_operator(builtin, "LOG", "SIN") == builtin


def test_a_renamed_file_loads(custom):
    from ai_edge_litert.interpreter import Interpreter

    interpreter = Interpreter(model_content=rename_operator(custom, "FlexAsString", "Own"))
    assert [op["op_name"] for op in interpreter._get_ops_details()] == ["Own", "FlexStringLength"]
    # It is run by nothing that knows the new name only.
    with pytest.raises(RuntimeError, match="Own"):
        interpreter.allocate_tensors()


def test_a_tokenizer_that_was_renamed_there_and_back_runs(wide_string):
    from distill.export.tflite.strings import StringRuntime

    there = rename_operator(wide_string, STRING_OPERATOR, "TFSentencepieceTokenizeOp")
    assert ("TFSentencepieceTokenizeOp", 1, True) in list_operators(there)
    back = rename_operator(there, "TFSentencepieceTokenizeOp", STRING_OPERATOR)
    assert back == wide_string
    assert np.array_equal(StringRuntime(back).vector("a river"), StringRuntime(wide_string).vector("a river"))
