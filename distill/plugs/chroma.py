"""Chroma's embedding function: a collection whose questions and documents an encoder of distill encodes.

client.create_collection("notes", embedding_function=DistillEmbedding("released"))
"""

from __future__ import annotations

from typing import cast

from chromadb.api.types import Documents, Embeddings, Space
from chromadb.utils.embedding_functions import EmbeddingFunction, register_embedding_function

from ..catalog.identity import weights_fingerprint
from ..catalog.loading import load_encoder
from ..errors import InputError
from ..system.types import Json, Role


@register_embedding_function
class DistillEmbedding(EmbeddingFunction[Documents]):
    """Texts as vectors by an encoder: documents where they are added, questions where a collection is asked.

    A collection remembers the encoder by its name, so that it is opened again without one.

    Args:
        model: a run folder, a bundle, `released` or another name.

    Raises:
        EncoderError: where it names none.
    """

    def __init__(self, model: str = "released") -> None:
        self.model, self._encoder, self.fingerprint = str(model), load_encoder(model), weights_fingerprint(model)

    def __call__(self, input: Documents) -> Embeddings:
        """Return the vectors of documents. Raises `InputError` for what is no list of texts."""
        return self._vectors(input, "document")

    def embed_query(self, input: Documents) -> Embeddings:
        """Return the vectors of questions. Raises `InputError` for what is no list of texts."""
        return self._vectors(input, "question")

    def _vectors(self, texts: Documents, role: Role) -> Embeddings:
        if not isinstance(texts, list) or not all(isinstance(text, str) for text in texts):
            raise InputError("expected a list of texts; give documents, not embeddings or images")
        return cast(Embeddings, list(self._encoder.encode(list(texts), role)))

    @staticmethod
    def name() -> str:
        """Return the name by which a collection's configuration has it."""
        return "distill"

    def default_space(self) -> Space:
        """Return the distance of a collection: vectors have unit length."""
        return "cosine"

    def supported_spaces(self) -> list[Space]:
        """Return the distances that rank alike."""
        return ["cosine", "l2", "ip"]

    @staticmethod
    def build_from_config(config: dict[str, Json]) -> DistillEmbedding:
        """Return the function of a collection's configuration.

        Raises `InputError` where the encoder of that name has other weights than the one that made the collection.
        """
        function = DistillEmbedding(str(config["model"]))
        if config.get("fingerprint", function.fingerprint) != function.fingerprint:
            raise InputError(f"{function.model} has other weights than when the collection was made; make it anew")
        return function

    def get_config(self) -> dict[str, Json]:
        """Return what a collection keeps of it."""
        return {"model": self.model, "fingerprint": self.fingerprint}

    def validate_config_update(self, old_config: dict[str, Json], new_config: dict[str, Json]) -> None:
        """Raise `InputError` where another encoder would ask: its vectors lie in another space."""
        if old_config.get("model") != new_config.get("model"):
            raise InputError(f"the collection was made by {old_config.get('model')}; make a new one with the other")

    @staticmethod
    def validate_config(config: dict[str, Json]) -> None:
        """Raise `InputError` for a configuration without an encoder."""
        if not isinstance(config.get("model"), str):
            raise InputError("expected the name of an encoder under 'model'")
