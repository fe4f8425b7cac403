"""Compute a BertModel with NumPy, after Devlin et al. (2019), for the gate of an export.

Weights and settings have transformers' names.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from ...system.types import Floats, Json

Weights = Mapping[str, Floats]


@dataclass(frozen=True)
class Bert:
    """A `BertModel`."""

    weights: Weights
    config: Mapping[str, Json]

    def tokens(self, ids: Sequence[int]) -> Floats:
        """Compute the vectors `(t, w)` of a text's token ids."""
        w = self.weights
        x = w["embeddings.word_embeddings.weight"][list(ids)] + w["embeddings.token_type_embeddings.weight"][0]
        x = self._norm(x + w["embeddings.position_embeddings.weight"][: len(ids)], "embeddings.LayerNorm")
        for place in range(self.config["num_hidden_layers"]):
            x = self._block(x, f"encoder.layer.{place}")
        return x

    def _block(self, x: Floats, name: str) -> Floats:
        attention = self._dense(self._attend(x, f"{name}.attention.self"), f"{name}.attention.output.dense")
        x = self._norm(x + attention, f"{name}.attention.output.LayerNorm")
        hidden = ACTIVATIONS[self.config["hidden_act"]](self._dense(x, f"{name}.intermediate.dense"))
        return self._norm(x + self._dense(hidden, f"{name}.output.dense"), f"{name}.output.LayerNorm")

    def _attend(self, x: Floats, name: str) -> Floats:
        heads = self.config["num_attention_heads"]
        query, key, value = (
            self._dense(x, f"{name}.{part}").reshape(len(x), heads, -1).transpose(1, 0, 2)
            for part in ("query", "key", "value")
        )
        return attend(query, key, value)

    def _dense(self, x: Floats, name: str) -> Floats:
        return x @ self.weights[f"{name}.weight"].T + self.weights[f"{name}.bias"]

    def _norm(self, x: Floats, name: str) -> Floats:
        centred = x - x.mean(axis=-1, keepdims=True)
        deviation = np.sqrt(np.square(centred).mean(axis=-1, keepdims=True) + np.float32(self.config["layer_norm_eps"]))
        return centred / deviation * self.weights[f"{name}.weight"] + self.weights[f"{name}.bias"]


def attend(query: Floats, key: Floats, value: Floats, hidden: NDArray[np.bool_] | None = None) -> Floats:
    """Compute each token's weighted mean of the values, `(t, h * s)`, from queries, keys and values `(h, t, s)`.

    `hidden`, bool `(t, t)`, is true where a token, by row, must not attend to another, by column.
    """
    scores = query @ key.transpose(0, 2, 1) / np.sqrt(np.float32(query.shape[-1]))
    if hidden is not None:
        scores = np.where(hidden, np.float32(-np.inf), scores)
    looks = np.exp(scores - scores.max(axis=-1, keepdims=True))
    means = looks / looks.sum(axis=-1, keepdims=True) @ value  # (h, t, s)
    return means.transpose(1, 0, 2).reshape(value.shape[1], -1)


def gelu(x: Floats) -> Floats:
    """Return the Gaussian error linear unit of x, to 2e-7: Abramowitz and Stegun (1964), 7.1.26."""
    far = np.abs(x) / np.sqrt(np.float32(2))
    t = 1 / (1 + 0.3275911 * far)
    sum_ = t * (0.254829592 + t * (-0.284496736 + t * (1.421413741 + t * (-1.453152027 + t * 1.061405429))))
    return x * (1 + np.sign(x) * (1 - sum_ * np.exp(-far * far))) / 2


def gelu_tanh(x: Floats) -> Floats:
    """Return `gelu` approximated by a hyperbolic tangent."""
    return x * (1 + np.tanh(np.sqrt(2 / np.pi).astype(np.float32) * (x + 0.044715 * x**3))) / 2


def relu(x: Floats) -> Floats:
    """Return the larger of x and 0."""
    return np.maximum(x, 0)


ACTIVATIONS: dict[str, Callable[[Floats], Floats]] = {"gelu": gelu, "gelu_pytorch_tanh": gelu_tanh, "relu": relu}
# Functions from a text's token vectors `(t, w)` to one vector, by the settings of a Pooling module.
POOLINGS: dict[str, Callable[[Floats], Floats]] = {
    "pooling_mode_mean_tokens": lambda x: x.mean(axis=0),
    "pooling_mode_cls_token": lambda x: x[0],
    "pooling_mode_max_tokens": lambda x: x.max(axis=0),
}
