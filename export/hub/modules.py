"""Turn students into modules, and write these as a Sentence-Transformers folder.

The names of types, files and settings are those that sentence-transformers 6.2 writes.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np

from ...encoders.encoder import KerasEncoder
from ...encoders.tokenizer import Tokenizer
from ...system.files import write_json
from ...system.types import Floats, Json, Progress, Role
from ..families.registry import family_part
from .tokenizer_json import FILE, tokenizer_json

WEIGHTS, CONFIG, MODULES, ROUTER = "model.safetensors", "config.json", "modules.json", "router_config.json"
SETTINGS = "config_sentence_transformers.json"
# In this file, a module with attention says how many ids of a text it reads.
LENGTHS = "sentence_bert_config.json"
REQUIRED = ">=6"
STATIC = "sentence_transformers.sentence_transformer.modules.static_embedding.StaticEmbedding"
NORMALIZE = "sentence_transformers.base.modules.normalize.Normalize"
DENSE = "sentence_transformers.base.modules.dense.Dense"
ROUTES = "sentence_transformers.base.modules.router.Router"
# By Keras's names.
ACTIVATIONS = {
    "linear": "torch.nn.modules.linear.Identity",
    "relu": "torch.nn.modules.activation.ReLU",
    "tanh": "torch.nn.modules.activation.Tanh",
    "gelu": "torch.nn.modules.activation.GELU",
}
# The package of modules that every version since 3 has, with settings that each of them knows.
PLAIN = "sentence_transformers.models."
# Our own class, in the file of its name beside the weights.
NGRAM = "distill_ngram.NGramEncoder"
SENTENCE = "sentence_embedding"
# How to train a student without a network behind its table.
LINEAR = "train one without it: distill run --static --set student.trained_weights=table"
# Sentence-Transformers' names for roles.
TASKS = {"question": "query", "document": "document"}
# The name of the ids that spellings stand for, among the weights of an n-gram module.
SPELLINGS = "spellings"


@dataclass(frozen=True)
class Module:
    """A module of a Sentence-Transformers pipeline: its `config.json`, and its `model.safetensors` as arrays."""

    type: str
    config: Mapping[str, Json] = field(default_factory=dict)
    weights: Mapping[str, np.ndarray] = field(default_factory=dict)
    tokenizer: Tokenizer | None = None
    files: Mapping[str, Mapping[str, Json]] = field(default_factory=dict)

    @property
    def name(self) -> str:
        """The name of the class, without the package."""
        return self.type.rpartition(".")[2]

    def write(self, folder: Path) -> None:
        """Write the files of the module into a folder, which is created if it is missing."""
        folder.mkdir(exist_ok=True)
        if self.config:
            write_json(folder / CONFIG, dict(self.config))
        if self.weights:
            write_weights(folder / WEIGHTS, self.weights)
        if self.tokenizer:
            write_content(folder / FILE, tokenizer_json(self.tokenizer))
        for name, content in self.files.items():
            write_content(folder / name, content)


def embedding_module(table: Floats, tokenizer: Tokenizer) -> Module:
    """Make the module that averages the rows `(rows, width)` of a text's tokens."""
    return Module(STATIC, weights={"embedding.weight": table}, tokenizer=tokenizer)


def normalize_module() -> Module:
    """Make the module that scales vectors to unit length."""
    return Module(NORMALIZE, {"module_input_name": SENTENCE, "module_output_name": SENTENCE})


def dense_module(
    kernel: Floats, bias: Floats | None = None, residual: Floats | None = None, relu: bool = False
) -> Module:
    """Make a module of act(x K + b) + x R, with K and R `(in, out)` and b `(out,)`."""
    config: dict[str, Json] = {
        "in_features": kernel.shape[0],
        "out_features": kernel.shape[1],
        "bias": bias is not None,
        "activation_function": ACTIVATIONS["relu" if relu else "linear"],
        "module_input_name": SENTENCE,
        "module_output_name": SENTENCE,
    }
    weights = {"linear.weight": kernel.T}
    if bias is not None:
        weights["linear.bias"] = bias
    if residual is not None:
        config["use_residual"] = True
        weights["residual.weight"] = residual.T
    return Module(DENSE, config, weights)


def plain_dense_module(kernel: Floats, bias: Floats | None = None, activation: str = "linear") -> Module:
    """Make a module of act(x K + b) that every version since 3 reads."""
    config: dict[str, Json] = {
        "in_features": kernel.shape[0],
        "out_features": kernel.shape[1],
        "bias": bias is not None,
        "activation_function": ACTIVATIONS[activation],
    }
    weights = {"linear.weight": kernel.T, **({} if bias is None else {"linear.bias": bias})}
    return Module(f"{PLAIN}Dense", config, weights)


def write_pipeline(folder: Path, modules: Sequence[Module], prompts: Mapping[str, str] | None = None) -> None:
    """Write an encoder whose modules are applied one after another; the prompts are by task, "query" or "document"."""
    paths = [f"{place}_{module.name}" if place else "" for place, module in enumerate(modules)]
    for path, module in zip(paths, modules, strict=True):
        module.write(folder / path)
    _write_modules(folder, [(path, module.type) for path, module in zip(paths, modules, strict=True)], prompts)


