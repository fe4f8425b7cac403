"""Translate ModernBERT's config and weights from Hugging Face's names to the paths of a `TransformerEncoder`.

mmBERT and models based on it have this architecture. Older versions of `transformers` wrote
`global_attn_every_n_layers` and two thetas, newer ones `layer_types` and `rope_parameters`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

import numpy as np

from ..errors import EncoderError
from ..system.types import Floats, Json

SIZES = {
    "width": "hidden_size",
    "depth": "num_hidden_layers",
    "heads": "num_attention_heads",
    "inner": "intermediate_size",
    "positions": "max_position_embeddings",
    "activation": "hidden_activation",
}
TABLE, FIRST = "embeddings.tok_embeddings.weight", "layers.{}.attn.Wqkv"
BIASES = ("norm_bias", "attention_bias", "mlp_bias")
KINDS = {"full_attention": "global_theta", "sliding_attention": "local_theta"}
# The defaults of entries that a config leaves out.
EVERY, WINDOW, GLOBAL_THETA, LOCAL_THETA, EPSILON = 3, 128, 160_000.0, 10_000.0, 1e-5


def read_attention(config: Mapping[str, Json], depth: int, source: str) -> dict[str, Json]:
    """Read the arguments of a `TransformerEncoder` from a config of ModernBERT, except for its sizes.

    Raises:
        EncoderError: If layers have biases, positions are scaled, or layers are of another kind.
    """
    if named := [name for name in BIASES if config.get(name)]:
        raise EncoderError(f"{source}: its {named[0]} is {config[named[0]]!r}, expected layers without biases")
    try:
        return {
            "block": "modern",
            "local": _find_local(config, depth, source),
            "window": int(config.get("local_attention", WINDOW)) // 2,
            "epsilon": float(config.get("norm_eps", EPSILON)),
            **_read_thetas(config, source),
        }
    except (TypeError, ValueError, AttributeError) as error:
        raise EncoderError(f"{source}: config.json is not as expected: {error}; save the model again") from error


def _find_local(config, depth, source):
    """Return the places of the blocks in which a token attends only to its neighbours."""
    kinds = config.get("layer_types")
    if kinds is None:
        every = int(config.get("global_attn_every_n_layers", EVERY))
        return tuple(place for place in range(depth) if place % max(every, 1))
    if len(kinds) != depth or set(kinds) - set(KINDS):
        raise EncoderError(
            f"{source}: its layer_types are {len(kinds)} of {', '.join(sorted(set(kinds)))}; expected {depth} of "
            f"{', '.join(KINDS)}"
        )
    return tuple(place for place, kind in enumerate(kinds) if kind == "sliding_attention")


def _read_thetas(config, source):
    wide = float(config.get("global_rope_theta", GLOBAL_THETA))
    near = config.get("local_rope_theta", LOCAL_THETA)
    thetas = {"global_theta": wide, "local_theta": wide if near is None else float(near)}
    told = config.get("rope_parameters") or {}
    for kind, name in KINDS.items():
        turns = told.get(kind) or {}
        if turns.get("rope_type", "default") != "default":
            raise EncoderError(f"{source}: its positions are {turns['rope_type']}, expected plain rotary ones")
        thetas[name] = float(turns.get("rope_theta", thetas[name]))
    return thetas


def rename_modern(weight: Callable[[str], Floats], depth: int, source: str) -> dict[str, Floats]:
    """Return our weights, with kernels transposed, from Hugging Face's.

    Returns:
        `{path: array}`.

    Raises:
        EncoderError: If a weight cannot be split into equal parts.
    """
    ours = {
        "embedding/embeddings": weight("embeddings.tok_embeddings"),
        "positions/norm/gamma": weight("embeddings.norm"),
        "final_norm/gamma": weight("final_norm"),
    }
    for place in range(depth):
        theirs, block = f"layers.{place}", f"block_{place}"
        if place:
            ours[f"{block}/attention_norm/gamma"] = weight(f"{theirs}.attn_norm")
        ours[f"{block}/norm/gamma"] = weight(f"{theirs}.mlp_norm")
        parts = {
            ("query", "key", "value"): "attn.Wqkv",
            ("attention",): "attn.Wo",
            ("first", "gate"): "mlp.Wi",
            ("second",): "mlp.Wo",
        }
        for names, name in parts.items():
            for one, kernel in zip(names, _split_kernels(weight, f"{theirs}.{name}", len(names), source), strict=True):
                ours[f"{block}/{one}/kernel"] = kernel
    return ours


def _split_kernels(weight, name, count, source):
    """Return the kernels `(in, out)` that are stacked in one weight."""
    array = weight(name)
    if array.ndim != 2 or len(array) % count:
        raise EncoderError(f"{source}: the weight {name} is of {array.shape}, expected {count} equal parts")
    return [np.ascontiguousarray(part.T) for part in np.split(array, count)]
