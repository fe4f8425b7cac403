"""A TF-Hub handle or a SavedModel folder, string in and vector out, as an `Encoder`.

The SavedModel holds its own tokenizer as TensorFlow Text ops, so `tensorflow_text` is imported before it loads.
"""

from pathlib import Path

import numpy as np

from ..encoder import unit_rows
from ..errors import EncoderError, first_line
from ..tokenizer import well_formed

# Texts a call: long documents in one batch are padded to the longest.
BATCH = 32


def is_hub(source):
    """Whether `source` is a TF-Hub handle or a folder with a SavedModel."""
    text = str(source)
    return text.startswith(("https://", "http://", "gs://")) or (Path(text) / "saved_model.pb").is_file()


class HubEncoder:
    """Vectors of a loaded SavedModel, scaled to unit length. Raises `EncoderError` when it cannot be loaded or used."""

    def __init__(self, source, name=None):
        self.source, self.name = str(source), name or str(source).rstrip("/").split("/")[-1]
        self._call = _load(self.source)
        self.dimension = self._vectors(["test"]).shape[1]

    def encode(self, texts, role="question", progress=None):
        texts = [well_formed(text) for text in texts]
        order = np.argsort([len(text) for text in texts], kind="stable")
        vectors = np.zeros((len(texts), self.dimension), dtype=np.float32)
        for start in range(0, len(texts), BATCH):
            rows = order[start : start + BATCH]
            vectors[rows] = self._vectors([texts[row] for row in rows])
            if progress:
                progress(len(rows))
        return vectors

    def _vectors(self, texts):
        import tensorflow as tf

        try:
            output = self._call(tf.constant(texts))
        except (TypeError, ValueError, tf.errors.OpError) as error:
            raise EncoderError(
                f"{self.source}: the SavedModel does not take a batch of strings: {first_line(error)}"
            ) from error
        output = self._tensor(output)
        if not hasattr(output, "shape") or len(output.shape) != 2 or isinstance(output, tf.RaggedTensor):
            shape = tuple(getattr(output, "shape", ())) or type(output).__name__
            raise EncoderError(f"{self.source}: expected vectors (n, d), the SavedModel gives {shape}")
        vectors = np.asarray(output, dtype=np.float32)
        return unit_rows(vectors)

    def _tensor(self, output):
        """The one tensor of an output, or the one named `outputs`; a dict has no order to choose by."""
        if not isinstance(output, dict):
            return output
        if "outputs" not in output and len(output) > 1:
            names = ", ".join(sorted(output))
            raise EncoderError(f"{self.source}: the SavedModel has several outputs, none named 'outputs': {names}")
        return output.get("outputs", next(iter(output.values())))


def _load(source):
    import tensorflow_hub as hub
    import tensorflow_text  # noqa: F401  registers the ops that the SavedModel's tokenizer needs

    try:
        module = hub.load(source)
    except Exception as error:  # hub raises whatever its resolver, urllib and TensorFlow raise
        raise EncoderError(f"{source}: cannot be loaded as a SavedModel: {first_line(error)}") from error
    if callable(module):
        return module
    if "serving_default" in module.signatures:
        return module.signatures["serving_default"]
    raise EncoderError(f"{source}: the SavedModel has neither __call__ nor a serving_default signature")
