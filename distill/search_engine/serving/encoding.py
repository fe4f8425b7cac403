"""The encoder that is served: its names and roles, and texts to embeddings with their numbers of tokens."""

from __future__ import annotations

import threading
from collections.abc import Sequence
from pathlib import Path
from typing import cast

import numpy as np

from ...encoders.encoder import Encoder
from ...encoders.files.questions import count_pieces, encode_apart, pieces_problem
from ...encoders.health import require_finite
from ...system.types import File, Floats, Progress, Role
from .batching import Vectors
from .limits import Limits, Refusal, busy_refusal, size_refusal

# Suffixes of the model's name, for clients that have no other way to state the role of a text.
SUFFIXES: dict[str, Role] = {"query": "question", "document": "document"}
PROBE = "Where does the Danube end?"


class ServedEncoder:
    """A served `Encoder`, which one thread uses at a time, for texts of at most `most` tokens."""

    def __init__(self, encoder: Encoder, name: str, most: int = Limits.pieces) -> None:
        self.name, self.dimension = name, encoder.dimension
        self._encoder, self._lock, self._most = encoder, threading.Lock(), most
        self._stopped = threading.Event()
        question, document = (self.encode([PROBE], role) for role in SUFFIXES.values())
        self.has_roles = not np.array_equal(question, document)

    def encode(self, texts: Sequence[str], role: Role = "question", progress: Progress | None = None) -> Floats:
        """Encode texts, and between two of them raise `Refusal` if the server is stopped."""
        with self._lock:
            return require_finite(self._encoder.encode(texts, role, progress or self._require_running), self._encoder)

    def vectors(self, texts: Sequence[str], role: Role) -> Vectors:
        """Encode texts and count their tokens, or the words for an encoder that does not show its tokens."""
        pieces = count_pieces(self._encoder, texts, role)
        longest = int(pieces.argmax())
        if problem := pieces_problem(int(pieces[longest]), self._most):
            raise size_refusal(None, f"{f'{texts[longest][:20]}…'!r}: {problem}")
        return Vectors(encode_apart(self.encode, texts, role, pieces), pieces)

    def stop(self) -> None:
        """Encode nothing from now on."""
        self._stopped.set()

    def _require_running(self, steps: int = 1, note: str = "") -> None:
        if self._stopped.is_set():
            raise busy_refusal("it is told to stop")

    @property
    def names(self) -> tuple[str, ...]:
        """The names that a request may use for the encoder."""
        return (self.name, *(f"{self.name}:{suffix}" for suffix in SUFFIXES))

    def require(self, model: str | None) -> None:
        """Raise `Refusal` for the name of another model. None stands for this one."""
        if model is not None and model not in self.names:
            raise Refusal(
                404,
                f"model: {model[:80]!r} is not served; there are {', '.join(self.names)}",
                "model_not_found",
                "model",
            )

    def role(self, model: str | None, role: Role | None) -> Role:
        """Determine the role of the texts in a request: that it names, or else that at the end of its model's name.

        Raises `Refusal` if the model is another one, if there are two roles, or if there is none and it makes a
        difference.
        """
        self.require(model)
        suffix = SUFFIXES.get((model or "").removeprefix(self.name).removeprefix(":"))
        if role and suffix and role != suffix:
            raise Refusal(
                422, f"input_type: another role than that of the model {model!r}", "invalid_value", "input_type"
            )
        if not (role or suffix) and self.has_roles:
            raise Refusal(
                422,
                f"input_type: {self.name} encodes queries and documents differently; give input_type, query or "
                f"document, or as model {' or '.join(self.names[1:])}",
                "no_role",
                "input_type",
            )
        return cast(Role, role or suffix or "document")


def served_name(source: File) -> str:
    """Return the name under which the encoder `source` is served: its own name, or that of its folder."""
    path = Path(source)
    return (path.resolve().parent if path.name == "bundle" else path).name or str(source)
