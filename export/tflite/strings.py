"""Text in, vector out: the tokenizer inside the flatbuffer, for tensorflow-text's runtime and for MediaPipe's."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import keras
import numpy as np

from ...encoders.tokenizer import Tokenizer
from ...errors import EncoderError, first_line
from ...students.student import Student
from ...system.backend import hushed
from ...system.text import well_formed
from ...system.types import Floats, Progress, Role, Tensor
from ..weights.precision import Precision
from .convert import checked, converted, require_tensorflow
from .edge import edge_encoder, expanded

# The tokenizer's operator as tensorflow-text registers it, and as MediaPipe does.
OPERATOR, MEDIAPIPE_OPERATOR = "TFText>FastSentencepieceTokenize", "TFSentencepieceTokenizeOp"


def convert_string(model: Student, tokenizer: Tokenizer, precision: Precision) -> bytes:
    """The flatbuffer, bytes: a string `(1,)` in, float32 `(1, d)` out. Raises `ExportError` as `tflite.convert`."""
    require_tensorflow()
    text = keras.Input(batch_shape=(1,), dtype="string", name="text")
    ids = Pieces(tokenizer.proto, name="pieces")(text)
    vectors = edge_encoder(model, precision)(expanded(ids, tokenizer))
    content = converted(keras.Model(text, vectors, name="encoder"), precision, custom=True)
    return checked(content, model, precision, custom=(OPERATOR,))


class Pieces(keras.layers.Layer):
    """One text `(1,)` -> its ids int32 `(t,)`: bos, pieces, eos."""

    def __init__(self, proto: bytes, **kwargs: str) -> None:
        super().__init__(**kwargs)
        import tensorflow_text

        self.tokenizer = tensorflow_text.FastSentencepieceTokenizer(proto, add_bos=True, add_eos=True)

    def call(self, text: Tensor) -> Tensor:
        return self.tokenizer.tokenize(text).flat_values

    def compute_output_spec(self, text: Tensor) -> Tensor:
        return keras.KerasTensor((None,), dtype="int32")


class StringRuntime:
    """A string model under tensorflow-text's operators."""

    def __init__(self, content: bytes) -> None:
        from tensorflow.lite.python.interpreter import InterpreterWithCustomOps
        from tensorflow_text.core.pybinds.tflite_registrar import SELECT_TFTEXT_OPS

        with hushed():
            self._interpreter = InterpreterWithCustomOps(
                custom_op_registerers=SELECT_TFTEXT_OPS, model_content=content, num_threads=1
            )
            self._interpreter.allocate_tensors()
        self._input = self._interpreter.get_input_details()[0]["index"]
        self._output = self._interpreter.get_output_details()[0]["index"]
        (tokenizer,) = (op for op in self._interpreter._get_ops_details() if op["op_name"] == OPERATOR)
        self._ids = int(tokenizer["outputs"][0])

    def vector(self, text: str) -> Floats:
        """float32 `(d,)`."""
        self._invoke(text)
        return self._interpreter.get_tensor(self._output)[0]

    def tokenize(self, text: str) -> list[int]:
        """The ids that the tokenizer inside the model makes of a text; a spelling has its own."""
        self._invoke(text)
        return self._interpreter.get_tensor(self._ids).tolist()

    def _invoke(self, text):
        self._interpreter.set_tensor(self._input, np.array([well_formed(text).encode()], dtype=object))
        self._interpreter.invoke()


class StringEncoder:
    """A `string` artefact as an `Encoder`."""

    max_length: int | None = None

    def __init__(self, path: Path, name: str, dimension: int) -> None:
        self.name, self.dimension = name, dimension
        try:
            self._runtime = StringRuntime(path.read_bytes())
        except (ValueError, RuntimeError) as error:
            raise EncoderError(f"{path}: the runtime cannot load it: {first_line(error)}") from error
        self.tokenize = self._runtime.tokenize

    def encode(self, texts: Sequence[str], role: Role = "question", progress: Progress | None = None) -> Floats:
        """`[str]` -> float32 `(n, dimension)`, rows of unit length, in order."""
        vectors = np.zeros((len(texts), self.dimension), dtype=np.float32)
        for row, text in enumerate(texts):
            vectors[row] = self._runtime.vector(text)
            if progress:
                progress(1)
        return vectors
