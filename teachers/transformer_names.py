"""Translate a transformer's config and weights from Hugging Face's names to the paths of a `TransformerEncoder`.

BERT, ELECTRA, RoBERTa, XLM-R, CamemBERT and DistilBERT compute the same; they differ in names, and RoBERTa's positions
begin after two for padding. ModernBERT has another block (`rename_modern`), as
have mmBERT and models based on it. Older versions of `transformers` wrote `global_attn_every_n_layers` and two thetas
in its config, newer ones `layer_types` and `rope_parameters`.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path
from typing import NamedTuple

import numpy as np

from ..errors import EncoderError, first_line
from ..system.input_files import read_json
from ..system.types import Floats, Json

WEIGHTS, INDEX = "model.safetensors", "model.safetensors.index.json"
PICKLES = ("pytorch_model.bin", "pytorch_model.bin.index.json")
BERT_SIZES = {
    "width": "hidden_size",
    "depth": "num_hidden_layers",
    "heads": "num_attention_heads",
    "inner": "intermediate_size",
    "positions": "max_position_embeddings",
    "activation": "hidden_act",
}
BERT_BLOCK = {
    "query": "encoder.layer.{}.attention.self.query",
    "key": "encoder.layer.{}.attention.self.key",
    "value": "encoder.layer.{}.attention.self.value",
    "attention": "encoder.layer.{}.attention.output.dense",
    "attention_norm": "encoder.layer.{}.attention.output.LayerNorm",
    "first": "encoder.layer.{}.intermediate.dense",
    "second": "encoder.layer.{}.output.dense",
    "norm": "encoder.layer.{}.output.LayerNorm",
}
DISTIL_SIZES = {
    "width": "dim",
    "depth": "n_layers",
    "heads": "n_heads",
    "inner": "hidden_dim",
    "positions": "max_position_embeddings",
    "activation": "activation",
}
DISTIL_BLOCK = {
    "query": "transformer.layer.{}.attention.q_lin",
    "key": "transformer.layer.{}.attention.k_lin",
    "value": "transformer.layer.{}.attention.v_lin",
    "attention": "transformer.layer.{}.attention.out_lin",
    "attention_norm": "transformer.layer.{}.sa_layer_norm",
    "first": "transformer.layer.{}.ffn.lin1",
    "second": "transformer.layer.{}.ffn.lin2",
    "norm": "transformer.layer.{}.output_layer_norm",
}
# The id of RoBERTa's padding token.
PADDING = 1
ACTIVATIONS = {
    **{"gelu": "gelu", "gelu_python": "gelu", "relu": "relu"},
    **dict.fromkeys(("gelu_new", "gelu_fast", "gelu_pytorch_tanh"), "gelu_tanh"),
}
# The prefixes of names in a model that was saved with a head, and the names of weight and bias in older files.
PREFIXES = ("", "bert.", "roberta.", "distilbert.", "electra.", "model.", "0.auto_model.")
NORM_NAMES = {"weight": ("weight", "gamma"), "bias": ("bias", "beta")}
MODERN_SIZES = {
    "width": "hidden_size",
    "depth": "num_hidden_layers",
    "heads": "num_attention_heads",
    "inner": "intermediate_size",
    "positions": "max_position_embeddings",
    "activation": "hidden_activation",
}
MODERN_TABLE, MODERN_FIRST = "embeddings.tok_embeddings.weight", "layers.{}.attn.Wqkv"
MODERN_BIASES = ("norm_bias", "attention_bias", "mlp_bias")
MODERN_KINDS = {"full_attention": "global_theta", "sliding_attention": "local_theta"}
# The defaults of entries that a config leaves out.
EVERY, WINDOW, GLOBAL_THETA, LOCAL_THETA, EPSILON = 3, 128, 160_000.0, 10_000.0, 1e-5


class Names(NamedTuple):
    """The names of an architecture's config keys and weights.

    Attributes:
        sizes: The config's keys of our `width`, `depth`, `heads`, `inner`, `positions` and `activation`.
        block: The names of our layers in the block `{}`; None for ModernBERT.
        skipped: The number of positions before that of the first token.
    """

    sizes: Mapping[str, str]
    block: Mapping[str, str] | None
    skipped: int = 0
    table: str = "embeddings.word_embeddings.weight"


# The architectures by `model_type` of a config.json.
ARCHITECTURES = {
    "bert": Names(BERT_SIZES, BERT_BLOCK),
    "roberta": Names(BERT_SIZES, BERT_BLOCK, skipped=2),
    "xlm-roberta": Names(BERT_SIZES, BERT_BLOCK, skipped=2),
    "camembert": Names(BERT_SIZES, BERT_BLOCK, skipped=2),
    "electra": Names(BERT_SIZES, BERT_BLOCK),
    "distilbert": Names(DISTIL_SIZES, DISTIL_BLOCK),
    "modernbert": Names(MODERN_SIZES, None, table=MODERN_TABLE),
}


def read_sizes(config: Mapping[str, Json], source: str) -> dict[str, Json]:
    """Read the arguments of a `TransformerEncoder` from a config, except for its vocabulary."""
    names = find_architecture(config, source)
    if names.block and config.get("position_embedding_type", "absolute") != "absolute":
        raise EncoderError(f"{source}: its positions are {config['position_embedding_type']}, expected absolute ones")
    try:
        sizes = {ours: config[theirs] for ours, theirs in names.sizes.items()}
    except KeyError as error:
        raise EncoderError(f"{source}: config.json has no {error}; save the model again") from error
    if sizes["activation"] not in ACTIVATIONS:
        known = ", ".join(ACTIVATIONS)
        raise EncoderError(f"{source}: its activation is {sizes['activation']!r}, expected one of {known}")
    for name in ("width", "depth", "heads", "inner", "positions"):
        if not isinstance(sizes[name], int) or sizes[name] < 1:
            raise EncoderError(f"{source}: config.json says {names.sizes[name]} = {sizes[name]!r}, expected 1 or more")
    if config.get("embedding_size", sizes["width"]) != sizes["width"]:
        raise EncoderError(f"{source}: its embedding_size is {config['embedding_size']}, expected {sizes['width']}")
    if names.skipped and config.get("pad_token_id", PADDING) != PADDING:
        raise EncoderError(
            f"{source}: its padding is {config['pad_token_id']}, from which its positions count; expected {PADDING}"
        )
    if sizes["width"] % sizes["heads"]:
        raise EncoderError(f"{source}: {sizes['heads']} heads do not share {sizes['width']} numbers evenly")
    sizes |= {
        "head_size": sizes["width"] // sizes["heads"],
        "positions": sizes["positions"] - names.skipped,
        "activation": ACTIVATIONS[sizes["activation"]],
    }
    if names.block is None:
        return sizes | read_attention(config, sizes["depth"], source)
    return {**sizes, "epsilon": float(config.get("layer_norm_eps", 1e-12))}


def find_architecture(config: Mapping[str, Json], source: str) -> Names:
    kind = config.get("model_type")
    if kind not in ARCHITECTURES:
        known = ", ".join(ARCHITECTURES)
        raise EncoderError(f"{source}: its model_type is {kind!r}; distill trains and ships {known}")
    return ARCHITECTURES[kind]


def rename_weights(arrays: Mapping[str, Floats], config: Mapping[str, Json], source: str) -> dict[str, Floats]:
    """Return our weights by path, with kernels transposed, from Hugging Face's."""
    names, sizes = find_architecture(config, source), read_sizes(config, source)
    prefix = next((prefix for prefix in PREFIXES if prefix + names.table in arrays), "")
    _require_counts(names, config, {name.removeprefix(prefix): array.shape for name, array in arrays.items()}, source)

    def weight(name: str, kind: str) -> Floats:
        for ending in NORM_NAMES[kind]:
            if (array := arrays.get(f"{prefix}{name}.{ending}")) is not None:
                return array
        raise EncoderError(f"{source}: the weight {prefix}{name}.{kind} is missing; save the model again")

    if names.block is None:
        return rename_modern(lambda name: weight(name, "weight"), sizes["depth"], source)
    ours = {
        "embedding/embeddings": weight("embeddings.word_embeddings", "weight"),
        "positions/embeddings": weight("embeddings.position_embeddings", "weight")[names.skipped :],
        "positions/norm/gamma": weight("embeddings.LayerNorm", "weight"),
        "positions/norm/beta": weight("embeddings.LayerNorm", "bias"),
    }
    if f"{prefix}embeddings.token_type_embeddings.weight" in arrays:
        segments = weight("embeddings.token_type_embeddings", "weight")
        ours["positions/embeddings"] = ours["positions/embeddings"] + segments[:1]
        ours |= difference_of(segments)
    for place in range(sizes["depth"]):
        for layer, theirs in names.block.items():
            name = theirs.format(place)
            ours |= _rename_layer(f"block_{place}/{layer}", weight(name, "weight"), weight(name, "bias"))
    return ours


