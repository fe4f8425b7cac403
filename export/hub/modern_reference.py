"""Compute a ModernBertModel with NumPy, after Warner et al. (2024), for the gate of an export.

Weights and settings have transformers' names.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from ...system.types import Floats, Json
from .transformer_reference import ACTIVATIONS, Weights, attend

SLIDING = "sliding_attention"


@dataclass(frozen=True)
class ModernBert:
    """A `ModernBertModel`."""

    weights: Weights
    config: Mapping[str, Json]

    def tokens(self, ids: Sequence[int]) -> Floats:
        """Compute the vectors `(t, w)` of a text's token ids."""
        x = self._norm(self.weights["embeddings.tok_embeddings.weight"][list(ids)], "embeddings.norm")
        for place, kind in enumerate(self.config["layer_types"]):
            name = f"layers.{place}"
            read = self._norm(x, f"{name}.attn_norm") if f"{name}.attn_norm.weight" in self.weights else x
            x = x + self._product(self._attend(read, f"{name}.attn.Wqkv", kind), f"{name}.attn.Wo")
            both = self._product(self._norm(x, f"{name}.mlp_norm"), f"{name}.mlp.Wi")
            units, gate = np.split(both, 2, axis=1)
            x = x + self._product(ACTIVATIONS[self.config["hidden_activation"]](units) * gate, f"{name}.mlp.Wo")
        return self._norm(x, "final_norm")

    def _attend(self, x: Floats, name: str, kind: str) -> Floats:
        places, heads = np.arange(len(x), dtype=np.float32), self.config["num_attention_heads"]
        parts = np.split(self._product(x, name), 3, axis=1)
        query, key, value = (part.reshape(len(x), heads, -1).transpose(1, 0, 2) for part in parts)
        half = query.shape[-1] // 2
        theta = np.float32(self.config["rope_parameters"][kind]["rope_theta"])
        angles = places[:, None] * theta ** -(np.arange(half, dtype=np.float32) / half)
        query, key = (_rotate(part, angles.astype(np.float32)) for part in (query, key))
        way = np.abs(places[:, None] - places)
        hidden = way > self.config["local_attention"] // 2 if kind == SLIDING else np.zeros_like(way, bool)
        return attend(query, key, value, hidden)

    def _product(self, x: Floats, name: str) -> Floats:
        return x @ self.weights[f"{name}.weight"].T

    def _norm(self, x: Floats, name: str) -> Floats:
        centred = x - x.mean(axis=-1, keepdims=True)
        deviation = np.sqrt(np.square(centred).mean(axis=-1, keepdims=True) + np.float32(self.config["norm_eps"]))
        return centred / deviation * self.weights[f"{name}.weight"]


def _rotate(x: Floats, angles: Floats) -> Floats:
    """Rotate the pairs of heads `(h, t, s)`, half a head apart, by angles `(t, s / 2)`."""
    first, second = np.split(x, 2, axis=-1)
    cosine, sine = np.cos(angles), np.sin(angles)
    return np.concatenate([first * cosine - second * sine, second * cosine + first * sine], axis=-1)
