"""Convert a transformer to a plain Sentence-Transformers folder: BERT's weights, a pooling and dense layers.

It is a BertModel, because BERT's positions begin at 0 whichever token is the padding; multilingual-e5-small, too, is a
BertModel with XLM-R's tokens. A transformer with modern blocks is a ModernBertModel.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, NoReturn

import numpy as np

from ....encoders.encoder import KerasEncoder
from ....errors import EncoderError, ExportError
from ....students.transformer.network import TransformerEncoder
from ....students.transformer.pooling import require_bundled
from ....system.types import Floats, Json
from ...hub.modules import LENGTHS, LINEAR, PLAIN, Module, plain_dense_module
from ...hub.plain_tokenizer import plain_tokenizer_json, tokenizer_config
from ...weights.rewrite import factor_of, projection_of

if TYPE_CHECKING:
    import keras

    from ....students.transformer.block import Block
    from ....students.transformer.modern import ModernBlock


KINDS = ("full_attention", "sliding_attention")


def modern_config(model: TransformerEncoder, activation: str) -> dict[str, Json]:
    """Return the `config.json` of a `ModernBertModel`."""
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
        weights |= {f"layers.{place}.{name}.weight": array for name, array in _modern_block(block).items()}
    return weights


def _modern_block(block: ModernBlock) -> dict[str, Floats]:
    parts = {
        "attn.Wqkv": (block.query, block.key, block.value),
        "attn.Wo": (block.attention,),
        "mlp.Wi": block.unit_layers,
        "mlp.Wo": (block.second,),
    }
    weights = {name: np.concatenate([np.asarray(one.kernel).T for one in layers]) for name, layers in parts.items()}
    norms = {"attn_norm": block.attention_norm, "mlp_norm": block.norm} if block.normed else {"mlp_norm": block.norm}
    return weights | {name: np.asarray(norm.gamma) for name, norm in norms.items()}


@dataclass(frozen=True)
class PaddedHeads:
    """Padded heads."""

    count: int
    size: int
    before: int
    size_before: int

    def pad_columns(self, array: Floats, is_query: bool = False) -> Floats:
        """Pad the columns of an array `(..., before * size_before)` to all heads, `(..., count * size)`.

        The scores are divided by the root of a head's size, so a query is scaled to make up for the difference.
        """
        scale = np.float32((self.size / self.size_before) ** 0.5) if is_query else np.float32(1)
        parts = (array * scale).reshape(*array.shape[:-1], self.before, self.size_before)
        room = [(0, 0)] * (array.ndim - 1) + [(0, self.count - self.before), (0, self.size - self.size_before)]
        return np.pad(parts, room).reshape(*array.shape[:-1], self.count * self.size)


def fit_heads(width: int, heads: int, size: int) -> PaddedHeads:
    """Find the least number of heads that share a row evenly and have room for a student's heads."""
    for count in range(heads, width + 1):
        if width % count == 0 and width // count >= size:
            return PaddedHeads(count, width // count, heads, size)
    raise ExportError(f"a BertModel of width {width} has no room for {heads} heads of {size}; export a bundle")


# The config's names of activations, by ours.
ACTIVATIONS = {"gelu": "gelu", "gelu_tanh": "gelu_pytorch_tanh", "relu": "relu"}
POOLINGS = {"mean": "mean_tokens", "first": "cls_token", "max": "max_tokens"}
# The number of segments, whose embeddings are merged into those of positions.
SEGMENTS = 2


def modules_of(student: KerasEncoder) -> list[Module]:
    """Return the modules of a transformer. Raises `ExportError` if BERT does not support its heads or its tokenizer."""
    model = student.model
    require_bundled(model.pooling, model.dense)
    behind = [_dense(model)] if model.dense else []
    if (projection := projection_of(model)) is not None:
        behind.append(plain_dense_module(projection))
    return [_transformer(student), _pooling(model), *behind, Module(f"{PLAIN}Normalize")]


def linear_rows(student: KerasEncoder) -> NoReturn:
    """Raise `EncoderError`, because a transformer is not a sum of rows."""
    raise EncoderError(f"the format model2vec needs a static student, this is a transformer; {LINEAR}")


def _transformer(student: KerasEncoder) -> Module:
    model, reading = student.model, student.tokenizer.reading
    longest = min(model.positions, reading.longest or model.positions)
    files = {
        "tokenizer.json": plain_tokenizer_json(student.tokenizer),
        "tokenizer_config.json": tokenizer_config(student.tokenizer, longest),
        LENGTHS: {"max_seq_length": longest, "do_lower_case": False},
    }
    if model.block == "modern":
        config = modern_config(model, ACTIVATIONS[model.activation])
        return Module(f"{PLAIN}Transformer", config, modern_weights(model), files=files)
    heads = fit_heads(model.width, model.heads, model.head_size)
    return Module(f"{PLAIN}Transformer", _config(model, heads), bert_weights(model, heads), files=files)


def _config(model: TransformerEncoder, heads: PaddedHeads) -> dict[str, Json]:
    return {
        "architectures": ["BertModel"],
        "model_type": "bert",
        "vocab_size": model.vocabulary,
        "hidden_size": model.width,
        "num_hidden_layers": model.depth,
        "num_attention_heads": heads.count,
        "intermediate_size": model.inner,
        "hidden_act": ACTIVATIONS[model.activation],
        "max_position_embeddings": model.positions,
        "type_vocab_size": SEGMENTS,
        "layer_norm_eps": model.epsilon,
        "position_embedding_type": "absolute",
        "hidden_dropout_prob": 0.0,
        "attention_probs_dropout_prob": 0.0,
        "torch_dtype": "float32",
    }


def _pooling(model: TransformerEncoder) -> Module:
    modes = {f"pooling_mode_{name}": ours == model.pooling for ours, name in POOLINGS.items()}
    return Module(f"{PLAIN}Pooling", {"word_embedding_dimension": model.width, **modes})


def _dense(model: TransformerEncoder) -> Module:
    layer = model.get_layer("dense")
    return plain_dense_module(np.asarray(layer.kernel), np.asarray(layer.bias), model.dense)


def bert_weights(model: TransformerEncoder, heads: PaddedHeads) -> dict[str, Floats]:
    """Return the weights by the names of a `BertModel`, kernels `(out, in)`, with a factor merged into the table."""
    table, factor = np.asarray(model.get_layer("embedding").embeddings), factor_of(model)
    placed = model.get_layer("positions")
    nothing = np.zeros((model.width, model.width), np.float32)
    weights = {
        "embeddings.word_embeddings.weight": table if factor is None else table @ factor,
        "embeddings.position_embeddings.weight": np.asarray(placed.embeddings),
        "embeddings.token_type_embeddings.weight": nothing[:1].repeat(SEGMENTS, axis=0),
        **dict(_norm("embeddings.LayerNorm", placed.norm)),
        # A BertModel has a pooler, which Sentence-Transformers does not use.
        "pooler.dense.weight": nothing,
        "pooler.dense.bias": nothing[0],
    }
    for place, block in enumerate(model.blocks):
        weights |= _block(f"encoder.layer.{place}", block, heads)
    return weights


def _block(name: str, block: Block, heads: PaddedHeads) -> dict[str, Floats]:
    weights = {}
    for part in ("query", "key", "value"):
        layer = getattr(block, part)
        kernel, bias = (heads.pad_columns(np.asarray(array), part == "query") for array in (layer.kernel, layer.bias))
        weights |= _linear(f"{name}.attention.self.{part}", kernel, bias)
    kernel = heads.pad_columns(np.asarray(block.attention.kernel).T).T
    weights |= _linear(f"{name}.attention.output.dense", kernel, np.asarray(block.attention.bias))
    weights |= dict(_norm(f"{name}.attention.output.LayerNorm", block.attention_norm))
    for theirs, layer in (("intermediate", block.first), ("output", block.second)):
        weights |= _linear(f"{name}.{theirs}.dense", np.asarray(layer.kernel), np.asarray(layer.bias))
    return weights | dict(_norm(f"{name}.output.LayerNorm", block.norm))


def _linear(name: str, kernel: Floats, bias: Floats) -> dict[str, Floats]:
    return {f"{name}.weight": kernel.T, f"{name}.bias": bias}


def _norm(name: str, norm: keras.layers.LayerNormalization) -> Iterator[tuple[str, Floats]]:
    yield f"{name}.weight", np.asarray(norm.gamma)
    yield f"{name}.bias", np.asarray(norm.beta)
