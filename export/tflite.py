"""A Keras student as a TFLite flatbuffer: uint8 table inside, dense layers dynamic-range int8, builtin ops only."""

import contextlib
import io

import keras
from keras import ops

from ..backend import hushed
from ..errors import ExportError, first_line
from ..students.ngram import Branch, Head, token_features
from .quantize import ChannelDense, QuantizedTable, SplitDense


def edge_model(model):
    """An `NGramEncoder` as a functional model of one unpadded text: ids int32 `(1, t)` -> `(1, d)`.

    Every layer is named: automatic names count up in a process, and the flatbuffer holds them.
    """
    ids = keras.Input(batch_shape=(1, None), dtype="int32", name="ids")
    x = QuantizedTable(model.get_layer("embedding").get_weights()[0], name="table")(ids)
    features = token_features(
        x, None, [edge_branch(branch) for branch in model.branches], edge_norm(model.get_layer("norm"))
    )
    # A count from the ids stays dynamic; one from the shape would be folded to the traced length.
    count = ops.sum(ops.cast(ops.greater_equal(ids, 0), "float32"), axis=1, keepdims=True)
    pooled = EdgePooling(model.get_layer("pooling"), name="pooling")(features, count)
    return keras.Model(ids, edge_head(model.get_layer("head"))(pooled), name="encoder")


def edge_branch(branch):
    """A copy with quantised dense layers."""
    copy = Branch(branch.order, branch.channels, name=branch.name)
    copy.projection, copy.norm = ChannelDense(branch.projection, name="projection"), edge_norm(branch.norm)
    for part, trained in ((copy.first, branch.first), (copy.second, branch.second)):
        part.dense = ChannelDense(trained.dense, name="dense")
    return copy


def edge_norm(norm):
    copy = keras.layers.LayerNormalization(epsilon=norm.epsilon, name=norm.name)
    copy.build(norm.gamma.shape)
    copy.set_weights(norm.get_weights())
    return copy


def edge_head(head):
    copy = Head(head.hidden, head.dimension, name="head")
    for name in head.sizes:
        setattr(copy, name, SplitDense(getattr(head, name), name=name))
    return copy


class EdgePooling(keras.layers.Layer):
    """`Pooling` with its dense layer before the sum, so that each token is quantised by its own range."""

    def __init__(self, pooling, **kwargs):
        super().__init__(**kwargs)
        self.dense, self.scale = ChannelDense(pooling.dense, name="dense"), pooling.scale

    def call(self, features, count):
        return self.scale(ops.sum(self.dense(features), axis=1), count)


def convert(model):
    """The flatbuffer, bytes, of an `NGramEncoder`; one int32 input `(1, t)`, one float32 output `(1, d)`.

    Raises `ExportError` when Keras does not run on TensorFlow, or the file lacks the weights or has custom ops.
    """
    if keras.backend.backend() != "tensorflow":
        raise ExportError(
            f"export needs KERAS_BACKEND=tensorflow, not {keras.backend.backend()}; set it and export the saved encoder"
        )
    import tensorflow as tf

    try:
        with hushed(), contextlib.redirect_stdout(io.StringIO()):
            content = _converted(tf, edge_model(model))
    except (tf.errors.OpError, RuntimeError, ValueError, TypeError) as error:
        raise ExportError(f"TFLite conversion failed: {first_line(error)}") from error
    return checked(content, model.vocabulary * model.width)


def _converted(tf, model):
    converter = tf.lite.TFLiteConverter.from_keras_model(model)
    converter.optimizations = [tf.lite.Optimize.DEFAULT]
    converter.target_spec.supported_ops = [tf.lite.OpsSet.TFLITE_BUILTINS]
    # One scale a kernel loads in older runtimes; `quantize.py` makes it lossless.
    converter._experimental_disable_per_channel_quantization_for_dense_layers = True
    return converter.convert()


def checked(content, least):
    """The flatbuffer, if it is larger than its table and has builtin operators only; else `ExportError`."""
    if len(content) < least:
        raise ExportError(
            f"the converted file has {len(content)} bytes, its table alone needs {least}: the weights are missing"
        )
    custom = custom_operators(content)
    if custom:
        raise ExportError(f"the converted file needs operators that are not builtin: {', '.join(custom)}")
    return content


def custom_operators(content):
    """Names of the operators in a flatbuffer that a runtime without TensorFlow lacks."""
    from ai_edge_litert import schema_py_generated as schema

    model = schema.Model.GetRootAsModel(content, 0)
    codes = [model.OperatorCodes(number) for number in range(model.OperatorCodesLength())]
    return sorted(code.CustomCode().decode() for code in codes if code.CustomCode())
