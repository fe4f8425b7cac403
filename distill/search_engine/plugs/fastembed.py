"""A model for FastEmbed, from a folder that `distill export --format fastembed` wrote.

model = TextEmbedding(add_fastembed_model("encoder"))
"""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path

import numpy as np

from ...errors import EncoderError, InputError
from ...export.encode import CARD
from ...export.formats.format import format_of, read_label, require_whole_folder
from ...export.hub.onnx_reference import load_reading
from ...system.extras import require_extra
from ...system.input_files import read_json
from ...system.text import make_well_formed
from ...system.types import File, Json, Role

try:
    from fastembed import TextEmbedding
    from fastembed.common.model_description import DenseModelDescription, ModelSource, PoolingType
    from fastembed.text.custom_text_embedding import CustomTextEmbedding
except ImportError as error:
    require_extra("distill.search_engine.plugs.fastembed", ["fastembed"], "fastembed")
    raise InputError(
        "distill.search_engine.plugs.fastembed needs fastembed 0.6 or newer; run: pip install -U fastembed"
    ) from error

FORMAT = "fastembed"


class DistillTextEmbedding(CustomTextEmbedding):
    """A custom model of FastEmbed that uses the prompts of its folder.

    `query_embed` puts the prompt for questions before a text, `embed` and `passage_embed` the one for documents.
    `specific_model_path` is the folder, if it has been moved since; None for the registered one.
    """

    # These belong to this class and are not shared with its base class.
    SUPPORTED_MODELS: list[DenseModelDescription] = []
    POSTPROCESSING_MAPPING = {}
    FOLDERS: dict[str, Path] = {}

    def __init__(self, model_name: str, specific_model_path: File | None = None, **options: Json) -> None:
        folder = _require_format(specific_model_path or self.FOLDERS[model_name.lower()])
        self._prompts = load_reading(folder).prompts
        super().__init__(model_name, specific_model_path=str(folder), **options)

    def embed(
        self, documents: str | Iterable[str], batch_size: int = 256, parallel: int | None = None, **options: Json
    ) -> Iterable[np.ndarray]:
        """Encode documents. Raises `InputError` if an input is not a text."""
        return super().embed(self._add_prompt(documents, "document"), batch_size, parallel, **options)

    def query_embed(self, query: str | Iterable[str], **options: Json) -> Iterable[np.ndarray]:
        return super().embed(self._add_prompt(query, "question"), **options)

    def _add_prompt(self, texts, role: Role):
        prompt = self._prompts.get(role, "")
        if isinstance(texts, str):
            return [prompt + make_well_formed(texts)]
        rows = (prompt + make_well_formed(text) for text in texts)
        # FastEmbed starts no processes for a short list.
        return list(rows) if isinstance(texts, list) else rows


TextEmbedding.EMBEDDINGS_REGISTRY.append(DistillTextEmbedding)


def add_fastembed_model(folder: File, name: str | None = None) -> str:
    """Register a folder of `distill export --format fastembed` as a model of `TextEmbedding`, and return its name."""
    folder = _require_format(folder)
    card = read_json(folder / CARD)
    name = name or f"distill/{card['name']}"
    _release_name(name, folder)
    description = DenseModelDescription(
        model=name,
        # The folder is opened in its place, whatever the source.
        sources=ModelSource(url=folder.as_uri()),
        model_file=format_of(FORMAT).file,
        description=f"Text embeddings of {card['dimension']} numbers, exported by distill",
        license=card.get("licence", ""),
        size_in_GB=card["bytes"] / 1e9,
        dim=card["dimension"],
    )
    DistillTextEmbedding.add_model(description, PoolingType.DISABLED, normalization=False)
    DistillTextEmbedding.FOLDERS[name.lower()] = folder
    return name


def _require_format(folder: File) -> Path:
    """Return the folder if it is of the format and all of its files are there. Raises `EncoderError` otherwise."""
    folder = Path(folder).resolve()
    format_ = read_label(folder).format if (folder / CARD).is_file() else ""
    if format_ != FORMAT:
        what = f"one of the format {format_!r}" if format_ else "none of an exported encoder"
        raise EncoderError(f"{folder}: {what}; run: distill export MODEL --format {FORMAT} --output FOLDER")
    return require_whole_folder(folder)


def _release_name(name: str, folder: Path) -> None:
    """Forget a model of that name and folder, which may have been written anew; refuse any other of that name."""
    same = name.lower()
    models = DistillTextEmbedding.SUPPORTED_MODELS
    if DistillTextEmbedding.FOLDERS.get(same) == folder:
        models[:] = [model for model in models if model.model.lower() != same]
    if any(model["model"].lower() == same for model in TextEmbedding.list_supported_models()):
        raise InputError(f"FastEmbed has another model {name}; give this one another name")
