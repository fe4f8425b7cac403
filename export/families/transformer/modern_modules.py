"""Convert a transformer with modern blocks to ModernBERT's config and weights, by Hugging Face's names."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from ....errors import ExportError
from ....students.transformer.network import TransformerEncoder
from ....system.types import Floats, Json
from ...weights.rewrite import factor_of

if TYPE_CHECKING:
    from ....students.transformer.modern import ModernBlock

KINDS = ("full_attention", "sliding_attention")


def modern_config(model: TransformerEncoder, activation: str) -> dict[str, Json]:
    """Return the `config.json` of a `ModernBertModel`.

    Args:
        activation: Hugging Face's name of its activation.

    Raises:
        ExportError: If the heads do not make up a row.
    """
    if model.heads * model.head_size != model.width:
        raise ExportError(
            f"a ModernBertModel of width {model.width} does not support {model.heads} heads of "
            f"{model.head_size}; export a bundle"
        )
    local = [place in model.local for place in range(model.depth)]
    thetas = model.global_theta, model.local_theta
    turns = {kind: {"rope_type": "default", "rope_theta": theta} for kind, theta in zip(KINDS, thetas, strict=True)}
    return {
        "architectures": ["ModernBertModel"],
        "model_type": "modernbert",
        "vocab_size": model.vocabulary,
        "hidden_size": model.width,
        "num_hidden_layers": model.depth,
        "num_attention_heads": model.heads,
        "intermediate_size": model.inner,
        "hidden_activation": activation,
        "max_position_embeddings": model.positions,
        "norm_eps": model.epsilon,
        "local_attention": 2 * model.window,
        "layer_types": [KINDS[near] for near in local],
        "rope_parameters": turns,
        # For older versions, which have no layer types.
        "global_attn_every_n_layers": _global_interval(local),
        **dict(zip(("global_rope_theta", "local_rope_theta"), thetas, strict=True)),
        **dict.fromkeys(("norm_bias", "attention_bias", "mlp_bias"), False),
        **dict.fromkeys(("pad_token_id", "bos_token_id", "eos_token_id", "cls_token_id", "sep_token_id")),
        "torch_dtype": "float32",
    }


def _global_interval(local):
    """Return n if every n-th block attends to all tokens, or 0, which older versions refuse, if there is no such n."""
    return next((n for n in range(1, len(local) + 1) if local == [place % n > 0 for place in range(len(local))]), 0)


def modern_weights(model: TransformerEncoder) -> dict[str, Floats]:
    """Return the weights by the names of a `ModernBertModel`, kernels `(out, in)`, a factor merged into the table."""
    table, factor = np.asarray(model.get_layer("embedding").embeddings), factor_of(model)
    weights = {
        "embeddings.tok_embeddings.weight": table if factor is None else table @ factor,
        "embeddings.norm.weight": np.asarray(model.get_layer("positions").norm.gamma),
        "final_norm.weight": np.asarray(model.get_layer("final_norm").gamma),
    }
    for place, block in enumerate(model.blocks):
        weights |= {f"layers.{place}.{name}.weight": array for name, array in _block(block).items()}
    return weights


def _block(block: ModernBlock) -> dict[str, Floats]:
    parts = {
        "attn.Wqkv": (block.query, block.key, block.value),
        "attn.Wo": (block.attention,),
        "mlp.Wi": block.unit_layers,
        "mlp.Wo": (block.second,),
    }
    weights = {name: np.concatenate([np.asarray(one.kernel).T for one in layers]) for name, layers in parts.items()}
    norms = {"attn_norm": block.attention_norm, "mlp_norm": block.norm} if block.normed else {"mlp_norm": block.norm}
    return weights | {name: np.asarray(norm.gamma) for name, norm in norms.items()}
