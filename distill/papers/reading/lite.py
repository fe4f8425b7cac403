"""A reader's network as a flatbuffer that LiteRT runs without Keras."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from ...errors import EncoderError
from ...export.encode import BundleError, load_interpreter
from ...system.types import Floats
from .inputs import QUESTION_TOKENS
from .spans import WINDOW


class LiteNetwork:
    """Logits from the one signature of `reader.tflite`, one window at a time.

    Raises `EncoderError` if the file is no reader.
    """

    def __init__(self, path: Path, threads: int = 1) -> None:
        try:
            self._run = load_interpreter(path, threads).get_signature_runner()
        except (BundleError, ValueError) as error:
            raise EncoderError(f"{path}: not a reader's flatbuffer: {error}; run distill read export") from error

    def __call__(self, batch: Mapping[str, NDArray[np.float32]]) -> Floats:
        """Return the logits `(b, t + 1, 2)` of a batch of t tokens."""
        length = batch["passage"].shape[1]
        rows = [
            {name: pad_to_fixed(name, array[row : row + 1]) for name, array in batch.items()}
            for row in range(len(batch["vector"]))
        ]
        return np.concatenate([next(iter(self._run(**row).values())) for row in rows])[:, : length + 1]


def pad_to_fixed(name: str, array: NDArray[np.float32]) -> NDArray[np.float32]:
    """Pad `(1, t, n)` with zeros to the length that the flatbuffer takes; an array without a length stays as it is."""
    if array.ndim < 3:
        return array
    size = QUESTION_TOKENS if name.startswith("question") else WINDOW
    return np.pad(array, [(0, 0), (0, size - array.shape[1]), (0, 0)])
