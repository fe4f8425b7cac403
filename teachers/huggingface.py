"""A Sentence-Transformers or Hugging Face model, from the hub or a folder, as an `Encoder`.

`st:NAME` gives the vectors of the model's own modules. `hf:NAME` gives the mean of the last hidden states over the
attention mask, as in Reimers and Gurevych (2019), section 3. Both are scaled to unit length.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Sequence
from functools import cached_property
from importlib.metadata import version
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from ..encoders.encoder import Encoder, KerasEncoder, normalise_rows
from ..encoders.kind import Kind, Load
from ..errors import EncoderError, first_line
from ..system.hashes import fingerprint_of
from ..system.text import make_well_formed
from ..system.types import File, Floats, Progress, Role
from .st_modules import MODULES, require_no_code
from .tokenizers.reading import E5, E5_PROMPTS, NO_PROMPTS, choose_prompts, select_prompts
from .transformer_folder import is_transformer, load_transformer

if TYPE_CHECKING:
    from transformers import PreTrainedModel

# A model of the hub with its owner. The few without one are refused: what has no slash is a folder, or a typing error.
ON_HUB = re.compile(r"[\w-][\w.-]*/[\w.-]+(@\S+)?")
# The number of texts per call, of similar length: the texts of a batch are padded to the longest.
BATCH = 32
# The maximum number of tokens of a text for models without a limit, such as T5's.
LONGEST = 512
PACKAGES = {"st": "sentence_transformers", "hf": "transformers"}
CONFIG = "config.json"
# The file that marks a folder exported by distill, which is loaded by another kind.
EXPORTED_CARD = "card.json"
TOKENIZERS = ("tokenizer.json", "tokenizer_config.json", "vocab.txt", "sentencepiece.bpe.model", "spiece.model")
# The files that are downloaded of a model that is to be trained.
READ = ["*.json", "*.safetensors", "vocab.txt", "*.model"]
# The entries of a model's config that depend on how it was read.
READING = ("_name_or_path", "transformers_version")


def parse_source(source: File) -> tuple[str, str] | None:
    """Return ("st" or "hf", model) for `st:…`, `hf:…` or a folder with such a model, and None for any other source."""
    prefix, colon, model = str(source).partition(":")
    if colon and prefix in PACKAGES:
        return prefix, model
    folder = Path(source)
    if (folder / EXPORTED_CARD).is_file():
        return None
    if (folder / MODULES).is_file():
        return "st", str(source)
    if (folder / CONFIG).is_file() and any((folder / name).is_file() for name in TOKENIZERS):
        return "hf", str(source)
    return None


def split_revision(model: str) -> tuple[str, str | None]:
    """Split `NAME@REVISION`, a model of the hub, into both. The revision is None if there is none, and for a folder."""
    name, _, revision = model.partition("@")
    return (model, None) if Path(model).exists() else (name, revision or None)


class TransformerEncoder:
    """An encoder by a model of the hub or a folder, on a GPU if PyTorch has one. Code of the model's own is never run.

    The prompts in front of questions and documents are those that a Sentence-Transformers model names "query" and
    "document", or E5's if it says nothing of prompts and E5 is in its name. A text that is too long for it is cut.
    `source` is `st:NAME`, `hf:NAME` or a folder; a name may have a revision, `NAME@REVISION`. Raises `EncoderError` if
    packages are not installed, or the model cannot be loaded or lacks weights.
    """

    def __init__(self, source: File) -> None:
        self.kind, self.source = parse_source(source) or ("hf", str(source))
        require_no_code(self.source)
        require_packages(self.kind, self.source)
        model = split_revision(self.source)
        self.name = model[0].rstrip("/").split("/")[-1]
        try:
            self._model = _Sentences(*model) if self.kind == "st" else _Hidden(*model)
            self.prompts = self._model.prompts or _choose_prompts(self.source, self.name)
            self.dimension = self._vectors(["test"], "question").shape[1]
        except EncoderError:
            raise
        except Exception as error:  # the hub, the network, the tokenizer and the weights' reader each raise their own
            reason = f"{PACKAGES[self.kind]} cannot use it: {first_line(error)}"
            raise EncoderError(f"{self.source}: {reason}") from error

    def encode(self, texts: Sequence[str], role: Role = "question", progress: Progress | None = None) -> Floats:
        """Encode texts. Returns the unit vectors, float32 `(n, dimension)`."""
        texts = [make_well_formed(text) for text in texts]
        order = np.argsort([len(text) for text in texts], kind="stable")
        vectors = np.zeros((len(texts), self.dimension), dtype=np.float32)
        for start in range(0, len(texts), BATCH):
            rows = order[start : start + BATCH]
            vectors[rows] = self._vectors([texts[row] for row in rows], role)
            if progress:
                progress(len(rows))
        return vectors

    def _vectors(self, texts, role):
        import torch

        with torch.inference_mode():
            return normalise_rows(self._model.vectors(texts, role, self.prompts[role]).float().cpu().numpy())

    @cached_property
    def fingerprint(self) -> str:
        """A hash of weights, settings, vocabulary and prompts, which differs between models with different vectors."""
        weights = hashlib.sha256()
        for name, weight in sorted(self._model.weights.items()):
            weights.update(f"{name} {weight.dtype} {tuple(weight.shape)}".encode())
            weights.update(_as_bytes(weight))
        parts = [self.kind, version(PACKAGES[self.kind]), weights.hexdigest(), sorted(self.prompts.items())]
        return fingerprint_of(*parts, self._model.described, sorted(self._model.tokenizer.get_vocab().items()))


def _choose_prompts(source, name):
    """Return the prompts of a folder, or of a model of the hub that names none itself."""
    if Path(source).is_dir():
        return choose_prompts(Path(source))
    return E5_PROMPTS if E5.search(name) else NO_PROMPTS


class _Sentences:
    """A Sentence-Transformers model. `prompts` are by role, or None if it has none."""

    def __init__(self, source, revision=None):
        from sentence_transformers import SentenceTransformer

        if not Path(source).is_dir():
            source, revision = _check_settings(source, revision)
        self.model = SentenceTransformer(source, revision=revision, trust_remote_code=False).eval()
        self.prompts = select_prompts(self.model.prompts)
        self.tokenizer, self.weights = self.model.tokenizer, self.model.state_dict()
        self.described = f"{self.model} {self.model.max_seq_length}"

    def vectors(self, texts, role, prompt):
        # These methods also choose the tower of a model that has two.
        encode = self.model.encode_query if role == "question" else self.model.encode_document
        return encode(texts, prompt=prompt or None, batch_size=BATCH, convert_to_tensor=True, show_progress_bar=False)


def _check_settings(name, revision=None):
    """Return the name and the commit of a model of the hub, after a check of its settings at that commit."""
    from huggingface_hub import snapshot_download

    name = name if "/" in name else f"sentence-transformers/{name}"
    folder = Path(snapshot_download(name, revision=revision, allow_patterns=["*.json"]))
    require_no_code(folder)
    return name, folder.name


def download(name: str) -> Path:
    """Download a model of the hub, as far as `load_transformer` reads it, and return its folder."""
    if find_spec("huggingface_hub") is None:
        raise EncoderError(
            f"{name}: no such folder, and huggingface-hub is not installed; run: pip install huggingface-hub"
        )
    from huggingface_hub import snapshot_download

    source, revision = split_revision(name)
    try:
        return Path(snapshot_download(source, revision=revision, allow_patterns=READ))
    except Exception as error:  # the hub's errors and the network's have no common type
        raise EncoderError(f"{name}: cannot be fetched from the hub: {first_line(error)}") from error


class _Hidden:
    """A Hugging Face model and its tokenizer. It names no prompts."""

    prompts = None

    def __init__(self, source, revision=None):
        import torch
        from transformers import AutoModel, AutoTokenizer

        safe = {"trust_remote_code": False, "revision": revision or "main"}
        self.tokenizer = AutoTokenizer.from_pretrained(source, **safe)
        if self.tokenizer.pad_token is None:
            raise EncoderError(f"{source}: its tokenizer has no padding token; expected an encoder such as BERT's")
        model, report = AutoModel.from_pretrained(source, output_loading_info=True, **safe)
        # The mean does not need the pooler, which many models lack.
        missing = sorted(name for name in report["missing_keys"] if not name.startswith("pooler."))
        if missing:
            raise EncoderError(f"{source}: {len(missing)} weights are missing, the first is {missing[0]}")
        self.model = (model.get_encoder() if model.config.is_encoder_decoder else model).float().eval()
        self.model.to("cuda" if torch.cuda.is_available() else "cpu")
        self.longest = min(self.tokenizer.model_max_length, count_positions(self.model))
        config = {key: value for key, value in self.model.config.to_dict().items() if key not in READING}
        self.weights, self.described = self.model.state_dict(), f"{sorted(config.items())} {self.longest}"

    def vectors(self, texts, role, prompt):
        texts = [prompt + text for text in texts]
        batch = self.tokenizer(texts, padding=True, truncation=True, max_length=self.longest, return_tensors="pt")
        batch = batch.to(self.model.device)
        mask = batch["attention_mask"][:, :, None].float()  # (n, t, 1)
        states = self.model(**batch).last_hidden_state  # (n, t, d)
        return (states * mask).sum(dim=1) / mask.sum(dim=1)


def count_positions(model: PreTrainedModel) -> int:
    """Return the number of tokens that a model has positions for, where RoBERTa's begin after padding, or `LONGEST`."""
    table = getattr(getattr(model, "embeddings", None), "position_embeddings", None)
    if table is not None and hasattr(table, "num_embeddings"):
        return int(table.num_embeddings - (0 if table.padding_idx is None else table.padding_idx + 1))
    return int(getattr(model.config, "max_position_embeddings", None) or LONGEST)


