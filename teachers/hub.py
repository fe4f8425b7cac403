"""A TF-Hub handle or a SavedModel folder as an `Encoder`: strings in, vectors out.

The SavedModel contains its own tokenizer as TensorFlow Text ops, so `tensorflow_text` is imported before it is loaded.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import numpy as np

from ..encoders.encoder import Encoder, KerasEncoder, normalise_rows
from ..encoders.kind import Kind, Load
from ..errors import EncoderError, first_line
from ..system.text import make_well_formed
from ..system.types import File, Floats, Progress, Role

# The number of texts per call: the texts of a batch are padded to the longest.
BATCH = 32
# The signatures of the tower for questions in USE-QA and in LAReQA's modules.
QUESTION_SIGNATURES = ("question_encoder", "query_encoder")


def is_hub(source: File) -> bool:
    """Check whether a source is a TF-Hub handle or a folder with a SavedModel."""
    text = str(source)
    return text.startswith(("https://", "http://", "gs://")) or (Path(text) / "saved_model.pb").is_file()


class HubEncoder:
    """An encoder by a SavedModel, whose vectors are scaled to unit length.

    A model with the signatures `question_encoder` or `query_encoder`, and `response_encoder`, such as the Universal
    Sentence Encoder for question answering (Yang et al., 2019) and LAReQA's encoders, has two towers and takes context:
    a document is its text and its context.
    """

    def __init__(self, source: File, name: str | None = None) -> None:
        self.source, self.name = str(source), name or str(source).rstrip("/").split("/")[-1]
        self._module, self._call, self._respond = _load(self.source)
        self.dimension = self._vectors(self._call, ["test"]).shape[1]

    @property
    def takes_context(self) -> bool:
        """True if documents have a context, as in a model with two towers."""
        return self._respond is not None

    @property
    def variables(self) -> dict[str, Floats]:
        """The values of the variables that the SavedModel says are its own, by name."""
        return {variable.name: variable.numpy() for variable in getattr(self._module, "variables", ())}

    def encode(
        self,
        texts: Sequence[str],
        role: Role = "question",
        progress: Progress | None = None,
        contexts: Sequence[str] | None = None,
    ) -> Floats:
        """Encode texts to unit vectors; the context of a document is by default its text."""
        columns, call = [list(texts)], self._call
        if role == "document" and self.takes_context:
            columns, call = [list(texts), list(texts if contexts is None else contexts)], self._respond
        columns = [[make_well_formed(text) for text in column] for column in columns]
        order = np.argsort([sum(map(len, row)) for row in zip(*columns, strict=True)], kind="stable")
        vectors = np.zeros((len(texts), self.dimension), dtype=np.float32)
        for first in range(0, len(texts), BATCH):
            rows = order[first : first + BATCH]
            vectors[rows] = self._vectors(call, *([column[row] for row in rows] for column in columns))
            if progress:
                progress(len(rows))
        return vectors

    def _vectors(self, call, *columns):
        import tensorflow as tf

        try:
            output = call(*map(tf.constant, columns))
        except (TypeError, ValueError, tf.errors.OpError) as error:
            raise EncoderError(
                f"{self.source}: the SavedModel does not take a batch of strings: {first_line(error)}"
            ) from error
        output = self._tensor(output)
        if not hasattr(output, "shape") or len(output.shape) != 2 or isinstance(output, tf.RaggedTensor):
            shape = tuple(getattr(output, "shape", ())) or type(output).__name__
            raise EncoderError(f"{self.source}: expected vectors (n, d), the SavedModel gives {shape}")
        vectors = np.asarray(output, dtype=np.float32)
        return normalise_rows(vectors)

    def _tensor(self, output):
        """Return the single tensor of an output, or the one named `outputs`, since a dict has no order to choose by."""
        if not isinstance(output, dict):
            return output
        if "outputs" not in output and len(output) > 1:
            names = ", ".join(sorted(output))
            raise EncoderError(f"{self.source}: the SavedModel has several outputs, none named 'outputs': {names}")
        return output.get("outputs", next(iter(output.values())))


def _load(source):
    """Return the module, and its functions text -> vectors, and (text, context) -> vectors or None."""
    import tensorflow_hub as hub
    import tensorflow_text  # noqa: F401  registers the ops that the SavedModel's tokenizer needs

    try:
        module = hub.load(source)
    except Exception as error:  # hub raises whatever its resolver, urllib and TensorFlow raise
        raise EncoderError(f"{source}: cannot be loaded as a SavedModel: {first_line(error)}") from error
    signatures = getattr(module, "signatures", {})
    ask = next((signatures[name] for name in QUESTION_SIGNATURES if name in signatures), None)
    if ask is not None and "response_encoder" in signatures:
        respond = signatures["response_encoder"]
        return module, ask, lambda texts, contexts: respond(input=texts, context=contexts)
    if callable(module):
        return module, module, None
    if "serving_default" in signatures:
        return module, signatures["serving_default"], None
    raise EncoderError(f"{source}: the SavedModel has neither __call__ nor a serving_default signature")


class _Hub(Kind):
    """A TF-Hub handle, or a folder. Of mUSE-small's network the variables can be trained."""

    def matches(self, source: File) -> bool:
        return is_hub(source)

    def load(self, source: File, threads: int, load: Load) -> Encoder:
        return HubEncoder(source)

    def load_trainable(self, source: File, load: Load) -> KerasEncoder:
        from ..system.backend import start
        from .muse import load_saved_muse

        start()
        saved = HubEncoder(source)
        return load_saved_muse(source, saved, saved.variables)

    def folder(self, source: File) -> Path | None:
        return Path(source) if Path(source).is_dir() else None


KIND = _Hub("a SavedModel", trainable=True)
