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
from ..system.reading import read_json
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

# The poolings by the names of older settings and of newer ones.
ROOT = "mean_sqrt_len_tokens"
POOLING_NAMES = {"cls": "first", "max": "max", "mean": "mean", ROOT: ROOT, "weightedmean": "weighted", "lasttoken": "last"}
POOLINGS = {
    "pooling_mode_cls_token": "cls",
    "pooling_mode_max_tokens": "max",
    "pooling_mode_mean_tokens": "mean",
    "pooling_mode_mean_sqrt_len_tokens": ROOT,
    "pooling_mode_weightedmean_tokens": "weightedmean",
    "pooling_mode_lasttoken": "lasttoken",
}
# The activations of dense layers, of torch.nn and of Keras.
DENSE = {"Identity": "linear", "Tanh": "tanh", "ReLU": "relu", "GELU": "gelu"}
# The settings that are read, by kind of module, and what a module computes of.
MODULE_READ = ("idx", "name", "path", "type")
POOLING_READ = ("word_embedding_dimension", "embedding_dimension", "include_prompt", "pooling_mode")
DENSE_READ = ("in_features", "out_features", "bias", "activation_function", "use_residual")
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

    Args:
        folder: The folder. Without modules the pooling is the mean.
        width: The dimension of a token.

    Returns:
        The arguments of a `TransformerEncoder` for the pooling and the dense layers, and their weights by path.

    Raises:
        EncoderError: If there are other modules, or settings of theirs that are not honoured.
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
        elif kind == "Dense" and not weights and "Normalize" not in before:
            more, weights = _read_dense(folder / path)
            sizes |= {**more, "pooling": _settle_root(sizes["pooling"], more, weights, folder / path)}
        elif kind == "Dense":
            more, kernel = _read_projection(folder / path, sizes)
            sizes, weights = sizes | more, weights | kernel
        before.append(kind)
    if "Pooling" not in before:
        raise EncoderError(f"{folder / MODULES}: names no Pooling, without which there is no vector of a text")
    # The vectors have unit length, so the root of the number of tokens does not matter.
    sizes["pooling"] = "mean" if sizes["pooling"] == ROOT else sizes["pooling"]
    return _truncate(folder, sizes, weights)


def _read_modules(folder: Path) -> list[tuple[str, str]]:
    path = folder / MODULES
    modules = read_json(path)
    if not isinstance(modules, list) or not all(isinstance(one, dict) for one in modules):
        raise EncoderError(f"{path}: expected a list of modules; save the model again")
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
    told = read_settings(folder / path / CONFIG) if kind in ("Dense", "Normalize") else {}
    require_only(folder / path / CONFIG, told, dict.fromkeys(PLACES, (SENTENCE,)))
    if kind == "Dense" and "Pooling" not in before:
        raise EncoderError(f"{folder / MODULES}: the module Dense at {path} stands in front of the Pooling, on tokens")


def _read_pooling(folder, place):
    path = folder / place / CONFIG
    told = read_object(path)
    require_known(path, told, (*POOLING_READ, *POOLINGS), {})
    if told.get("include_prompt", True) is False and any(choose_prompts(folder).values()):
        raise EncoderError(
            f"{path}: include_prompt is False, so the model's prompt does not count in its vectors, which is not "
            "honoured here; take a model without prompts"
        )
    named = told.get("pooling_mode", [ours for name, ours in POOLINGS.items() if told.get(name)] or "mean")
    modes = [POOLING_NAMES.get(str(name), str(name)) for name in (named if isinstance(named, list) else [named])]
    if len(modes) != 1 or modes[0] not in POOLING_NAMES.values():
        raise EncoderError(f"{path}: its poolings are {', '.join(modes)}; expected one of {', '.join(POOLING_NAMES)}")
    return modes[0]


def _read_dense(folder):
    path = folder / CONFIG
    told = read_object(path)
    require_known(path, told, (*DENSE_READ, *PLACES), {})
    named = str(told.get("activation_function", ""))
    # The library takes no other name for code, and has this one without a name.
    activation = named.rpartition(".")[2] if named.startswith("torch.") else "Tanh"
    if activation not in DENSE:
        raise EncoderError(f"{path}: its activation_function is {activation}; expected one of {', '.join(DENSE)}")
    if told.get("use_residual"):
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


def _settle_root(pooling, sizes, weights, folder):
    """Return the mean for the mean times the root of the number of tokens, where a dense layer makes no difference."""
    if pooling == ROOT and (sizes["dense"] != "linear" or np.any(weights["dense/bias"])):
        raise EncoderError(
            f"{folder}: a dense layer with an activation_function or a bias behind the pooling mean_sqrt_len_tokens, "
            "which is read as the mean"
        )
    return pooling


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
