"""A transformer in `encoder.bin`, the file of the programs in C and Java: its settings and its vectors."""

from __future__ import annotations

from collections.abc import Callable, Sequence

import numpy as np

from ....errors import ExportError
from ....system.types import Floats
from ...c.encoder_file import CODES, SCALES
from ...c.reference import Layers, flatten, to_unit_length
from ...tflite.graph import Graph
from ...tflite.weights import Parts
from .stored import ATTENTION_INPUTS

# The family's name and its number in the file.
FAMILY, NUMBER = "transformer", 2
# The activations and the poolings, in the order of their numbers in the file.
ACTIVATIONS = ("linear", "gelu", "gelu_tanh", "relu", "tanh")
POOLINGS = ("mean", "first", "max")
POSITIONS = "positions"


def numbers_of(parts: Parts) -> list[int]:
    """Return the end of the file's settings: blocks, heads, pooling, activation, activation behind the pooling."""
    settings = parts.settings
    if settings.get("block", "bert") != "bert":
        raise ExportError("a program in C supports BERT's blocks, not ModernBERT's; export a bundle")
    depth = sum(name.endswith(".looked") for name in parts.products)
    activations = [ACTIVATIONS.index(settings[name] or "linear") for name in ("activation", "dense")]
    return [depth, settings["heads"], POOLINGS.index(settings["pooling"]), *activations]


def sections_of(graph: Graph, parts: Parts) -> dict[str, np.ndarray]:
    """Return the sections of normalisations, position embeddings and epsilon, beside the table and the dense layers."""
    vectors = {name.removeprefix("block_"): vector for name, vector in parts.vectors.items()}
    places = vectors.pop(f"{POSITIONS}.embeddings")
    arrays = graph.positions()
    stored = {f"{POSITIONS}.embeddings": places} if len(arrays) == 1 else _codes(arrays)
    return {**flatten(vectors), **stored, "epsilon": np.array([parts.settings["epsilon"]], dtype=np.float32)}


def _codes(arrays):
    codes, scales = arrays
    return {f"{POSITIONS}.{CODES}": codes, f"{POSITIONS}.{SCALES}": scales.reshape(-1)}


def vector_of(x: Floats, layers: Layers, numbers: Sequence[int]) -> Floats:
    """Compute the vector of a text. Returns a vector of unit length, float32 `(d,)`."""
    depth, heads, pooling, activation, behind, *_ = numbers
    epsilon = float(layers.vector("epsilon")[0])
    x = layers.dense("factor", x) if "factor" in layers else x
    x = layers.norm(f"{POSITIONS}.norm", x + layers.places(POSITIONS, len(x)), epsilon)
    for place in range(depth):
        x = _through_block(x, layers, str(place), (heads, activation, epsilon))
    pooled = (x.mean(axis=0, dtype=np.float32), x[0], x.max(axis=0))[pooling][None]
    if "dense" in layers:
        pooled = ACTIVATION_FUNCTIONS[ACTIVATIONS[behind]](layers.dense("dense", pooled))
    return to_unit_length(layers.dense("projection", pooled) if "projection" in layers else pooled)[0]


def _through_block(x, layers, name, kind):
    heads, activation, epsilon = kind
    means = _attend(layers.dense(f"{name}.looked", x), heads)
    x = layers.norm(f"{name}.attention_norm", x + layers.dense(f"{name}.attention", means), epsilon)
    hidden = ACTIVATION_FUNCTIONS[ACTIVATIONS[activation]](layers.dense(f"{name}.first", x))
    return layers.norm(f"{name}.norm", x + _second(layers, name, hidden), epsilon)


def _second(layers, name, hidden):
    if f"{name}.wide" not in layers:
        return layers.dense(f"{name}.second", hidden)
    wide = layers.inputs(f"{name}.wide")
    return layers.dense(f"{name}.wide", hidden[:, :wide]) + layers.dense(f"{name}.second", hidden[:, wide:])


def _attend(looked, heads):
    """Compute dot-product attention of joined queries, keys and values, `(t, 3 h s)` -> `(t, h s)`."""
    apart = looked.reshape(len(looked), len(ATTENTION_INPUTS), heads, -1).transpose(1, 2, 0, 3)
    query, key, value = apart  # (h, t, s)
    scores = query @ key.transpose(0, 2, 1)
    shares = np.exp(scores - scores.max(axis=-1, keepdims=True))
    means = (shares / shares.sum(axis=-1, keepdims=True)) @ value
    return means.transpose(1, 0, 2).reshape(len(looked), -1)


def gelu(x: Floats) -> Floats:
    """Return the Gaussian error linear unit of x. Abramowitz and Stegun (1964), 7.1.26."""
    size = np.abs(x) * np.float32(0.5**0.5)
    t = 1 / (1 + np.float32(0.3275911) * size)
    tail = np.zeros_like(t)
    for term in (1.061405429, -1.453152027, 1.421413741, -0.284496736, 0.254829592):
        tail = (tail + np.float32(term)) * t
    tail = np.float32(0.5) * tail * np.exp(-size * size)
    return (x * np.where(x < 0, tail, 1 - tail)).astype(np.float32)


def gelu_tanh(x: Floats) -> Floats:
    """Return an approximation of `gelu`. Hendrycks and Gimpel (2016), section 2."""
    with np.errstate(over="ignore"):
        return x / (1 + np.exp(np.float32(-1.59576912) * (x + np.float32(0.044715) * x * x * x)))


ACTIVATION_FUNCTIONS: dict[str, Callable[[Floats], Floats]] = {
    "linear": lambda x: x,
    "gelu": gelu,
    "gelu_tanh": gelu_tanh,
    "relu": lambda x: np.maximum(x, 0),
    "tanh": np.tanh,
}
