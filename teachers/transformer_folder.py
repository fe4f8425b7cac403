"""Load a folder of Hugging Face or Sentence-Transformers as an encoder that can be trained, cut and exported.

PyTorch is not needed. The folder has `config.json`, `model.safetensors`, a tokenizer, and for Sentence-Transformers
`modules.json` with a pooling and possibly dense layers behind it. Weights are read by the library `safetensors`;
pickles and a model's own code are refused.
"""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from ..encoders.encoder import KerasEncoder
from ..encoders.tokenizer import Tokenizer
from ..errors import EncoderError, first_line
from ..system.backend import start
from ..system.reading import read_json
from ..system.types import File, Floats, Json
from .folder_origin import read_folder_origin
from .st_modules import MODULES, require_no_code
from .transformer_names import ARCHITECTURES, read_sizes, rename_weights

if TYPE_CHECKING:
    from ..students.transformer import TransformerEncoder

CONFIG, WEIGHTS, INDEX = "config.json", "model.safetensors", "model.safetensors.index.json"
PICKLES = ("pytorch_model.bin", "pytorch_model.bin.index.json")
POOLINGS = {"mean_tokens": "mean", "cls_token": "first", "max_tokens": "max"}
POOLING_NAMES = {"mean": "mean", "cls": "first", "max": "max"}
DENSE = {"Identity": "linear", "Tanh": "tanh", "ReLU": "relu", "GELU": "gelu"}


def is_transformer(folder: File) -> bool:
    """Check whether the config in a folder names an architecture that `load_transformer` supports."""
    path = _find_root(Path(folder)) / CONFIG
    if not path.is_file():
        return False
    config = read_json(path)
    return isinstance(config, dict) and config.get("model_type") in ARCHITECTURES


def load_transformer(folder: File) -> KerasEncoder:
    """Load the encoder in a folder of Hugging Face or Sentence-Transformers. Without modules the pooling is the mean.

    Raises `EncoderError` for a folder without safetensors, another architecture, modules other than a pooling, a dense
    layer and a normalisation, a tokenizer that cannot be converted, or weights that do not fit the config.
    """
    from .tokenizers.folder import convert_tokenizer

    folder = Path(folder)
    require_no_code(folder)
    root = _find_root(folder)
    config = _read_object(root / CONFIG)
    sizes = read_sizes(config, str(folder))
    arrays = rename_weights(read_weights(root), config, str(folder))
    behind, dense = _read_behind(folder, sizes["width"])
    tokenizer = convert_tokenizer(folder, sizes["positions"])
    start()
    sizes |= {**behind, "origin": read_folder_origin(folder).as_dict()}
    model = build_network(sizes, {**arrays, **dense}, tokenizer, str(folder))
    return KerasEncoder(model, tokenizer, folder.resolve().name)


def build_network(
    sizes: Mapping[str, Json], weights: Mapping[str, Floats], tokenizer: Tokenizer, source: str
) -> TransformerEncoder:
    """Build the network of given sizes and weights, with one embedding per token of the tokenizer.

    Further embeddings are dropped: tables are often filled up to a round number.

    Args:
        sizes: The arguments of a `TransformerEncoder`.
        weights: `{path: array}`.
        tokenizer: The tokenizer.
        source: The folder or file, for errors.

    Returns:
        The network.

    Raises:
        EncoderError: If weights, sizes and tokens do not fit together.
    """
    from ..students.transformer import TransformerEncoder

    _require_shapes(sizes, weights, source)
    table = weights["embedding/embeddings"]
    if len(table) < len(tokenizer):
        raise EncoderError(
            f"{source}: {len(table)} rows for {len(tokenizer)} pieces; save the model and its tokenizer again"
        )
    weights = {**weights, "embedding/embeddings": table[: len(tokenizer)]}
    model = TransformerEncoder(vocabulary=len(weights["embedding/embeddings"]), **sizes)
    try:
        model.set_weights([weights[weight.path] for weight in model.weights])
    except (KeyError, ValueError) as error:
        raise EncoderError(f"{source}: its weights do not fit its config: {first_line(error)}") from error
    return model


def _require_shapes(sizes, weights, source):
    """Refuse sizes that contradict each other before a model of these sizes takes memory."""
    width, inner = sizes["width"], sizes["inner"]
    wanted = {
        "embedding/embeddings": (None, sizes.get("rank") or width),
        **({} if sizes.get("block") == "modern" else {"positions/embeddings": (sizes["positions"], width)}),
        "block_0/query/kernel": (width, sizes["heads"] * sizes["head_size"]),
        "block_0/first/kernel": (width, inner),
    }
    for path, shape in wanted.items():
        array = weights.get(path)
        if (
            array is None
            or array.ndim != 2
            or any(want not in (None, have) for want, have in zip(shape, array.shape, strict=True))
        ):
            have = "none" if array is None else array.shape
            raise EncoderError(f"{source}: its config asks for {path} of {shape}, its weights have {have}")


