"""Compute the folders of `modules` and of model2vec with NumPy, for the gate of an export, which has no PyTorch.

It reads what was written: the types and settings of the modules, their weights, and `tokenizer.json`, with the package
tokenizers, which Sentence-Transformers and model2vec use too. The n-gram encoder computes as `distill_ngram` does.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from ...encoders.encoder import normalise_rows
from ...encoders.spellings import Expansions
from ...errors import EncoderError
from ...students.student import EPSILON
from ...system.input_files import read_json
from ...system.text import make_well_formed
from ...system.types import Floats, Json, Progress, Role
from .modules import CONFIG, LENGTHS, MODULES, ROUTER, SETTINGS, SPELLINGS, TASKS, WEIGHTS, read_weights
from .tokenizer_json import FILE, count_known
from .transformer_reference import ACTIVATIONS as FEED_FORWARD
from .transformer_reference import POOLINGS, Bert, Weights, attend, gelu, relu

SLIDING = "sliding_attention"
# The number of texts that are encoded at a time.
BATCH = 256
Step = Callable[[Floats], Floats]
Ids = Sequence[list[int]]
# Functions by the names of PyTorch's classes.
ACTIVATIONS: dict[str, Step] = {"Identity": lambda x: x, "ReLU": relu, "Tanh": np.tanh, "GELU": gelu}


def ngram_vectors(texts: Sequence[Sequence[int]], weights: Mapping[str, Floats], config: Mapping[str, Json]) -> Floats:
    """Compute the vectors of texts. Returns vectors of unit length, float32 `(n, d)`."""
    layers, starts = _Layers(weights), np.cumsum([0, *map(len, texts)])
    x = weights["embedding.weight"][np.concatenate(texts)]
    x = layers.linear("factor", x) if config["sizes"]["rank"] else x
    places = range(len(config["orders"]))
    branches = [_branch(x, layers, f"branches.{place}", (config["orders"][place], starts), config) for place in places]
    features = layers.norm("norm", np.concatenate([x, *branches], axis=1))
    counts = np.diff(starts).astype(np.float32)[:, None]
    summed = np.add.reduceat(features, starts[:-1], axis=0) @ weights["pooling.weight"].T
    x = _head((summed + counts * weights["pooling.bias"]) / np.sqrt(counts), layers)
    x = layers.linear("projection", _unit(x)) if config["sizes"]["projected"] else x
    return _unit(x)


class _Layers:
    def __init__(self, weights):
        self.weights = weights

    def linear(self, name, x):
        return x @ self.weights[f"{name}.weight"].T + self.weights.get(f"{name}.bias", 0)

    def norm(self, name, x):
        centred = x - x.mean(axis=1, keepdims=True)
        deviation = np.sqrt(np.mean(centred * centred, axis=1, keepdims=True) + np.float32(EPSILON))
        return centred / deviation * self.weights[f"{name}.weight"] + self.weights[f"{name}.bias"]


def _branch(x, layers, name, window, config):
    x = layers.norm(f"{name}.norm", layers.linear(f"{name}.projection", x))
    for number in range(config["sizes"]["convolutions"]):
        x = x + np.maximum(layers.linear(f"{name}.convolutions.{number}", _windows(x, *window)), 0)
    return x


def _windows(x, order, starts):
    """Concatenate each row with its neighbours, `order` in all, with zeros beyond its text."""
    before = (order - 1) // 2
    padding = [(before, order - 1 - before), (0, 0)]
    padded = [np.pad(x[start:end], padding) for start, end in zip(starts, starts[1:], strict=False)]
    windows = [[part[place : len(part) - order + 1 + place] for place in range(order)] for part in padded]
    return np.concatenate([np.concatenate(parts, axis=1) for parts in windows])


def _head(x, layers):
    first = np.maximum(layers.linear("head.first", x), 0)
    hidden = np.maximum(layers.linear("head.second_skip", x) + layers.linear("head.second", first), 0)
    third = np.maximum(layers.linear("head.third", hidden), 0)
    return np.tanh(layers.linear("head.fourth_skip", hidden) + layers.linear("head.fourth", third))


def _unit(x):
    return x / np.sqrt(np.maximum(np.sum(x * x, axis=1, keepdims=True), np.float32(EPSILON)))


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
            x = x + self._product(FEED_FORWARD[self.config["hidden_activation"]](units) * gate, f"{name}.mlp.Wo")
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


class FolderEncoder:
    """A folder of Sentence-Transformers or model2vec as an `Encoder`.

    `known` is True to leave out unknown tokens, as model2vec does; other tokens then stand in their place.
    """

    max_length: int | None = None

    def __init__(self, folder: Path, name: str, dimension: int, known: bool = False) -> None:
        self.name, self.dimension = name, dimension
        try:
            self._routes = _load_routes(folder, known)
            self._prompts = _load_prompts(folder)
        except (OSError, KeyError, ValueError, TypeError, IndexError) as error:
            raise EncoderError(f"{folder}: not a Sentence-Transformers folder: {error}; export it again") from error

    def tokenize(self, text: str) -> list[int]:
        """Tokenize a question to ids, including bos and eos; a spelling has an id of its own."""
        return self._routes["question"].pieces(self._prompts["question"] + text)

    def encode(self, texts: Sequence[str], role: Role = "question", progress: Progress | None = None) -> Floats:
        """Encode texts. Returns vectors of unit length, float32 `(n, dimension)`."""
        vectors = np.zeros((len(texts), self.dimension), dtype=np.float32)
        for start in range(0, len(texts), BATCH):
            part = [self._prompts[role] + text for text in texts[start : start + BATCH]]
            vectors[start : start + BATCH] = self._routes[role].vectors(part)
            if progress:
                progress(len(part))
        return vectors


class Pipeline:
    """The modules of a folder, applied one after another. `known` is True to leave out unknown tokens."""

    def __init__(self, modules: Sequence[tuple[str, Path]], known: bool = False) -> None:
        (first, folder), *rest = modules
        self._tokenizer = _tokenizer(folder)
        model = read_json(folder / FILE)["model"]
        self._unknown = model["unk_id"] if "unk_id" in model else model["vocab"][model["unk_token"]]
        # Such a tokenizer adds bos and eos by a template, and all others by a normaliser.
        self._is_plain = _class_name(first) == "Transformer"
        if self._is_plain:
            self._tokenizer.enable_truncation(read_json(folder / LENGTHS)["max_seq_length"])
        self._left_out = {self._unknown} if known else set()
        self._known = count_known(model) if known else len(model["vocab"])
        # A StaticEmbedding averages no tokens for an empty text.
        self._empty = read_json(folder / CONFIG)["empty"] if _class_name(first) == "NGramEncoder" else []
        if self._is_plain:
            (_, pooling), *rest = rest
            self._embedded = _load_transformer(folder, pooling)
        else:
            self._embedded = FIRST_MODULES[_class_name(first)](folder)
        self._steps = [NEXT_MODULES[_class_name(type_)](path) for type_, path in rest]

    def ids(self, texts: Sequence[str]) -> list[list[int]]:
        """Tokenize texts to lists of ids."""
        texts = [make_well_formed(text) for text in texts]
        encodings = self._tokenizer.encode_batch(texts, add_special_tokens=self._is_plain)
        return [
            [id for id in encoding.ids if id not in self._left_out] if encoding.ids else self._empty
            for encoding in encodings
        ]

    def pieces(self, text: str) -> list[int]:
        """Tokenize a text to ids, with the unknown token's id for each token that stands for unknown characters."""
        (ids,) = self.ids([text])
        return [self._unknown if id >= self._known else id for id in ids]

    def vectors(self, texts: Sequence[str]) -> Floats:
        """Compute the vectors `(n, d)` of texts."""
        vectors = self._embedded(self.ids(texts))
        for step in self._steps:
            vectors = step(vectors)
        return vectors