def write_router(
    folder: Path, routes: Mapping[str, Sequence[Module]], prompts: Mapping[str, str] | None = None
) -> None:
    """Write an encoder with different modules for each task, "query" or "document"; the first task is the default."""
    types, structure = {}, {}
    for task, modules in routes.items():
        structure[task] = [f"{task}_{place}_{module.name}" for place, module in enumerate(modules)]
        for path, module in zip(structure[task], modules, strict=True):
            module.write(folder / path)
            types[path] = module.type
    parameters = {"default_route": next(iter(routes)), "allow_empty_key": True, "route_mappings": {}}
    write_json(folder / ROUTER, {"types": types, "structure": structure, "parameters": parameters})
    _write_modules(folder, [("", ROUTES)], prompts)


def write_model2vec(folder: Path, rows: Floats, tokenizer: Tokenizer) -> None:
    """Write the folder of a model2vec model for texts of any length, with vectors of unit length.

    The library leaves out unknown tokens. More tokens are therefore added for unknown characters, with the embedding of
    the unknown one.
    """
    content = tokenizer_json(tokenizer, none_unknown=True)
    more = len(content["model"]["vocab"]) - len(rows)
    rows = np.concatenate([rows, np.repeat(rows[None, content["model"]["unk_id"]], more, axis=0)])
    settings = {"model_type": "model2vec", "architectures": ["StaticModel"], "normalize": True, "max_length": None}
    write_json(folder / CONFIG, {**settings, "hidden_dim": rows.shape[1], "embedding_dtype": "float32"})
    write_weights(folder / WEIGHTS, {"embeddings": rows})
    write_content(folder / FILE, content)
    types = {
        ".": "sentence_transformers.models.StaticEmbedding",
        "1_Normalize": "sentence_transformers.models.Normalize",
    }
    _write_list(folder, list(types.items()))


def _write_list(folder: Path, modules: Sequence[tuple[str, str]]) -> None:
    entries = [{"idx": i, "name": str(i), "path": path, "type": type_} for i, (path, type_) in enumerate(modules)]
    write_json(folder / MODULES, entries)


def _write_modules(folder: Path, modules: Sequence[tuple[str, str]], prompts: Mapping[str, str] | None) -> None:
    _write_list(folder, modules)
    is_plain = all(kind.startswith(PLAIN) for _, kind in modules)
    write_json(
        folder / SETTINGS,
        {
            "model_type": "SentenceTransformer",
            **({} if is_plain else {"requirements": {"sentence-transformers": REQUIRED}}),
            "prompts": {"query": "", "document": "", **(prompts or {})},
            "default_prompt_name": None,
            "similarity_fn_name": "cosine",
        },
    )


def write_weights(path: Path, weights: Mapping[str, np.ndarray]) -> None:
    """Write arrays to a safetensors file in float32 or int32; the same arrays give the same bytes."""
    from safetensors.numpy import save

    arrays = {name: np.ascontiguousarray(array, dtype=_dtype_of(array)) for name, array in weights.items()}
    # transformers and related libraries require this entry.
    path.write_bytes(save(arrays, metadata={"format": "pt"}))


def read_weights(path: Path) -> dict[str, np.ndarray]:
    """Read the arrays of a safetensors file by name, in float32 or int32."""
    from safetensors.numpy import load_file

    return {name: np.asarray(array, dtype=_dtype_of(array)) for name, array in load_file(path).items()}


def _dtype_of(array):
    return np.int32 if np.issubdtype(array.dtype, np.integer) else np.float32


def write_content(path: Path, content: Mapping[str, Json]) -> None:
    """Write the content of a `tokenizer.json`, or of a file beside it."""
    path.write_text(json.dumps(content, ensure_ascii=False), encoding="utf-8")


class EncoderPair(KerasEncoder):
    """An encoder of questions with another encoder of documents in the same vector space."""

    def __init__(self, questions: KerasEncoder, documents: KerasEncoder) -> None:
        super().__init__(questions.model, questions.tokenizer, questions.name)
        self.documents = documents

    def encode(
        self,
        texts: Sequence[str],
        role: Role = "question",
        progress: Progress | None = None,
        contexts: Sequence[str] | None = None,
    ) -> Floats:
        """Encode texts with the encoder of their role. Returns vectors of unit length, float32 `(n, d)`."""
        encode = self.documents.encode if role == "document" else super().encode
        return encode(texts, role, progress, contexts)

    def without_spellings(self) -> EncoderPair:
        """Return the pair with both encoders reading text without spellings."""
        return EncoderPair(super().without_spellings(), self.documents.without_spellings())


def prompts_of(student: KerasEncoder) -> dict[str, str]:
    """Return the prompts of a student or a pair by task, with Sentence-Transformers' names."""
    readings = {
        "question": student.tokenizer.reading,
        "document": getattr(student, "documents", student).tokenizer.reading,
    }
    return {task: readings[role].prompts.get(role, "") for role, task in TASKS.items()}


def modules_of(student: KerasEncoder) -> list[Module]:
    """Return the modules that compute the same as a student. Raises `ExportError` if the modules cannot compute it."""
    return family_part(student.model.family, "modules", "a Sentence-Transformers folder").modules_of(student)


def linear_rows(student: KerasEncoder) -> Floats:
    """Return rows `(tokens, d)` whose sum, at unit length, is a text's vector, or raise `EncoderError`."""
    return family_part(student.model.family, "modules", "a model2vec folder").linear_rows(student)
