"""The folder of a reader: its network, in Keras or for LiteRT, its encoder, and the statistics of its embeddings."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import NDArray

from ...encoders.keras_file import require_own
from ...errors import EncoderError, first_line
from ...export.encode import BundleError, load_interpreter
from ...system.arrays import read_arrays, write_arrays
from ...system.backend import start
from ...system.files import require_inside, write_aside, write_json
from ...system.input_files import read_json
from ...system.types import File, Floats, Json
from .inputs import QUESTION_TOKENS, EmbeddingScale
from .pieces import WINDOW
from .reader import Network

if TYPE_CHECKING:
    from .network import ReaderNetwork

NETWORK_FILE, CARD_FILE, ROWS_FILE, LITE_FILE = "reader.keras", "reader.json", "rows.npz", "reader.tflite"


@dataclass(frozen=True)
class ReaderCard:
    """The card of a reader's folder. `dev` is F1 and exact match on dev."""

    encoder: str
    fingerprint: str
    language: str
    dev: Mapping[str, float]
    data: tuple[str, ...]
    seed: int = 0


def save_reader(folder: File, network: ReaderNetwork, standard: EmbeddingScale, card: ReaderCard) -> None:
    """Write the folder that `load_reader` reads; an interrupted write leaves no folder."""
    with write_aside(folder) as aside:
        aside.mkdir()
        network.save(aside / NETWORK_FILE)
        write_standard(aside, standard)
        write_json(aside / CARD_FILE, card_dict(card))


def write_standard(folder: Path, standard: EmbeddingScale) -> None:
    """Write the mean and the spread of the embeddings."""
    write_arrays(folder / ROWS_FILE, {"mean": standard.mean, "spread": np.array([standard.spread], np.float32)})


def card_dict(card: ReaderCard) -> dict[str, Json]:
    return {**asdict(card), "data": list(card.data), "dev": dict(card.dev)}


def read_card(folder: File) -> ReaderCard:
    """Read the card of a reader's folder. Raises `EncoderError` if the folder is no reader."""
    path = Path(folder) / CARD_FILE
    if not path.is_file():
        raise EncoderError(
            f"{folder}: the folder has no {CARD_FILE}; give the folder of distill read train, or hf:NAME"
        )
    require_inside(folder, "*")
    value = read_json(path)
    try:
        return ReaderCard(**{**value, "data": tuple(value["data"])})
    except (TypeError, KeyError) as error:
        raise EncoderError(f"{path}: not a reader's card: {first_line(error)}; train it again") from error


def read_standard(folder: File) -> EmbeddingScale:
    """Read the mean and the spread of the embeddings. Raises `DataError` or `EncoderError` for another file."""
    stored = read_arrays(Path(folder) / ROWS_FILE)
    if "mean" not in stored or "spread" not in stored:
        raise EncoderError(f"{Path(folder) / ROWS_FILE}: expected mean and spread of rows; train the reader again")
    return EmbeddingScale(stored["mean"].astype(np.float32), float(stored["spread"][0]))


def load_network(folder: File) -> ReaderNetwork:
    """Load the Keras network of a folder. Raises `EncoderError` if there is none, or it cannot be read."""
    path = Path(folder) / NETWORK_FILE
    if not path.is_file():
        raise EncoderError(f"{folder}: the folder has no {NETWORK_FILE}; give the folder of distill read train")
    start()
    import keras

    from . import network  # noqa: F401  (the import registers the layers)

    require_own(path)
    try:
        return keras.saving.load_model(path, compile=False, safe_mode=True)
    except Exception as error:  # the zip, the JSON and the weights raise errors of their own
        raise EncoderError(f"{path}: not a reader: {first_line(error)}") from error


def load_runnable(folder: File) -> Network:
    """Load the network of a folder: the flatbuffer if there is one, else the Keras network. Raises `EncoderError`."""
    if (path := Path(folder) / LITE_FILE).is_file():
        return LiteNetwork(path)
    from .training import prediction_function

    return prediction_function(load_network(folder))


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