def _tokenizer(folder):
    from tokenizers import Tokenizer

    try:
        return Tokenizer.from_file(str(folder / FILE))
    except Exception as error:  # the package has no error type of its own
        raise ValueError(f"{folder / FILE}: {error}") from error


def _load_prompts(folder: Path) -> dict[str, str]:
    """Return the prompt of each role; a folder of another library has none."""
    settings = read_json(folder / SETTINGS) if (folder / SETTINGS).is_file() else {}
    return {role: settings.get("prompts", {}).get(task, "") for role, task in TASKS.items()}


def _class_name(type_):
    return type_.rpartition(".")[2]


def _load_routes(folder: Path, known: bool) -> dict[str, Pipeline]:
    modules = [(module["type"], folder / module["path"]) for module in read_json(folder / MODULES)]
    if _class_name(modules[0][0]) != "Router":
        return dict.fromkeys(TASKS, Pipeline(modules, known))
    router = read_json(folder / ROUTER)
    types: Mapping[str, str] = router["types"]
    return {
        role: Pipeline([(types[path], folder / path) for path in router["structure"][task]])
        for role, task in TASKS.items()
    }


def _load_mean(folder: Path) -> Callable[[Ids], Floats]:
    weights = read_weights(folder / WEIGHTS)
    table = weights["embedding.weight"] if "embedding.weight" in weights else weights["embeddings"]
    empty = np.zeros(table.shape[1], dtype=np.float32)
    return lambda rows: np.stack([table[ids].mean(axis=0) if ids else empty for ids in rows])


def _load_ngram(folder: Path) -> Callable[[Ids], Floats]:
    config: Mapping[str, Json] = read_json(folder / CONFIG)
    weights = read_weights(folder / WEIGHTS)
    if SPELLINGS not in weights:
        return lambda rows: ngram_vectors(rows, weights, config)
    spellings = Expansions.in_array(config["sizes"]["vocabulary"], weights[SPELLINGS])
    return lambda rows: ngram_vectors([spellings.expand(row) for row in rows], weights, config)


def _load_transformer(folder: Path, pooling: Path) -> Callable[[Ids], Floats]:
    """Return a function of two modules, the second of which pools a text's tokens into one vector."""
    config = read_json(folder / CONFIG)
    bert = ARCHITECTURES[config["model_type"]](read_weights(folder / WEIGHTS), config)
    (pooled,) = (POOLINGS[name] for name, on in read_json(pooling / CONFIG).items() if on is True)
    return lambda rows: np.stack([pooled(bert.tokens(ids)) for ids in rows])


def _load_dense(folder: Path) -> Step:
    config, weights = read_json(folder / CONFIG), read_weights(folder / WEIGHTS)
    activation = ACTIVATIONS[_class_name(config["activation_function"])]

    def step(x: Floats) -> Floats:
        y = activation(x @ weights["linear.weight"].T + weights.get("linear.bias", 0))
        return y + x @ weights["residual.weight"].T if config.get("use_residual") else y

    return step


ARCHITECTURES: dict[str, type[Bert | ModernBert]] = {"bert": Bert, "modernbert": ModernBert}
FIRST_MODULES = {"StaticEmbedding": _load_mean, "NGramEncoder": _load_ngram}
NEXT_MODULES: dict[str, Callable[[Path], Step]] = {"Normalize": lambda folder: normalise_rows, "Dense": _load_dense}
