"""Convert a student to a flatbuffer with its tokenizer inside, for the runtimes of tensorflow-text and of MediaPipe."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import keras
import numpy as np

from ...encoders.tokenizer import Tokenizer
from ...errors import EncoderError, first_line
from ...students.student import Student
from ...system.backend import hush_stderr
from ...system.text import make_well_formed
from ...system.types import Floats, Progress, Role, Tensor
from ..weights.precision import Precision
from .convert import convert_keras_model, require_complete, require_tensorflow
from .edge import edge_encoder, expand_spellings

# The names of the tokenizer's operator in tensorflow-text and in MediaPipe.
OPERATOR, MEDIAPIPE_OPERATOR = "TFText>FastSentencepieceTokenize", "TFSentencepieceTokenizeOp"


def convert_string(model: Student, tokenizer: Tokenizer, precision: Precision) -> bytes:
    """Convert a student, as `convert.convert` does, to a flatbuffer of a string `(1,)` -> float32 `(1, d)`."""
    require_tensorflow()
    text = keras.Input(batch_shape=(1,), dtype="string", name="text")
    ids = TokenizerLayer(tokenizer.proto, name="pieces")(text)
    vectors = edge_encoder(model, precision)(expand_spellings(ids, tokenizer))
    content = convert_keras_model(keras.Model(text, vectors, name="encoder"), precision, custom=True)
    return require_complete(content, model, precision, custom=(OPERATOR,))


class TokenizerLayer(keras.layers.Layer):
    """Tokenizes one text `(1,)` to ids int32 `(t,)`, including bos and eos."""

    def __init__(self, proto: bytes, **kwargs: str) -> None:
        super().__init__(**kwargs)
        import tensorflow_text

        self.tokenizer = tensorflow_text.FastSentencepieceTokenizer(proto, add_bos=True, add_eos=True)

    def call(self, text: Tensor) -> Tensor:
        return self.tokenizer.tokenize(text).flat_values

    def compute_output_spec(self, text: Tensor) -> Tensor:
        return keras.KerasTensor((None,), dtype="int32")


class StringRuntime:
    """A string model, run with tensorflow-text's operators."""

    def __init__(self, content: bytes) -> None:
        from tensorflow.lite.python.interpreter import InterpreterWithCustomOps
        from tensorflow_text.core.pybinds.tflite_registrar import SELECT_TFTEXT_OPS

        with hush_stderr():
            self._interpreter = InterpreterWithCustomOps(
                custom_op_registerers=SELECT_TFTEXT_OPS, model_content=content, num_threads=1
            )
            self._interpreter.allocate_tensors()
        self._input = self._interpreter.get_input_details()[0]["index"]
        self._output = self._interpreter.get_output_details()[0]["index"]
        (tokenizer,) = (op for op in self._interpreter._get_ops_details() if op["op_name"] == OPERATOR)
        self._ids = int(tokenizer["outputs"][0])

    def vector(self, text: str) -> Floats:
        """Return the vector of a text, float32 `(d,)`."""
        self._invoke(text)
        return self._interpreter.get_tensor(self._output)[0]

    def tokenize(self, text: str) -> list[int]:
        """Return the ids of the tokenizer inside the model; a spelling has an id of its own."""
        self._invoke(text)
        return self._interpreter.get_tensor(self._ids).tolist()

    def _invoke(self, text):
        self._interpreter.set_tensor(self._input, np.array([make_well_formed(text).encode()], dtype=object))
        self._interpreter.invoke()


class StringEncoder:
    """A `string` artefact as an `Encoder`. Raises `EncoderError` if the runtime cannot load the file."""

    max_length: int | None = None

    def __init__(self, path: Path, name: str, dimension: int) -> None:
        self.name, self.dimension = name, dimension
        try:
            self._runtime = StringRuntime(path.read_bytes())
        except (ValueError, RuntimeError) as error:
            raise EncoderError(f"{path}: the runtime cannot load it: {first_line(error)}") from error
        self.tokenize = self._runtime.tokenize

    def encode(self, texts: Sequence[str], role: Role = "question", progress: Progress | None = None) -> Floats:
        """Encode texts. Returns vectors of unit length, float32 `(n, dimension)`."""
        vectors = np.zeros((len(texts), self.dimension), dtype=np.float32)
        for row, text in enumerate(texts):
            vectors[row] = self._runtime.vector(text)
            if progress:
                progress(1)
        return vectors
