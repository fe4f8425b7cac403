"""An embedding function for Chroma: an encoder of distill encodes the questions and documents of a collection.

client.create_collection("notes", embedding_function=DistillEmbedding("multi12-ngram"))
"""

from __future__ import annotations

from typing import cast

from chromadb.api.types import Documents, Embeddings, Space
from chromadb.utils.embedding_functions import EmbeddingFunction, register_embedding_function

from ...encoders.catalog.identity import weights_fingerprint
from ...encoders.catalog.loading import load_encoder
from ...errors import InputError
from ...system.types import Json, Role


@register_embedding_function
class DistillEmbedding(EmbeddingFunction[Documents]):
    """An embedding function that encodes added documents as documents and queries as questions.

    A collection stores the name of the encoder, so that it can be opened again without an embedding function.
    """

    def __init__(self, model: str = "multi12-ngram") -> None:
        self.model, self._encoder, self.fingerprint = str(model), load_encoder(model), weights_fingerprint(model)

    def __call__(self, input: Documents) -> Embeddings:
        """Encode documents. Raises `InputError` if the input is not a list of texts."""
        return self._vectors(input, "document")

    def embed_query(self, input: Documents) -> Embeddings:
        """Encode questions. Raises `InputError` if the input is not a list of texts."""
        return self._vectors(input, "question")

    def _vectors(self, texts: Documents, role: Role) -> Embeddings:
        if not isinstance(texts, list) or not all(isinstance(text, str) for text in texts):
            raise InputError("expected a list of texts; give documents, not embeddings or images")
        return cast(Embeddings, list(self._encoder.encode(list(texts), role)))

    @staticmethod
    def name() -> str:
        """Return the name of the function in the configuration of a collection."""
        return "distill"

    def default_space(self) -> Space:
        """Return the distance of a new collection. The vectors have unit length."""
        return "cosine"

    def supported_spaces(self) -> list[Space]:
        """Return the distances, all of which give the same ranking."""
        return ["cosine", "l2", "ip"]

    @staticmethod
    def build_from_config(config: dict[str, Json]) -> DistillEmbedding:
        """Make the function that the configuration of a collection describes."""
        function = DistillEmbedding(str(config["model"]))
        if config.get("fingerprint", function.fingerprint) != function.fingerprint:
            raise InputError(f"{function.model} has other weights than when the collection was made; make it anew")
        return function

    def get_config(self) -> dict[str, Json]:
        """Return the configuration that a collection stores."""
        return {"model": self.model, "fingerprint": self.fingerprint}

    def validate_config_update(self, old_config: dict[str, Json], new_config: dict[str, Json]) -> None:
        """Refuse to replace the encoder of a collection with another, whose vectors lie in another space."""
        if old_config.get("model") != new_config.get("model"):
            raise InputError(f"the collection was made by {old_config.get('model')}; make a new one with the other")

    @staticmethod
    def validate_config(config: dict[str, Json]) -> None:
        """Raise `InputError` for a configuration without an encoder."""
        if not isinstance(config.get("model"), str):
            raise InputError("expected the name of an encoder under 'model'")
