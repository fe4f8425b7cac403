"""Convert a Keras student, or the network of a reader, to a TFLite flatbuffer."""

from __future__ import annotations

import contextlib
import errno
import io
import os
import shutil
import tempfile
from collections.abc import Mapping, Sequence

import keras

from ...encoders.tokenizer import Tokenizer
from ...errors import ExportError, first_line
from ...students.student import Student
from ...system.backend import hush_stderr
from ...system.types import Model
from ..weights.codecs import CODECS
from ..weights.precision import Precision
from .edge import edge_model, edge_models
from .packing import add_signature, narrow_kernels, require_operators

# With fewer free bytes in the temporary folder, a failed conversion is taken to have run out of space.
ROOM = 1 << 20


def convert(
    model: Student,
    precision: Precision | None = None,
    length: int | None = None,
    lengths: Sequence[int] = (),
    sliced: bool | None = None,
    tokenizer: Tokenizer | None = None,
) -> bytes:
    """Convert a student to a flatbuffer that maps int32 ids `(1, t)` to a float32 vector `(1, d)`.

    Raises `ExportError` if Keras does not run on TensorFlow, the weights are missing in the file, or one of its
    operators is not builtin or is newer than the oldest supported runtime.

    Args:
        precision: How the weights are stored; None for the defaults.
        length: The fixed t, or None for any number.
        lengths: Values of t that get a signature `encode_<t>` each; all share the weights.
        sliced: True to cut padding off in the graph, False to mask it; None to cut it off unless t is fixed.
    """
    require_tensorflow()
    precision = precision or Precision()
    if lengths:
        content = convert_signatures(model, precision, lengths)
    else:
        sliced = length is None if sliced is None else sliced
        content = convert_keras_model(edge_model(model, precision, length, sliced, tokenizer), precision)
    return require_complete(narrow_kernels(content) if precision.dense == "int4" else content, model, precision)


def require_tensorflow() -> None:
    """Require that Keras runs on TensorFlow, as other backends fail when the graph is built."""
    if keras.backend.backend() != "tensorflow":
        raise ExportError(
            f"export needs KERAS_BACKEND=tensorflow, not {keras.backend.backend()}; set it and export the saved encoder"
        )


def convert_keras_model(keras_model: Model, precision: Precision, custom: bool = False) -> bytes:
    """Convert a functional Keras model with one input and one output."""
    return add_signature(_convert(lambda lite: _make_frozen_converter(lite, keras_model), precision, custom))


def _make_frozen_converter(lite, keras_model):
    """Return a converter of the graph with its weights as constants; a SavedModel would take four times as long."""
    import tensorflow as tf

    [given] = keras_model.inputs
    spec = tf.TensorSpec(given.shape, given.dtype, name=given.name)
    graph = tf.function(lambda given: keras_model(given), autograph=False).get_concrete_function(spec)
    converter = lite.TFLiteConverter.from_concrete_functions([graph], keras_model)
    converter.experimental_lower_to_saved_model = False
    return converter


def convert_to_float16(keras_model: Model) -> bytes:
    """Convert a functional Keras model to a flatbuffer with weights in float16."""
    import tensorflow as tf

    def make(lite):
        converter = lite.TFLiteConverter.from_keras_model(keras_model)
        converter.optimizations = [lite.Optimize.DEFAULT]
        converter.target_spec.supported_types = [tf.float16]
        return converter

    return _convert(make, Precision("float32"))


def convert_signatures(model: Student, precision: Precision, lengths: Sequence[int]) -> bytes:
    """Convert a student to one flatbuffer with a signature for each length."""
    import tensorflow as tf

    # Keras's own archive traces each graph several times, and gives the same bytes in twice the time.
    module, signatures = tf.Module(), {}
    with tempfile.TemporaryDirectory() as folder:
        with hush_stderr(), contextlib.redirect_stdout(io.StringIO()):
            edges = edge_models(model, precision, lengths)
            module.kept = [variable.value for edge in edges.values() for variable in edge.variables]
            for length, edge in edges.items():
                spec = tf.TensorSpec(edge.input_shape, "int32", name="ids")
                traced = tf.function(_endpoint(edge), autograph=False).get_concrete_function(spec)
                signatures[f"encode_{length}"] = traced
            tf.saved_model.save(module, folder, signatures=signatures)
        names = list(signatures)
        return _convert(lambda lite: lite.TFLiteConverter.from_saved_model(folder, signature_keys=names), precision)


def _endpoint(edge):
    return lambda ids: {"vectors": edge(ids)}


def _convert(make, precision, custom=False):
    import tensorflow as tf
    from tensorflow.lite.python.convert_phase import ConverterError

    try:
        with hush_stderr(), contextlib.redirect_stdout(io.StringIO()):
            return _configure(tf.lite, make(tf.lite), precision, custom).convert()
    except (ConverterError, tf.errors.OpError, RuntimeError, ValueError, TypeError) as error:
        _require_room(error)
        raise ExportError(f"TFLite conversion failed: {first_line(error)}") from error


def _require_room(error):
    """Raise `OSError` if the converter had no space for its temporary files, which it does not report."""
    folder = tempfile.gettempdir()
    if shutil.disk_usage(folder).free < ROOM:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC), folder) from error


def _configure(lite, converter, precision, custom):
    converter.target_spec.supported_ops = [lite.OpsSet.TFLITE_BUILTINS]
    converter.allow_custom_ops = custom
    if precision.dense != "float32":
        converter.optimizations = [lite.Optimize.DEFAULT]
        # Older runtimes load kernels with one scale only; `layers.py` makes that lossless.
        converter._experimental_disable_per_channel_quantization_for_dense_layers = True
    return converter


def require_complete(content: bytes, model: Student, precision: Precision, custom: Sequence[str] = ()) -> bytes:
    """Return a flatbuffer, or raise `ExportError` if its weights are missing or an operator of it is not supported."""
    least = model.get_layer("embedding").count_params() * CODECS[precision.table].bits // 8
    if len(content) < least:
        raise ExportError(
            f"the converted file has {len(content)} bytes, its table alone needs {least}: the weights are missing"
        )
    require_operators(content, custom)
    return content


def convert_reader(network: Model, lengths: Mapping[str, int | None]) -> bytes:
    """Convert a network with named inputs to a flatbuffer with one signature.

    An input is float32 `(1, length, d)`, or `(1, d)` if its length is None.
    """
    require_tensorflow()
    inputs = {name: _fix_length(name, network.input[name].shape, length) for name, length in lengths.items()}
    return convert_to_float16(keras.Model(list(inputs.values()), network(inputs), name="reader"))


def _fix_length(name, shape, length):
    sizes = (1, shape[-1]) if length is None else (1, length, shape[-1])
    return keras.Input(batch_shape=sizes, name=name)