def difference_of(segments: Floats) -> dict[str, Floats]:
    """Return the second segment's embedding minus the first one's, which is part of the positions', if there is one."""
    return {"second_segment": segments[1] - segments[0]} if len(segments) > 1 else {}


def _require_counts(names: Names, config: Mapping[str, Json], shapes: Mapping[str, tuple[int, ...]], source: str):
    """Refuse a table or blocks that contradict the config: one of the two belongs to another model."""
    rows, said = shapes.get(names.table, (None,))[0], config.get("vocab_size")
    if rows is not None and said not in (None, rows):
        raise EncoderError(f"{source}: config.json says vocab_size = {said!r}, its weights have {rows} rows")
    key = names.sizes["depth"]
    first = names.block["query"] if names.block else MODERN_FIRST
    if f"{first.format(config[key])}.weight" in shapes:
        raise EncoderError(f"{source}: config.json says {key} = {config[key]}, its weights have more; save it again")


def _rename_layer(path: str, weight: Floats, bias: Floats) -> dict[str, Floats]:
    if path.endswith("norm"):
        return {f"{path}/gamma": weight, f"{path}/beta": bias}
    return {f"{path}/kernel": np.ascontiguousarray(weight.T), f"{path}/bias": bias}


def read_weights(folder: Path) -> dict[str, Floats]:
    """Read the safetensors of a folder, in one file or several, as float32 arrays; pickles are refused."""
    if not any((folder / name).is_file() for name in (WEIGHTS, INDEX)):
        pickled = next((name for name in PICKLES if (folder / name).is_file()), None)
        there = f"{pickled}, a pickle, which may run code" if pickled else "no weights"
        raise EncoderError(f"{folder}: {there}; expected {WEIGHTS}; save it with safe_serialization=True")
    if (folder / WEIGHTS).is_file():
        return _read_arrays(folder / WEIGHTS)
    parts = read_object(folder / INDEX).get("weight_map")
    if not isinstance(parts, dict) or not all(Path(str(name)).name == name for name in parts.values()):
        raise EncoderError(f"{folder / INDEX}: expected 'weight_map', the file of each weight; save the model again")
    return {name: array for part in sorted(set(parts.values())) for name, array in _read_arrays(folder / part).items()}


