"""Check and read the modules that a Sentence-Transformers model's folder names: only the library's are allowed.

`modules.json` names classes, which the library imports. Its versions 3.4 to 5 import them from the folder, even if they
are told not to trust its code. A router, a dense layer or a table of words names further classes in its own settings.
"""

from __future__ import annotations

import re
from pathlib import Path, PurePosixPath, PureWindowsPath

import numpy as np

from ..errors import EncoderError
from ..system.files import require_inside
from ..system.input_files import read_json
from ..system.types import File, Floats, Json
from .tokenizers.reading import PROMPTS_FILE, choose_prompts, read_settings
from .tokenizers.settings import require_known, require_only
from .transformer_names import read_object, read_weights

MODULES, CONFIG = "modules.json", "config.json"
# Modules that name no classes, and modules whose settings are checked here.
PLAIN = ("Transformer", "Pooling", "Normalize", "Dropout", "LayerNorm", "WeightedLayerPooling", "StaticEmbedding")
NAMING = ("Router", "Asym", "Dense")
KNOWN = re.compile(rf"sentence_transformers(\.\w+)*\.({'|'.join((*PLAIN, *NAMING))})")
SETTINGS = ("config.json", "router_config.json")
ACTIVATION = re.compile(r"torch\.nn(\.modules\.(activation|linear))?\.[A-Z]\w*")

# The poolings by the names of newer settings, and of older ones in the order in which they stand in a vector.
ROOT = "root"
POOLING_NAMES = {
    "cls": "first",
    "max": "max",
    "mean": "mean",
    "mean_sqrt_len_tokens": ROOT,
    "weightedmean": "weighted",
    "lasttoken": "last",
}
OLDER = ("cls_token", "max_tokens", "mean_tokens", "mean_sqrt_len_tokens", "weightedmean_tokens", "lasttoken")
POOLINGS = {f"pooling_mode_{older}": name for older, name in zip(OLDER, POOLING_NAMES, strict=True)}
# The activations of dense layers, of torch.nn and of Keras.
DENSE = {
    **{"Identity": "linear", "Tanh": "tanh", "ReLU": "relu", "GELU": "gelu", "Sigmoid": "sigmoid", "SiLU": "silu"},
    **{"ELU": "elu", "SELU": "selu", "Softplus": "softplus", "Softsign": "softsign", "Mish": "mish", "ReLU6": "relu6"},
    "Hardswish": "hard_silu",
}
# The settings that are read, by kind of module, and what a module computes of.
MODULE_READ = ("idx", "name", "path", "type")
POOLING_READ = ("word_embedding_dimension", "embedding_dimension", "include_prompt", "pooling_mode")
DENSE_READ = ("in_features", "out_features", "bias", "activation_function", "use_residual")
# Between poolings whose vectors stand one after another.
JOINED = "+"
PLACES, SENTENCE = ("module_input_name", "module_output_name"), "sentence_embedding"


def require_no_code(folder: File) -> None:
    """Raise `EncoderError` if a model's folder names other modules, or files outside of it."""
    path = Path(folder) / MODULES
    if not path.is_file():
        return
    modules = read_json(path)
    if not isinstance(modules, list):
        raise EncoderError(f"{path}: expected a list of modules, got {type(modules).__name__}")
    for one in modules:
        _require_known(path, one.get("type") if isinstance(one, dict) else one)
        _require_below(path, one.get("path", ""))
    require_inside(folder, *(f"**/{name}" for name in SETTINGS))
    for settings in sorted(path for name in SETTINGS for path in Path(folder).rglob(name)):
        _require_plain(settings, read_json(settings))


def _require_plain(path, content):
    """Refuse other classes that a router or a dense layer names in its settings."""
    known = content if isinstance(content, dict) else {}
    types = known.get("types")
    for place, kind in types.items() if isinstance(types, dict) else ():
        _require_known(path, kind)
        _require_below(path, place)
    named = known.get("activation_function")
    # A Transformer's own settings may have a name without a dot, which stands for a function of transformers.
    if isinstance(named, str) and "." in named and not ACTIVATION.fullmatch(named):
        raise EncoderError(f"{path}: expected an activation of torch.nn, got {named}, which may be code of its own")


def _require_known(path, kind):
    if not KNOWN.fullmatch(str(kind)):
        raise EncoderError(
            f"{path}: the module {kind} is code of its own, which distill never runs, or may name such; expected "
            f"modules of sentence_transformers among {', '.join((*PLAIN, *NAMING))}"
        )


def _require_below(path, place):
    parts = {*PurePosixPath(str(place)).parts, *PureWindowsPath(str(place)).parts}
    if ".." in parts or PurePosixPath(str(place)).is_absolute() or PureWindowsPath(str(place)).is_absolute():
        raise EncoderError(f"{path}: a module lies at {place}, outside of the model's folder; save the model again")


