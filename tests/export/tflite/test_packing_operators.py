import numpy as np
import pytest

from distill.errors import ExportError
from distill.export.tflite import packing
from distill.export.tflite.packing import list_operators, rename_operator, require_operators

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