def _as_bytes(weight):
    import torch

    return weight.detach().cpu().contiguous().reshape(-1).view(torch.uint8).numpy()


def require_packages(kind: str, model: str) -> None:
    """Raise `EncoderError` if a source names no model, or packages for its kind, "st" or "hf", are not installed."""
    if not model:
        raise EncoderError(f"{kind}: names no model; expected a folder or a name such as {kind}:intfloat/e5-small")
    for package in ("torch", PACKAGES[kind]):
        if find_spec(package) is None:
            names = f"torch {PACKAGES[kind]}".replace("_", "-")
            what = "" if Path(model).exists() else " is no folder, and as a model of the hub it"
            raise EncoderError(
                f"{kind}:{model}{what} needs {package}, which is not installed; run: pip install {names}"
            )
    from transformers.utils import logging

    logging.disable_progress_bar()


class _Transformers(Kind):
    """`st:NAME` or `hf:NAME`, each also with a folder, or a folder alone."""

    def matches(self, source: File) -> bool:
        return parse_source(source) is not None

    def load(self, source: File, threads: int, load: Load) -> Encoder:
        folder = self.folder(source)
        # PyTorch computes on a GPU and supports every architecture; without it our own network reads the weights.
        if find_spec("torch") is None and folder and is_transformer(folder):
            return load_transformer(folder)
        return TransformerEncoder(source)

    def load_trainable(self, source: File, load: Load) -> KerasEncoder:
        return load_transformer(self.folder(source) or download(self._model(source)))

    def folder(self, source: File) -> Path | None:
        model = self._model(source)
        if not model or Path(model).is_dir():
            return Path(model) if model else None
        owner = model.partition("/")[0]
        if not ON_HUB.fullmatch(model) or Path(owner).is_dir():
            raise EncoderError(
                f"{source}: there is no folder {model}; give the path of one, or a model of the hub with its owner, "
                "such as st:intfloat/e5-small"
            )
        return None

    def place(self, source: File) -> str:
        folder, model = self.folder(source), self._model(source)
        return f"{str(source).removesuffix(model)}{folder.resolve()}" if folder else str(source)

    def _model(self, source: File) -> str:
        return (parse_source(source) or ("", ""))[1]


KIND = _Transformers("a Transformers model", trainable=True)
