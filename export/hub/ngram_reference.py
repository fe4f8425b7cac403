"""The n-gram encoder of `distill_ngram`, a text at a time, by NumPy."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from ...students.student import EPSILON
from ...system.types import Floats, Json


def ngram_vectors(ids: Sequence[int], weights: Mapping[str, Floats], config: Mapping[str, Json]) -> Floats:
    """Return the vector `(d,)` of a text's ids, of the weights and the settings that lie in a folder."""
    layers = _Layers(weights)
    x = weights["embedding.weight"][np.asarray(ids)]
    x = layers.linear("factor", x) if config["sizes"]["rank"] else x
    branches = [_branch(x, layers, f"branches.{place}", order, config) for place, order in enumerate(config["orders"])]
    features = layers.norm("norm", np.concatenate([x, *branches], axis=1))
    count = np.float32(len(ids))
    summed = features.sum(axis=0, keepdims=True) @ weights["pooling.weight"].T + count * weights["pooling.bias"]
    x = _head(summed / np.sqrt(count), layers)
    x = layers.linear("projection", _unit(x)) if config["sizes"]["projected"] else x
    return _unit(x)[0]


class _Layers:
    def __init__(self, weights):
        self.weights = weights

    def linear(self, name, x):
        return x @ self.weights[f"{name}.weight"].T + self.weights.get(f"{name}.bias", 0)

    def norm(self, name, x):
        centred = x - x.mean(axis=1, keepdims=True)
        deviation = np.sqrt(np.mean(centred * centred, axis=1, keepdims=True) + np.float32(EPSILON))
        return centred / deviation * self.weights[f"{name}.weight"] + self.weights[f"{name}.bias"]


def _branch(x, layers, name, order, config):
    x = layers.norm(f"{name}.norm", layers.linear(f"{name}.projection", x))
    before = (order - 1) // 2
    for number in range(config["sizes"]["convolutions"]):
        padded = np.pad(x, [(before, order - 1 - before), (0, 0)])
        windows = np.concatenate([padded[place : place + len(x)] for place in range(order)], axis=1)
        x = x + np.maximum(layers.linear(f"{name}.convolutions.{number}", windows), 0)
    return x


def _head(x, layers):
    first = np.maximum(layers.linear("head.first", x), 0)
    hidden = np.maximum(layers.linear("head.second_skip", x) + layers.linear("head.second", first), 0)
    third = np.maximum(layers.linear("head.third", hidden), 0)
    return np.tanh(layers.linear("head.fourth_skip", hidden) + layers.linear("head.fourth", third))


def _unit(x):
    return x / np.sqrt(np.maximum(np.sum(x * x, axis=1, keepdims=True), np.float32(EPSILON)))