def _read_arrays(path: Path) -> dict[str, Floats]:
    try:
        from safetensors import safe_open
    except ImportError as error:
        raise EncoderError("safetensors is not installed; run: pip install safetensors") from error
    import ml_dtypes  # noqa: F401 - bfloat16 for NumPy

    try:
        with safe_open(path, framework="numpy") as file:
            return {name: np.asarray(file.get_tensor(name), dtype=np.float32) for name in file.keys()}  # noqa: SIM118 - it is no dict
    except Exception as error:  # the library's errors, the system's and NumPy's have no common type
        raise EncoderError(f"{path}: no safetensors file, or a broken one: {first_line(error)}") from error


def read_object(path: Path) -> dict[str, Json]:
    """Read the object in a file of JSON. Raises `InputError` for another content."""
    content = read_json(path)
    if not isinstance(content, dict):
        raise EncoderError(f"{path}: expected an object, got {type(content).__name__}")
    return content


def read_attention(config: Mapping[str, Json], depth: int, source: str) -> dict[str, Json]:
    """Read the arguments of a `TransformerEncoder` from a config of ModernBERT, except for its sizes."""
    if named := [name for name in MODERN_BIASES if config.get(name)]:
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
    if len(kinds) != depth or set(kinds) - set(MODERN_KINDS):
        raise EncoderError(
            f"{source}: its layer_types are {len(kinds)} of {', '.join(sorted(set(kinds)))}; expected {depth} of "
            f"{', '.join(MODERN_KINDS)}"
        )
    return tuple(place for place, kind in enumerate(kinds) if kind == "sliding_attention")


def _read_thetas(config, source):
    wide = float(config.get("global_rope_theta", GLOBAL_THETA))
    near = config.get("local_rope_theta", LOCAL_THETA)
    thetas = {"global_theta": wide, "local_theta": wide if near is None else float(near)}
    rope = config.get("rope_parameters") or {}
    for kind, name in MODERN_KINDS.items():
        turns = rope.get(kind) or {}
        if turns.get("rope_type", "default") != "default":
            raise EncoderError(f"{source}: its positions are {turns['rope_type']}, expected plain rotary ones")
        thetas[name] = float(turns.get("rope_theta", thetas[name]))
    return thetas


def rename_modern(weight: Callable[[str], Floats], depth: int, source: str) -> dict[str, Floats]:
    """Return our weights by path, with kernels transposed, from Hugging Face's."""
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