def read_behind(folder: Path, width: int) -> tuple[dict[str, Json], dict[str, Floats]]:
    """Read what stands behind the tokens in a model's folder.

    Without modules the pooling is the mean. Returns the arguments of a `TransformerEncoder` for the pooling and the
    dense layers, and their weights by path. Raises `EncoderError` if there are other modules, or settings of theirs
    that are not honoured.
    """
    sizes: dict[str, Json] = {"pooling": "mean", "dimension": width}
    weights: dict[str, Floats] = {}
    if not (folder / MODULES).is_file():
        return sizes, weights
    before: list[str] = []
    for kind, path in _read_modules(folder):
        _require_place(folder, kind, path, before)
        if kind == "Pooling":
            sizes["pooling"] = _read_pooling(folder, path)
            sizes["dimension"] = width * len(sizes["pooling"].split(JOINED))
        elif kind == "Dense" and not weights and "Normalize" not in before:
            more, weights = _read_dense(folder / path)
            sizes |= more
        elif kind == "Dense":
            more, kernel = _read_projection(folder / path, sizes)
            sizes, weights = sizes | more, weights | kernel
        before.append(kind)
    if "Pooling" not in before:
        raise EncoderError(f"{folder / MODULES}: names no Pooling, without which there is no vector of a text")
    if sizes["pooling"] == ROOT and sizes.get("dense", "linear") == "linear" and not np.any(weights.get("dense/bias")):
        # The vectors have unit length, so the root of the number of tokens does not matter.
        sizes["pooling"] = "mean"
    return _truncate(folder, sizes, weights)


def _read_modules(folder: Path) -> list[tuple[str, str]]:
    path = folder / MODULES
    modules = read_json(path)
    for one in modules:
        require_known(path, one, MODULE_READ, {"kwargs": ([],)})
    return [(str(one.get("type")).rpartition(".")[2], str(one.get("path", ""))) for one in modules]


def _require_place(folder, kind, path, before):
    """Refuse a module that distill does not have, or that computes of other values than those before it."""
    if kind not in ("Transformer", "Pooling", "Dense", "Normalize", "Dropout"):
        raise EncoderError(
            f"{folder / MODULES}: the module {kind} at {path or '.'} cannot be trained here; expected a Transformer, a "
            "Pooling, a Dense or two and a Normalize"
        )
    if kind in ("Transformer", "Pooling") and kind in before:
        raise EncoderError(f"{folder / MODULES}: names two modules {kind}, expected one")
    config = read_settings(folder / path / CONFIG) if kind in ("Dense", "Normalize") else {}
    require_only(folder / path / CONFIG, config, dict.fromkeys(PLACES, (SENTENCE,)))
    if kind == "Dense" and "Pooling" not in before:
        raise EncoderError(f"{folder / MODULES}: the module Dense at {path} stands in front of the Pooling, on tokens")


def _read_pooling(folder, place):
    path = folder / place / CONFIG
    config = read_object(path)
    require_known(path, config, (*POOLING_READ, *POOLINGS), {})
    if config.get("include_prompt", True) is False and any(choose_prompts(folder).values()):
        raise EncoderError(
            f"{path}: include_prompt is False, so the model's prompt does not count in its vectors, which is not "
            "honoured here; take a model without prompts"
        )
    named = config.get("pooling_mode", [name for older, name in POOLINGS.items() if config.get(older)] or "mean")
    modes = list(map(str, named if isinstance(named, list) else [named]))
    if not modes or set(modes) - set(POOLING_NAMES):
        raise EncoderError(f"{path}: its pooling_mode is {', '.join(modes)}; expected {', '.join(POOLING_NAMES)}")
    return JOINED.join(POOLING_NAMES[mode] for mode in modes)


def _read_dense(folder):
    path = folder / CONFIG
    config = read_object(path)
    require_known(path, config, (*DENSE_READ, *PLACES), {})
    named = str(config.get("activation_function", ""))
    # The library takes no other name for code, and has this one without a name.
    activation = named.rpartition(".")[2] if named.startswith("torch.") else "Tanh"
    if activation not in DENSE:
        raise EncoderError(f"{path}: its activation_function is {activation}; expected one of {', '.join(DENSE)}")
    if config.get("use_residual"):
        raise EncoderError(f"{path}: use_residual: a dense layer with a residual cannot be trained here")
    arrays = read_weights(folder)
    if "linear.weight" not in arrays:
        raise EncoderError(f"{folder}: the weight linear.weight is missing; save the model again")
    kernel = np.ascontiguousarray(arrays["linear.weight"].T)
    bias = arrays.get("linear.bias", np.zeros(kernel.shape[1], np.float32))
    sizes = {"dense": DENSE[activation], "dimension": kernel.shape[1]}
    return sizes, {"dense/kernel": kernel, "dense/bias": bias}


def _read_projection(folder, before):
    """Read a dense layer behind another or behind a normalisation, which must be linear and without a bias."""
    sizes, weights = _read_dense(folder)
    if sizes["dense"] != "linear" or np.any(weights["dense/bias"]) or "space" in before:
        raise EncoderError(
            f"{folder}: a second dense layer, or one behind a normalisation, has no activation_function and no bias, "
            "and no third one is behind it"
        )
    more = {"space": before["dimension"], "dimension": sizes["dimension"], "foreign": True}
    return more, {"projection/kernel": weights["dense/kernel"]}


def _truncate(folder, sizes, weights):
    """Keep the first `truncate_dim` numbers of the vectors."""
    most = read_settings(folder / PROMPTS_FILE).get("truncate_dim")
    if most is None or (type(most) is int and most >= sizes["dimension"]):
        return sizes, weights
    if type(most) is not int or most < 1:
        raise EncoderError(f"{folder / PROMPTS_FILE}: truncate_dim is {most!r}, expected a number from 1 on")
    last = "projection/kernel" if "space" in sizes else "dense/kernel"
    if not weights:
        sizes, eye = {**sizes, "dense": "linear"}, np.eye(sizes["dimension"], dtype=np.float32)
        weights = {"dense/kernel": eye, "dense/bias": np.zeros(len(eye), np.float32)}
    cut = {name: np.ascontiguousarray(weights[name][..., :most]) for name in (last, "dense/bias") if name in weights}
    if "space" in sizes:
        cut.pop("dense/bias", None)
    return {**sizes, "dimension": most}, {**weights, **cut}