def read_weights(folder: Path) -> dict[str, Floats]:
    """Read the safetensors of a folder, in one file or several, as float32 arrays.

    Raises `EncoderError` if there are none, if there are only pickles, or if a file is broken.
    """
    if not any((folder / name).is_file() for name in (WEIGHTS, INDEX)):
        pickled = next((name for name in PICKLES if (folder / name).is_file()), None)
        there = f"{pickled}, a pickle, which may run code" if pickled else "no weights"
        raise EncoderError(f"{folder}: {there}; expected {WEIGHTS}; save it with safe_serialization=True")
    if (folder / WEIGHTS).is_file():
        return _read_arrays(folder / WEIGHTS)
    parts = _read_object(folder / INDEX).get("weight_map")
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


def _find_root(folder: Path) -> Path:
    """Return the folder of the Transformer module, which is `folder` itself or named in its modules."""
    if not (folder / MODULES).is_file():
        return folder
    return next((folder / path for kind, path in _read_modules(folder) if kind == "Transformer"), folder)


def _read_modules(folder: Path) -> list[tuple[str, str]]:
    modules = read_json(folder / MODULES)
    if not isinstance(modules, list) or not all(isinstance(one, dict) for one in modules):
        raise EncoderError(f"{folder / MODULES}: expected a list of modules; save the model again")
    return [(str(one.get("type")).rpartition(".")[2], str(one.get("path", ""))) for one in modules]


def _read_behind(folder: Path, width: int) -> tuple[dict[str, Json], dict[str, Floats]]:
    """Return the sizes, and the weights by path, of the pooling and of the dense layers behind the tokens."""
    sizes: dict[str, Json] = {"pooling": "mean", "dimension": width}
    weights: dict[str, Floats] = {}
    if not (folder / MODULES).is_file():
        return sizes, weights
    before: set[str] = set()
    for kind, path in _read_modules(folder):
        if kind == "Pooling":
            sizes["pooling"] = _read_pooling(folder / path / CONFIG)
        elif kind == "Dense" and not weights and "Normalize" not in before:
            more, weights = _read_dense(folder / path)
            sizes |= more
        elif kind == "Dense" and "space" not in sizes:
            more, kernel = _read_projection(folder / path, sizes["dimension"])
            sizes, weights = sizes | more, weights | kernel
        elif kind not in ("Transformer", "Normalize", "Dropout"):
            raise EncoderError(
                f"{folder}: the module {kind} at {path or '.'} cannot be trained here; expected a Transformer, a "
                "Pooling, a Dense or two and a Normalize"
            )
        before.add(kind)
    return sizes, weights


def _read_pooling(path: Path) -> str:
    told = _read_object(path)
    if "pooling_mode" in told:
        named = told["pooling_mode"]
        modes = [POOLING_NAMES.get(str(name), str(name)) for name in (named if isinstance(named, list) else [named])]
    else:
        names = [name.removeprefix("pooling_mode_") for name, on in told.items() if on is True]
        modes = [POOLINGS.get(name, name) for name in names if name != "include_prompt"]
    if len(modes) != 1 or modes[0] not in POOLINGS.values():
        raise EncoderError(f"{path}: its poolings are {', '.join(modes) or 'none'}; expected mean, cls or max alone")
    return modes[0]


def _read_dense(folder: Path) -> tuple[dict[str, Json], dict[str, Floats]]:
    told = _read_object(folder / CONFIG)
    activation = str(told.get("activation_function", "torch.nn.Identity")).rpartition(".")[2]
    if activation not in DENSE:
        raise EncoderError(f"{folder}: its activation is {activation}; expected one of {', '.join(DENSE)}")
    if told.get("use_residual"):
        raise EncoderError(f"{folder}: a dense layer with a residual cannot be trained here; expected one without")
    arrays = read_weights(folder)
    if "linear.weight" not in arrays:
        raise EncoderError(f"{folder}: the weight linear.weight is missing; save the model again")
    kernel = np.ascontiguousarray(arrays["linear.weight"].T)
    bias = arrays.get("linear.bias", np.zeros(kernel.shape[1], np.float32))
    sizes = {"dense": DENSE[activation], "dimension": kernel.shape[1]}
    return sizes, {"dense/kernel": kernel, "dense/bias": bias}


def _read_projection(folder: Path, space: int) -> tuple[dict[str, Json], dict[str, Floats]]:
    """Read a dense layer behind another or behind a normalisation, which must be linear and without a bias."""
    sizes, weights = _read_dense(folder)
    if sizes["dense"] != "linear" or np.any(weights["dense/bias"]):
        raise EncoderError(
            f"{folder}: a second dense layer, or one behind a normalisation, has no activation and no bias"
        )
    more = {"space": space, "dimension": sizes["dimension"], "foreign": True}
    return more, {"projection/kernel": weights["dense/kernel"]}


def _read_object(path: Path) -> dict[str, Json]:
    content = read_json(path)
    if not isinstance(content, dict):
        raise EncoderError(f"{path}: expected an object, got {type(content).__name__}")
    return content
