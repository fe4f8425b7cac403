"""Compute the n-gram encoder of `distill_ngram` with NumPy."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from ...students.student import EPSILON
from ...system.types import Floats, Json


def ngram_vectors(texts: Sequence[Sequence[int]], weights: Mapping[str, Floats], config: Mapping[str, Json]) -> Floats:
    """Compute the vectors of texts.

    Args:
        texts: The token ids of each text, at least one.

    Returns:
        Vectors of unit length, float32 `(n, d)`.
    """
    layers, starts = _Layers(weights), np.cumsum([0, *map(len, texts)])
    x = weights["embedding.weight"][np.concatenate(texts)]
    x = layers.linear("factor", x) if config["sizes"]["rank"] else x
    places = range(len(config["orders"]))
    branches = [_branch(x, layers, f"branches.{place}", (config["orders"][place], starts), config) for place in places]
    features = layers.norm("norm", np.concatenate([x, *branches], axis=1))
    counts = np.diff(starts).astype(np.float32)[:, None]
    summed = np.add.reduceat(features, starts[:-1], axis=0) @ weights["pooling.weight"].T
    x = _head((summed + counts * weights["pooling.bias"]) / np.sqrt(counts), layers)
    x = layers.linear("projection", _unit(x)) if config["sizes"]["projected"] else x
    return _unit(x)


class _Layers:
    def __init__(self, weights):
        self.weights = weights

    def linear(self, name, x):
        return x @ self.weights[f"{name}.weight"].T + self.weights.get(f"{name}.bias", 0)

    def norm(self, name, x):
        centred = x - x.mean(axis=1, keepdims=True)
        deviation = np.sqrt(np.mean(centred * centred, axis=1, keepdims=True) + np.float32(EPSILON))
        return centred / deviation * self.weights[f"{name}.weight"] + self.weights[f"{name}.bias"]


def _branch(x, layers, name, window, config):
    x = layers.norm(f"{name}.norm", layers.linear(f"{name}.projection", x))
    for number in range(config["sizes"]["convolutions"]):
        x = x + np.maximum(layers.linear(f"{name}.convolutions.{number}", _windows(x, *window)), 0)
    return x


def _windows(x, order, starts):
    """Concatenate each row with its neighbours, `order` in all, with zeros beyond its text."""
    before = (order - 1) // 2
    padding = [(before, order - 1 - before), (0, 0)]
    padded = [np.pad(x[start:end], padding) for start, end in zip(starts, starts[1:], strict=False)]
    windows = [[part[place : len(part) - order + 1 + place] for place in range(order)] for part in padded]
    return np.concatenate([np.concatenate(parts, axis=1) for parts in windows])


def _head(x, layers):
    first = np.maximum(layers.linear("head.first", x), 0)
    hidden = np.maximum(layers.linear("head.second_skip", x) + layers.linear("head.second", first), 0)
    third = np.maximum(layers.linear("head.third", hidden), 0)
    return np.tanh(layers.linear("head.fourth_skip", hidden) + layers.linear("head.fourth", third))


def _unit(x):
    return x / np.sqrt(np.maximum(np.sum(x * x, axis=1, keepdims=True), np.float32(EPSILON)))
