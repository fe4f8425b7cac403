"""The folders of `modules` and of model2vec computed by NumPy: the gate of an export runs it, as there is no PyTorch.

It reads what was written: the types and settings of the modules, their weights, and `tokenizer.json` with the package
that Sentence-Transformers and model2vec cut texts with.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

import numpy as np

from ...encoders.encoder import unit_rows
from ...encoders.spellings import Expansions
from ...errors import EncoderError
from ...system.reading import read_json
from ...system.text import well_formed
from ...system.types import Floats, Json, Progress, Role
from .modules import CONFIG, MODULES, ROUTER, SPELLINGS, WEIGHTS, read_weights
from .ngram_reference import ngram_vectors
from .tokenizer_json import FILE, before_others

# Texts are encoded so many at a time.
BATCH = 256
# Of a task, in a folder of two encoders.
TASKS = {"question": "query", "document": "document"}
Step = Callable[[Floats], Floats]
Ids = Sequence[list[int]]


class FolderEncoder:
    """The folder of an encoder, or of two by role, as an `Encoder`. Raises `EncoderError` for a folder that is none.

    With `known` pieces that are unknown are left out of a text, as model2vec does; others stand in their place.
    """

    max_length: int | None = None

    def __init__(self, folder: Path, name: str, dimension: int, known: bool = False) -> None:
        self.name, self.dimension = name, dimension
        try:
            self._routes = _routes(folder, known)
        except (OSError, KeyError, ValueError, TypeError, IndexError) as error:
            raise EncoderError(f"{folder}: not a folder of Sentence-Transformers: {error}; export it again") from error

    def tokenize(self, text: str) -> list[int]:
        """The ids of a question: bos, pieces, eos; a spelling has its own."""
        return self._routes["question"].pieces(text)

    def encode(self, texts: Sequence[str], role: Role = "question", progress: Progress | None = None) -> Floats:
        """`[str]` -> float32 `(n, dimension)`, rows of unit length, in order."""
        vectors = np.zeros((len(texts), self.dimension), dtype=np.float32)
        for start in range(0, len(texts), BATCH):
            part = texts[start : start + BATCH]
            vectors[start : start + BATCH] = self._routes[role].vectors(part)
            if progress:
                progress(len(part))
        return vectors


class Pipeline:
    """Modules of a folder, one after another: `(type, folder)` of each, the first of which cuts texts."""

    def __init__(self, modules: Sequence[tuple[str, Path]], known: bool = False) -> None:
        (first, folder), *rest = modules
        self._tokenizer = _tokenizer(folder)
        content = read_json(folder / FILE)
        self._unknown = content["model"]["unk_id"]
        self._left_out = {self._unknown} if known else set()
        self._known = before_others(content) if known else len(content["model"]["vocab"])
        # StaticEmbedding takes the mean of none.
        self._empty = read_json(folder / CONFIG)["empty"] if _class(first) == "NGramEncoder" else []
        self._embedded = STARTS[_class(first)](folder)
        self._steps = [STEPS[_class(type_)](path) for type_, path in rest]

    def ids(self, texts: Sequence[str]) -> list[list[int]]:
        """The ids of each text."""
        encodings = self._tokenizer.encode_batch([well_formed(text) for text in texts], add_special_tokens=False)
        return [
            [id for id in encoding.ids if id not in self._left_out] if encoding.ids else self._empty
            for encoding in encodings
        ]

    def pieces(self, text: str) -> list[int]:
        """The ids of a text, of what stands for an unknown piece that of the unknown piece."""
        (ids,) = self.ids([text])
        return [self._unknown if id >= self._known else id for id in ids]

    def vectors(self, texts: Sequence[str]) -> Floats:
        """The vectors `(n, d)` of texts."""
        vectors = self._embedded(self.ids(texts))
        for step in self._steps:
            vectors = step(vectors)
        return vectors


def _tokenizer(folder):
    from tokenizers import Tokenizer

    try:
        return Tokenizer.from_file(str(folder / FILE))
    except Exception as error:  # it raises none of its own
        raise ValueError(f"{folder / FILE}: {error}") from error


def _class(type_):
    return type_.rpartition(".")[2]


def _routes(folder: Path, known: bool) -> dict[str, Pipeline]:
    modules = [(module["type"], folder / module["path"]) for module in read_json(folder / MODULES)]
    if _class(modules[0][0]) != "Router":
        return dict.fromkeys(TASKS, Pipeline(modules, known))
    router = read_json(folder / ROUTER)
    types: Mapping[str, str] = router["types"]
    return {
        role: Pipeline([(types[path], folder / path) for path in router["structure"][task]])
        for role, task in TASKS.items()
    }


def _mean(folder: Path) -> Callable[[Ids], Floats]:
    weights = read_weights(folder / WEIGHTS)
    table = weights["embedding.weight"] if "embedding.weight" in weights else weights["embeddings"]
    empty = np.zeros(table.shape[1], dtype=np.float32)
    return lambda rows: np.stack([table[ids].mean(axis=0) if ids else empty for ids in rows])


def _ngram(folder: Path) -> Callable[[Ids], Floats]:
    config: Mapping[str, Json] = read_json(folder / CONFIG)
    weights = read_weights(folder / WEIGHTS)
    if SPELLINGS not in weights:
        return lambda rows: ngram_vectors(rows, weights, config)
    spellings = Expansions.in_array(config["sizes"]["vocabulary"], weights[SPELLINGS])
    return lambda rows: ngram_vectors([spellings.expanded(row) for row in rows], weights, config)


def _dense(folder: Path) -> Step:
    config, weights = read_json(folder / CONFIG), read_weights(folder / WEIGHTS)
    relu = config["activation_function"].endswith("ReLU")

    def step(x: Floats) -> Floats:
        y = x @ weights["linear.weight"].T + weights.get("linear.bias", 0)
        y = np.maximum(y, 0) if relu else y
        return y + x @ weights["residual.weight"].T if config.get("use_residual") else y

    return step


# By the names of the classes.
STARTS = {"StaticEmbedding": _mean, "NGramEncoder": _ngram}
STEPS: dict[str, Callable[[Path], Step]] = {"Normalize": lambda folder: unit_rows, "Dense": _dense}
